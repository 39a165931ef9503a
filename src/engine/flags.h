// The flags by which the algorithms work, and who has which. An algorithm, or what several of them share, declares its
// flags by name, in the file where it is. Those of one algorithm are put together in a FlagSet, which does not compile if
// two names stand for one flag. So nobody waits for what somebody else has said.
//
//   constexpr FlagName combined{Line::reduced, 0};   ///< how often this rank has combined something
//   constexpr FlagSet flags = FlagSet::of(combined, done_flag);
//   ...
//   operation.publish(combined, step);
//   co_await operation.has(other, combined, step);
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "sync/flag.h"

namespace tutti {

/// What a rank says in an operation stands in three lines beside its post. Which of them a flag is in has no meaning but
/// that readers fetch lines: what one reader reads together stands together, what it does not read does not. The names
/// are for most of what they are used for.
enum class Line : unsigned {
  ready,    ///< how much of this rank's data may be read
  reduced,  ///< how much of its share this rank has reduced
  done,     ///< that this rank has finished reading and writing what belongs to others
};

inline constexpr unsigned flags_in_line = sync::line_bytes / sizeof(sync::Flag);
inline constexpr unsigned flag_lines = 3;

/// A flag that each rank has in each slot.
class FlagName {
 public:
  consteval FlagName(Line line, unsigned index) : place_(static_cast<unsigned>(line) * flags_in_line + index) {
    if (index >= flags_in_line) throw std::logic_error("a line has not so many flags");
  }

 private:
  friend class FlagRow;
  friend class FlagSet;
  friend class SlotFlags;
  constexpr explicit FlagName(unsigned place) : place_(place) {}
  unsigned place_;
};

/// Several in a row in one line: one for each level, step or peer.
class FlagRow {
 public:
  consteval FlagRow(Line line, unsigned first, unsigned count) : first_(FlagName(line, first).place_), count_(count) {
    if (first + count > flags_in_line) throw std::logic_error("a line has not so many flags");
  }
  constexpr unsigned count() const { return count_; }
  constexpr FlagName operator[](int index) const {
    if (static_cast<unsigned>(index) >= count_) [[unlikely]]
      throw std::out_of_range("no such flag");
    return FlagName(first_ + static_cast<unsigned>(index));
  }

 private:
  friend class FlagSet;
  unsigned first_, count_;
};

/// All flags of an algorithm.
class FlagSet {
 public:
  /// Of names, rows and other sets, no two of which may have a flag in common.
  template <class... Parts>
  static consteval FlagSet of(const Parts&... parts) {
    FlagSet all;
    (all.add(bits_of(parts)), ...);
    return all;
  }
  template <class First, class Second>
  static consteval bool disjoint(const First& first, const Second& second) {
    return (bits_of(first) & bits_of(second)) == 0;
  }

 private:
  friend class SlotFlags;
  static constexpr std::uint64_t bits_of(const FlagName& name) { return std::uint64_t{1} << name.place_; }
  static constexpr std::uint64_t bits_of(const FlagRow& row) {
    return ((std::uint64_t{1} << row.count_) - 1) << row.first_;
  }
  static constexpr std::uint64_t bits_of(const FlagSet& set) { return set.bits_; }
  constexpr void add(std::uint64_t more) {
    if ((bits_ & more) != 0) throw std::logic_error("two names stand for one flag");
    bits_ |= more;
  }
  std::uint64_t bits_ = 0;
};

/// Those of one rank in one slot.
class alignas(sync::line_bytes) SlotFlags {
 public:
  sync::Flag& operator[](FlagName name) { return flags_[name.place_]; }
  const sync::Flag& operator[](FlagName name) const { return flags_[name.place_]; }

  /// For tests: sets all but the declared ones.
  void set_undeclared(const FlagSet& declared, sync::Stamp value) {
    for (unsigned place = 0; place < flag_lines * flags_in_line; ++place)
      if ((declared.bits_ >> place & 1) == 0) flags_[place].set(value);
  }

 private:
  sync::Flag flags_[flag_lines * flags_in_line];
};
static_assert(sizeof(SlotFlags) == flag_lines * sync::line_bytes && flag_lines * flags_in_line <= 64);

/// What most algorithms end with: this rank has finished reading and writing what belongs to others. See
/// Operation::done().
inline constexpr FlagName done_flag{Line::done, 0};
inline constexpr FlagSet only_done = FlagSet::of(done_flag);

}  // namespace tutti
