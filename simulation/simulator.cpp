#include "simulation/simulator.h"

#include <cxxabi.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace tutti::simulated {

namespace {

/// Of this thread: other threads of a test do at once what they do.
thread_local Simulator* simulator = nullptr;

bool is_inside() {
  return simulator && simulator->current() >= 0;
}

/// Fibres' stacks, with a page below that ends who has come too far; kept for the next ones, for good.
class Stacks {
 public:
  boost::context::stack_context allocate() {
    if (unused_.empty()) {
      void* const memory =
          mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
      if (memory == MAP_FAILED || mprotect(memory, page_bytes, PROT_NONE) != 0) throw std::bad_alloc();
      unused_.push_back(static_cast<std::byte*>(memory) + bytes);
    }
    boost::context::stack_context stack;
    stack.size = bytes - page_bytes;
    stack.sp = unused_.back();
    unused_.pop_back();
    return stack;
  }
  void deallocate(boost::context::stack_context& stack) noexcept { unused_.push_back(stack.sp); }

 private:
  static constexpr std::size_t page_bytes = 4096, bytes = std::size_t{512} << 10;
  std::vector<void*> unused_;
};
struct StackOf {
  Stacks* stacks;
  boost::context::stack_context allocate() { return stacks->allocate(); }
  void deallocate(boost::context::stack_context& stack) noexcept { stacks->deallocate(stack); }
};
StackOf stacks() {
  static auto* const all = new Stacks;
  return {all};
}

/// What a thread knows of exceptions that are under way: each fibre has its own.
struct Exceptions {
  void* caught = nullptr;
  unsigned uncaught = 0;

  static Exceptions exchange(const Exceptions& with) {
    auto& of_thread = *reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
    return std::exchange(of_thread, with);
  }
};

/// After so many times in a row that nobody had anything to do nobody will. Each is longer than the one before, all
/// together longer than any wait that ends after a while.
constexpr int quiet_rounds_max = 12;
constexpr std::uint64_t shortest_sleep = 1'000'000;

}  // namespace

// The seam.

std::uint64_t load(const void* word, std::size_t bytes, std::memory_order order) {
  if (!is_inside()) return Simulator::value_of(word, bytes);
  const sanitizer::Unwatched now;
  return simulator->load(word, bytes, order);
}
void stores(const void* word, std::size_t bytes) {
  if (!is_inside()) return;
  const sanitizer::Unwatched now;
  simulator->stores(word, bytes);
}
void stored(const void* word, std::size_t bytes, std::memory_order order) {
  if (!is_inside()) return;
  const sanitizer::Unwatched now;
  simulator->stored(word, bytes, order);
}
void updated(const void* word, std::size_t bytes, bool is_changed, std::memory_order order) {
  if (!is_inside()) return;
  const sanitizer::Unwatched now;
  simulator->updated(word, bytes, is_changed, order);
}
void made(const void* word, std::size_t bytes) {
  if (!is_inside()) return;
  const sanitizer::Unwatched now;
  simulator->made(word, bytes);
}
void thread_fence() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!is_inside()) return;
  const sanitizer::Unwatched now;
  simulator->thread_fence();
}
void copy(void* destination, const void* source, std::size_t bytes, Move how) {
  if (!is_inside()) {
    std::memmove(destination, source, bytes);
    return;
  }
  const sanitizer::Unwatched now;
  simulator->copy(destination, source, bytes, how);
}
void fence() {
  if (!is_inside()) return;
  const sanitizer::Unwatched now;
  simulator->fence();
}
std::size_t copy_by_kernel(bool reads, const iovec* here, const iovec* there, std::size_t count) {
  std::size_t moved = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const iovec &to = reads ? here[i] : there[i], &from = reads ? there[i] : here[i];
    if (is_inside()) {
      const sanitizer::Unwatched now;
      simulator->copy_by_kernel(reads, to.iov_base, from.iov_base, to.iov_len);
    } else {
      std::memmove(to.iov_base, from.iov_base, to.iov_len);
    }
    moved += to.iov_len;
  }
  return moved;
}
void take(void* begin, std::size_t bytes) {
  if (!is_inside()) return;
  const sanitizer::Unwatched now;
  simulator->take(static_cast<std::byte*>(begin), bytes);
}
void expects(const void* line) {
  if (!is_inside()) return;
  const sanitizer::Unwatched now;
  simulator->expects(line);
}
void reduces(const void* destination, const void* const* sources, std::size_t source_count, std::size_t bytes) {
  if (!is_inside()) return;
  const sanitizer::Unwatched now;
  simulator->reduces(destination, sources, source_count, bytes);
}
std::uint64_t ticks() {
  return is_inside() ? simulator->ticks() : 0;
}
void pause() {
  if (!is_inside()) return;
  const sanitizer::Unwatched now;
  simulator->take_turn();
}

// Fibres.

Simulator::Simulator(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

Simulator::~Simulator() {
  // To end a fibre in the middle would unwind its stack, through functions that throw nothing.
  static auto* const abandoned = new std::vector<boost::context::fiber>;
  for (Rank& rank : ranks_)
    if (rank.fiber)
      abandoned->push_back(std::move(rank.fiber));
    else
      rank.thread.destroy();
}

void Simulator::run(const std::function<void(int)>& body) {
  Simulator* const outer = std::exchange(simulator, this);
  over_ = 0;
  for (int number = 0; number < ranks(); ++number) {
    ranks_[static_cast<std::size_t>(number)].fiber =
        boost::context::fiber(std::allocator_arg, stacks(), [this, number, &body](boost::context::fiber&& from) {
          main_ = std::move(from);
          sanitizer::acquire(this);
          try {
            body(number);
          } catch (...) {
            if (!failure_) failure_ = std::current_exception();
          }
          running().state = State::over;
          ++over_;
          sanitizer::release(this);
          main_thread_.enter();
          return std::move(main_);
        });
    ranks_[static_cast<std::size_t>(number)].thread = sanitizer::Thread::make();
    make_ready(number);
  }
  main_thread_ = sanitizer::Thread::current();
  sanitizer::release(this);
  while (over_ < ranks() && !failure_) {
    if (ready_ == 0 && !later()) {
      give_up("nobody can go on");
      break;
    }
    switch_to(next());
  }
  simulator = outer;
  sanitizer::acquire(this);
  if (failure_) std::rethrow_exception(failure_);
}

void Simulator::switch_to(int rank) {
  Rank& to = ranks_[static_cast<std::size_t>(rank)];
  --ready_;
  current_ = rank;
  ++switches_;
  const Exceptions own = Exceptions::exchange({});
  to.thread.enter();
  to.fiber = std::move(to.fiber).resume();
  Exceptions::exchange(own);
  current_ = -1;
}

void Simulator::leave() {
  const int rank = current_;
  const Exceptions own = Exceptions::exchange({});
  main_thread_.enter();
  main_ = std::move(main_).resume();
  Exceptions::exchange(own);
  current_ = rank;
}

void Simulator::make_ready(int rank) {
  ranks_[static_cast<std::size_t>(rank)].state = State::ready;
  ++ready_;
  became_ready(rank);
}

void Simulator::give_way() {
  make_ready(current_);
  leave();
}

std::uint64_t Simulator::value_of(const void* word, std::size_t bytes) {
  // Other threads of a test may store it.
  switch (bytes) {
    case 1:
      return __atomic_load_n(static_cast<const std::uint8_t*>(word), __ATOMIC_SEQ_CST);
    case 4:
      return __atomic_load_n(static_cast<const std::uint32_t*>(word), __ATOMIC_SEQ_CST);
    case 8:
      return __atomic_load_n(static_cast<const std::uint64_t*>(word), __ATOMIC_SEQ_CST);
    default:
      std::abort();
  }
}

std::uint64_t Simulator::load(const void* word, std::size_t bytes, std::memory_order order) {
  loads(word, bytes);
  const std::uint64_t value = found(word, value_of(word, bytes), order);
  looks_at(word, bytes, value);
  return value;
}

void Simulator::looks_at(const void* word, std::size_t bytes, std::uint64_t value) {
  constexpr std::size_t looks_max = 512;
  std::vector<Look>& all = running().looks;
  if (!all.empty() && all.back().word == word) {
    all.back().value = value;
    return;
  }
  if (all.size() == looks_max) all.erase(all.begin(), all.begin() + looks_max / 2);
  all.push_back({word, bytes, value});
}

void Simulator::take_turn() {
  Rank& rank = running();
  rank.waits_for = "its turn";
  // In whichever order it has looked, and how often.
  std::vector<Look>& looks = rank.looks;
  std::stable_sort(looks.begin(), looks.end(), [](const Look& a, const Look& b) { return a.word < b.word; });
  std::uint64_t seen = 1;
  for (std::size_t i = 0; i < looks.size(); ++i)
    if (const Look& look = looks[i]; i + 1 == looks.size() || looks[i + 1].word != look.word)
      seen += Random(reinterpret_cast<std::uintptr_t>(look.word) ^ look.value << 32)();
  const bool is_idle = seen == std::exchange(rank.seen, seen) && !std::exchange(rank.has_acted, false);
  if (is_idle) {
    pause("its turn");
    return;
  }
  rank.looks.clear();
  rank.looks_at_clock = false;
  give_way();
}

bool Simulator::pause(const std::string& waits_for) {
  const sanitizer::Unwatched now;
  Rank& rank = running();
  rank.waits_for = waits_for;
  // Others may have been there between the looks of one poll.
  const bool is_changed = has_missed() || std::any_of(rank.looks.begin(), rank.looks.end(), [](const Look& look) {
                            return value_of(look.word, look.bytes) != look.value;
                          });
  if (is_changed || rank.looks_at_clock) {
    if (!is_changed) waits_for_time();
    rank.looks.clear();
    rank.looks_at_clock = false;
    give_way();
    return false;
  }
  rank.state = State::parked;
  for (const Look& look : rank.looks) {
    std::vector<int>& all = parked_[look.word];
    if (std::find(all.begin(), all.end(), current_) == all.end()) all.push_back(current_);
  }
  parks();
  leave();
  return std::exchange(rank.goes_on_quietly, false);
}

void Simulator::meet() {
  const sanitizer::Unwatched now;
  const std::uint64_t meeting = meetings_;
  met_.push_back(current_);
  if (static_cast<int>(met_.size()) == ranks()) {
    ++meetings_;
    const std::vector<int> all = std::exchange(met_, {});
    all_met();
    for (const int rank : all)
      if (ranks_[static_cast<std::size_t>(rank)].state == State::parked) unpark(rank);
    return;
  }
  // Others may be woken for something that they no longer wait for.
  while (meetings_ == meeting) {
    running().state = State::parked;
    running().waits_for = "all others";
    running().looks.clear();
    parks();
    leave();
  }
}

void Simulator::unpark(int rank) {
  Rank& of = ranks_[static_cast<std::size_t>(rank)];
  for (const Look& look : of.looks) {
    const auto found = parked_.find(look.word);
    if (found == parked_.end()) continue;
    std::erase(found->second, rank);
    if (found->second.empty()) parked_.erase(found);
  }
  of.looks.clear();
  make_ready(rank);
}

void Simulator::changed(const void* word) {
  ++changes_;
  const auto found = parked_.find(word);
  if (found == parked_.end()) return;
  const std::vector<int> all = found->second;
  for (const int rank : all) unpark(rank);
}

bool Simulator::later() {
  quiet_rounds_ = changes_ == quiet_changes_ ? quiet_rounds_ + 1 : 1;
  quiet_changes_ = changes_;
  if (quiet_rounds_ > quiet_rounds_max) return false;
  sleep(shortest_sleep << quiet_rounds_);
  for (int rank = 0; rank < ranks(); ++rank) {
    Rank& each = ranks_[static_cast<std::size_t>(rank)];
    if (each.state != State::parked) continue;
    each.goes_on_quietly = true;
    unpark(rank);
  }
  return true;
}

std::string Simulator::who_waits() const {
  std::string text;
  for (int rank = 0; rank < ranks(); ++rank)
    if (const Rank& each = ranks_[static_cast<std::size_t>(rank)]; each.state != State::over)
      text += "; rank " + std::to_string(rank) + " waits for " + each.waits_for;
  return text;
}

void Simulator::give_up(const std::string& why) {
  if (!failure_) failure_ = std::make_exception_ptr(Deadlock(why + who_waits()));
  if (current_ >= 0) leave();
}

void FiberWaiter::idle(sync::WaitState& state) {
  if (!is_inside()) throw std::logic_error("a wait of no fibre");
  if (requests_ && requests_->serve()) return;
  if (meanwhile) meanwhile();
  const sync::WaitReason& reason = state.reason;
  const bool is_quiet = simulator->pause(std::string("rank ") + std::to_string(reason.peer) + " of the node in " +
                                         reason.collective + ", operation " + std::to_string(reason.sequence));
  if (is_quiet && reason.party) reason.party->look(reason.sequence);
}

}  // namespace tutti::simulated
