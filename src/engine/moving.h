// How bytes come from rank to rank.
#pragma once

namespace tutti {

/// In a call, where peers map each other's buffers (docs/measurements/who-copies.md).
enum class Moving {
  plain,        ///< read where they lie; stored past the caches of the one they are for, from some size on
  caches,       ///< read where they lie; stored through the caches: who gets them takes the lines over
  lent,         ///< what is read is a copy through the caches, whose reader takes the lines over; stored as in `caches`
  lent_beyond,  ///< what is read is a copy past the caches, so that it comes from memory; stored as in `plain`
};
constexpr const char* name_of(Moving moving) {
  constexpr const char* names[] = {"plain", "caches", "lent", "lent-beyond"};
  return names[static_cast<int>(moving)];
}
constexpr bool lends_copies(Moving moving) {
  return moving == Moving::lent || moving == Moving::lent_beyond;
}
constexpr bool stores_through_caches(Moving moving) {
  return moving == Moving::caches || moving == Moving::lent;
}

/// How a rank lends what its peers reach only through the kernel.
enum class Lending {
  as_it_is,            ///< the kernel copies it
  copied,              ///< a copy that they can map, made through the caches
  copied_past_caches,  ///< the same, made past them
};

/// How many ranks read each byte of what the ranks of an algorithm may lend copies of.
enum class Readers { none, one, many };

}  // namespace tutti
