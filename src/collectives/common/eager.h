// Small payloads: copied into the sender's slot and out of it again (copy-in/copy-out, XHC section III.D). The smallest
// travel in the flag's own line. The ring of slots frees the sender at once, so nobody acknowledges.
//
// An algorithm of this kind is a description, a class Description that says what is sent, whose posts are awaited, and what
// is then taken:
//
//   Description(const OperationView&, const Arguments&)    it keeps a copy
//   static std::size_t payload(const Communicator&, const Arguments&)   bytes that this rank sends at most
//   void send()                  sends, without waiting for anybody
//   bool next(Wanted&)           what is awaited next; false if there is nothing more
//   void take(const Wanted&)     it has come
//   void end()                   everything has come
//
// Two forms are made of it (small()): a straight function, which blocking calls run, as a coroutine would cost them 10
// to 20 ns, and a coroutine.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/copy.h"
#include "engine/operation.h"
#include "reduction/copy.h"
#include "selection/algorithm.h"

namespace tutti::eager {

/// What of a payload lies in the line of the flag; the rest is in the next one.
inline constexpr std::size_t first_line_bytes = cache_line_bytes - offsetof(Post, payload);

inline bool fits_inline(std::size_t bytes) {
  return bytes <= Post::inline_bytes;
}

/// How many operations may be in flight where a rank sends so much (Channel::has_room).
inline std::uint64_t in_flight(std::size_t bytes) {
  return fits_inline(bytes) ? ring_slots : data_areas;
}

/// Sends `bytes` (1 .. slot_bytes) of this rank to whoever reads its slot, grain by grain so that copying in overlaps
/// with copying out. The flag's progress is grains + 1, so that it also tells arrival (0) from data.
inline void send(const OperationView& operation, const void* source, std::size_t bytes) {
  Post& post = operation.own().post;
  if (fits_inline(bytes)) {
    if (bytes > first_line_bytes) sync::prefetch_to_write(post.payload + first_line_bytes);
    reduction::copy(post.payload, source, bytes);
    operation.publish(post.flag, 1);
    return;
  }
  std::byte* data = operation.own_data();
  for (std::size_t at = 0; at < bytes; at += grain_bytes) {
    const std::size_t end = at + grain_bytes < bytes ? at + grain_bytes : bytes;
    copy_bytes(data + at, static_cast<const std::byte*>(source) + at, end - at);
    post.flag.set(operation.stamp(grains_complete(end, bytes)));
  }
  operation.communicator().published();
  operation.expect_data(bytes);
}

/// What a description waits for: that the flag of the post of `rank` has come so far.
struct Wanted {
  int rank = 0;
  std::uint64_t progress = 0;
  /// The payload is in both lines of the post: both are fetched at once, not the second one when the flag in the first
  /// has come.
  bool two_lines = false;
};

/// A payload of `bytes`, of which those up to `end` are wanted.
inline Wanted wanted(int rank, std::size_t bytes, std::size_t end) {
  return {rank, fits_inline(bytes) ? 1 : grains_needed(end), fits_inline(bytes) && bytes > first_line_bytes};
}

/// Where the payload of a rank begins.
inline const std::byte* payload_of(const OperationView& operation, int rank, std::size_t bytes) {
  return fits_inline(bytes) ? operation.slot(rank).post.payload : operation.data(rank);
}

/// Copies the payload of one rank out as it comes, grain by grain.
class CopyOut {
 public:
  /// The bytes from `at` to `end` of the payload.
  CopyOut(int rank, std::size_t bytes, std::size_t at, std::size_t end)
      : rank_(rank), bytes_(bytes), at_(at), end_(end) {}
  CopyOut(int rank, std::size_t bytes) : CopyOut(rank, bytes, 0, bytes) {}

  bool next(Wanted& wanted) {
    if (at_ == end_) return false;
    next_ = fits_inline(bytes_) ? end_ : std::min(end_, (at_ / grain_bytes + 1) * grain_bytes);
    wanted = eager::wanted(rank_, bytes_, next_);
    return true;
  }
  /// To where the part that is wanted belongs; returns where the next one does.
  std::byte* take(const OperationView& operation, std::byte* destination) {
    const std::byte* const source = payload_of(operation, rank_, bytes_) + at_;
    const std::size_t part = next_ - at_;
    if (fits_inline(bytes_))
      reduction::copy(destination, source, part);
    else
      copy_bytes(destination, source, part);
    at_ = next_;
    return destination + part;
  }

 private:
  int rank_;
  std::size_t bytes_;
  std::size_t at_, end_, next_ = 0;
};

/// Whether it has come.
inline auto poll(const OperationView& operation, const Wanted& wanted) {
  return [&post = operation.slot(wanted.rank).post, two_lines = wanted.two_lines,
          target = operation.stamp(wanted.progress)] {
    if (two_lines) __builtin_prefetch(post.payload + first_line_bytes);
    return post.flag.has(target);
  };
}

/// For what has not come after a while, or from a rank that seems to be in another call: a function of its own, since few
/// calls get here.
template <class Poll>
[[gnu::noinline]] void wait_long(OperationView view, int rank, Poll poll) {
  Operation(view).wait_until(rank, poll);
}

/// Waits until it has come. It is given copies: see OperationView.
inline void wait(const OperationView& operation, const Wanted& wanted) {
  const auto has_come = poll(operation, wanted);
  const bool came = has_come() || sync::poll_for_a_while(*operation.communicator().node().waiter, has_come);
  if (!came || !operation.agrees(wanted.rank)) [[unlikely]]
    wait_long(operation, wanted.rank, has_come);
}

/// All of it is one function: a description that is handed on would have to be written to memory.
template <class Description, class Arguments>
[[gnu::flatten]] void straight(Channel& channel, Call& call, const Arguments& arguments) {
  const OperationView operation =
      Operation::begun(channel, call, in_flight(Description::payload(channel.communicator(), arguments)));
  Description described(operation, arguments);
  described.send();
  for (Wanted wanted{}; described.next(wanted); described.take(wanted)) wait(operation, wanted);
  described.end();
  operation.complete();
}

template <class Description, class Arguments>
Task body(Operation& operation, const Arguments& arguments) {
  Description described(operation, arguments);
  described.send();
  for (Wanted wanted{}; described.next(wanted); described.take(wanted))
    co_await operation.until(wanted.rank, poll(operation, wanted));
  described.end();
}

/// The forms of an algorithm.
template <class Description, class Arguments>
constexpr selection::Forms<Arguments> forms() {
  return {body<Description, Arguments>,
          {},
          [](const Communicator& communicator, const Arguments& arguments) {
            return in_flight(Description::payload(communicator, arguments));
          },
          straight<Description, Arguments>};
}

/// The same of two descriptions: is_first(arguments) says which one a call takes.
template <class First, class Second, auto is_first, class Arguments>
constexpr selection::Forms<Arguments> forms_of_two() {
  return {[](Operation& operation, const Arguments& arguments) {
            return is_first(arguments) ? body<First, Arguments>(operation, arguments)
                                       : body<Second, Arguments>(operation, arguments);
          },
          {},
          [](const Communicator& communicator, const Arguments& arguments) {
            return in_flight(is_first(arguments) ? First::payload(communicator, arguments)
                                                 : Second::payload(communicator, arguments));
          },
          [](Channel& channel, Call& call, const Arguments& arguments) {
            is_first(arguments) ? straight<First, Arguments>(channel, call, arguments)
                                : straight<Second, Arguments>(channel, call, arguments);
          }};
}

}  // namespace tutti::eager
