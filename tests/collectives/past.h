// What a communicator has been through before a sweep: calls that the host has carried out or refused, operations that
// have ended, pending ones that are under way, memory that a freed communicator has left. A sweep on new communicators
// finds none of the faults for which these are needed. The seed decides, so a sweep sees all of it and grows no longer.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "collectives/collectives.h"
#include "collectives/own_memory.h"
#include "collectives/side_by_side.h"
#include "engine/remains.h"

namespace tutti::test {

/// Equal on all ranks.
struct Past {
  unsigned seed = 0;   ///< 0: none
  int host_calls = 0;  ///< before the first operation of the sweep
  bool more_of_it =
      false;              ///< host calls, also refused ones, and progress of what is pending between those of the sweep
  int refusing_rank = 0;  ///< whose calls the host refuses, which are none of the others'
  std::uint64_t begins_after = 0;  ///< number of the last operation before all that, see Channel::begin_after()
  int operations = 0;              ///< that have ended: the sweep begins anywhere in the ring
  int ended = 0;                   ///< pending calls that have ended
  int open = 0;                    ///< pending calls that end at some time during the sweep
  bool second_hand = false;        ///< its memory is that of a communicator that was freed

  static Past none() { return {}; }
  static Past of(unsigned seed, int ranks) {
    Past past;
    past.seed = seed | 1;
    unsigned state = past.seed;
    const auto draw = [&state](unsigned below) {
      state = state * 1664525u + 1013904223u;
      return static_cast<int>((state >> 8) % below);
    };
    // As many as a slot's flag counts, and more; a few.
    past.host_calls = draw(2) == 0 ? 64 + draw(128) : draw(4);
    past.more_of_it = draw(4) != 0;
    past.refusing_rank = draw(static_cast<unsigned>(ranks));
    past.operations = draw(3) == 0 ? draw(2 * ring_slots) : draw(4);
    past.ended = draw(3) == 0 ? 1 + draw(2) : 0;
    past.open = draw(3) == 0 ? 1 + draw(2) : 0;
    past.second_hand = draw(4) == 0;
    return past;
  }
  std::string text() const {
    return "past " + std::to_string(seed) + ": " + std::to_string(host_calls) + " calls of the host" +
           (more_of_it ? " and others between" : "") + ", " + std::to_string(operations) + " operations, pending " +
           std::to_string(ended) + " ended and " + std::to_string(open) + " open" +
           (second_hand ? ", in memory of a freed communicator" : "");
  }
};

/// Lets others go on, which may have asked for this rank's memory.
inline void take_turn(Node& node) {
  if (node.requests) node.requests->serve();
  if constexpr (simulated::on) return simulated::pause();
  std::this_thread::yield();
}

/// A pending call with its buffers: a sum, or a message of the rank after the last one that was the root.
class PastCall {
 public:
  PastCall(Collectives& collectives, int number, std::size_t bytes)
      : collectives_(collectives), number_(number), buffer_(bytes), sum_(number % 2 == 0 ? bytes : 0) {
    const int root = number % collectives.size();
    combiner_.function = [](void*, void* destination, const void* const* sources, std::size_t count,
                            std::size_t elements,
                            reduction::Order) { combine_copies(destination, sources, count, elements, add_to); };
    if (sum_.empty())
      call_ = collectives.prepare(BcastArguments{buffer_.data(), bytes, root});
    else
      call_ = collectives.prepare(AllreduceArguments{buffer_.data(), sum_.data(), bytes, &combiner_});
    const bool has_it = !sum_.empty() || collectives.rank() == root;
    if (has_it) fill(buffer_, sum_.empty() ? root : collectives.rank());
    if (call_) call_->start();
  }
  bool progress() {
    if (!call_ || over_) return true;
    if (!call_->progress()) return false;
    over_ = true;
    unsigned ranks = 0;
    for (int rank = 0; rank < collectives_.size(); ++rank) ranks += first_of(rank);
    const unsigned first = sum_.empty() ? first_of(number_ % collectives_.size()) : ranks;
    const std::vector<std::byte>& result = sum_.empty() ? buffer_ : sum_;
    const auto each = static_cast<unsigned>(sum_.empty() ? 1 : collectives_.size());
    for (std::size_t i = 0; i < result.size(); ++i)
      if (result[i] != static_cast<std::byte>(first + each * static_cast<unsigned>(i))) {
        ADD_FAILURE() << "a pending call of the past is wrong at byte " << i << " on rank " << collectives_.rank();
        break;
      }
    return true;
  }

 private:
  unsigned first_of(int rank) const { return static_cast<unsigned>(rank * 37 + number_ * 11); }
  void fill(std::vector<std::byte>& buffer, int rank) const {
    for (std::size_t i = 0; i < buffer.size(); ++i)
      buffer[i] = static_cast<std::byte>(first_of(rank) + static_cast<unsigned>(i));
  }

  Collectives& collectives_;
  int number_;
  std::vector<std::byte> buffer_, sum_;
  Combiner combiner_;
  std::unique_ptr<PendingCall> call_;
  bool over_ = false;
};

/// The collectives of a communicator on one rank, with its past. Whoever calls them by this type meets more of it.
class LivedIn : public Collectives {
 public:
  LivedIn(Communicator& communicator, const selection::Knowledge& knowledge, const Past& past)
      : Collectives(communicator, knowledge), past_(past) {}

  /// To be called by all ranks before the sweep.
  void live() {
    for (int i = 0; i < past_.operations; ++i) ASSERT_TRUE(Collectives::barrier({}));
    for (int i = 0; i < past_.ended; ++i) open_.push_back(make(i));
    finish();
    for (int i = 0; i < past_.open; ++i) open_.push_back(make(past_.ended + i));
    for (int i = 0; i < past_.host_calls; ++i) communicator().given_to_host();
  }
  /// Goes on with what is pending; whether nothing is any more.
  bool go_on() {
    bool over = true;
    for (const auto& each : open_) over = each->progress() && over;
    return over;
  }
  /// What a rank does between its looks at what is pending: only as many calls as a ring has slots go on at a time.
  void turn() {
    go_on();
    take_turn(communicator().node());
  }
  /// All that is pending ends.
  void finish() {
    while (!go_on()) take_turn(communicator().node());
    open_.clear();
  }

  /// More of it, before a call: the same calls on all ranks, but for those that the host refuses; how far pending ones
  /// come differs.
  void between() {
    if (!past_.more_of_it) return;
    const unsigned now = (past_.seed + calls_++) * 2654435761u >> 16;
    for (unsigned i = 0; i < (now & 3) % 3; ++i) communicator().given_to_host();
    if (now % 7 == 0 && rank() == past_.refusing_rank) {
      communicator().given_to_host();
      communicator().refused_by_host();
    }
    if ((now + static_cast<unsigned>(rank())) % 5 == 0) go_on();
  }

#define TUTTI_TEST_METHOD(Kind, name)           \
  Done name(const Kind##Arguments& arguments) { \
    between();                                  \
    return Collectives::name(arguments);        \
  }
  TUTTI_KINDS(TUTTI_TEST_METHOD)
#undef TUTTI_TEST_METHOD

 private:
  std::unique_ptr<PastCall> make(int number) {
    const std::size_t sizes[] = {100, 3000, 20'000};
    return std::make_unique<PastCall>(*this, number, sizes[(past_.seed + static_cast<unsigned>(number)) % 3]);
  }
  const Past past_;
  unsigned calls_ = 0;
  std::vector<std::unique_ptr<PastCall>> open_;
};

/// What a communicator's ranks share, made once they all want it, of memory that may be second-hand.
class SharedParts {
 public:
  /// nodes: by rank; a communicator of all of them.
  explicit SharedParts(const std::vector<std::unique_ptr<Node>>& nodes)
      : nodes_(nodes), together_(static_cast<int>(nodes.size())) {
    for (std::size_t rank = 0; rank < nodes.size(); ++rank) layout_.node_ranks.push_back(static_cast<int>(rank));
    layout_.offsets.resize(nodes.size());
    layout_.rows.resize(nodes.size());
  }
  /// To be called by all ranks.
  CommunicatorLayout take(int rank) {
    const auto i = static_cast<std::size_t>(rank);
    Node& node = *nodes_[i];
    layout_.offsets[i] = *node.arena->reserve(shared_bytes(node.settings, node.size));
    layout_.rows[i] = *node.rows->allocate();
    EXPECT_TRUE(node.arena->open(layout_.offsets[i]));
    together_.arrive_and_wait();
    CommunicatorLayout mine = layout_;
    mine.rank = rank;
    together_.arrive_and_wait();
    return mine;
  }
  void wait_for_all() { together_.arrive_and_wait(); }
  /// The same of a communicator that is freed.
  void give_back(Communicator& communicator) {
    const Remains remains = communicator.part();
    together_.arrive_and_wait();
    remains.give_back();
  }

 private:
  const std::vector<std::unique_ptr<Node>>& nodes_;
  CommunicatorLayout layout_;
  MeetingPoint together_;
};

/// One rank's communicator, after what it has been through, for body(LivedIn&).
template <class Body>
void after(const Past& past, Node& node, SharedParts& parts, const selection::Knowledge& knowledge, const Body& body) {
  if (past.second_hand) {
    Communicator first(node, parts.take(node.rank));
    {
      LivedIn collectives(first, knowledge, past);
      collectives.live();
      collectives.finish();
    }
    parts.give_back(first);
  }
  Communicator communicator(node, parts.take(node.rank));
  if (past.begins_after) {
    communicator.blocking().begin_after(past.begins_after);
    communicator.pending().begin_after(past.begins_after);
  }
  LivedIn collectives(communicator, knowledge, past);
  collectives.live();
  body(collectives);
  collectives.finish();
  parts.wait_for_all();  // who still looks at what this rank shares
}

}  // namespace tutti::test
