#include "mpi/report/recorder.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/ticks.h"
#include "collectives/call_shape.h"
#include "mpi/communicators.h"
#include "mpi/report/explain.h"

namespace tutti::mpi::profile {

namespace {

constexpr std::size_t rows_max = 4096;
constexpr std::size_t samples_a_row = 64;
/// Calls of one function on a communicator before the first is carried out by the MPI for comparison; then so many in turn, and
/// again each time there were twice as many.
constexpr std::uint64_t before_comparison = 512, compared_in_turn = 4;

std::uint64_t mixed(std::uint64_t value) {
  value *= 0x9e3779b97f4a7c15u;
  return value ^ value >> 32;
}

std::uint64_t hash_of(const Row::Key& key) {
  std::uint64_t hash = 0;
  const auto add = [&hash](auto value) { hash = mixed(hash + value); };
  add(std::uint64_t{key.site} << 32 | key.communicator);
  for (const char* const each : {key.function, key.algorithm, key.reason, key.kept, key.way})
    add(reinterpret_cast<std::uintptr_t>(each));
  add(static_cast<std::uint64_t>(key.parameter) << 20 ^ static_cast<std::uint64_t>(key.size_class + 2) << 1 ^
      static_cast<std::uint64_t>(key.is_for_comparison));
  return hash;
}

}  // namespace

void Filling::add(std::uint64_t begin, std::uint64_t end, Category category) {
  begin = std::max(begin, origin_) - origin_;
  end = std::max(end, origin_) - origin_;
  while (end >= width_ * stretches) fold();
  for (std::uint64_t at = begin; at < end;) {
    const std::uint64_t stretch = at / width_, until = std::min(end, (stretch + 1) * width_);
    ticks_[stretch][static_cast<std::size_t>(category)] += static_cast<float>(until - at);
    at = until;
  }
}

void Filling::fold() {
  for (std::size_t i = 0; i < stretches; ++i)
    for (std::size_t category = 0; category < categories; ++category) {
      const float sum = 2 * i + 1 < stretches ? ticks_[2 * i][category] + ticks_[2 * i + 1][category] : 0;
      ticks_[i][category] = sum;
    }
  width_ *= 2;
}

Recorder::Recorder(const Job& job) : file_(job.node.settings.profile), places_(4 * rows_max) {
  host.Comm_rank(MPI_COMM_WORLD, &rank_);
  host.Comm_size(MPI_COMM_WORLD, &ranks_);
  host.Comm_split(MPI_COMM_WORLD, 0, rank_, &own_);
  const int records = wanted() ? 1 : 0;
  std::vector<int> all(static_cast<std::size_t>(ranks_));
  host.Allgather(&records, 1, MPI_INT, all.data(), 1, MPI_INT, own_);
  all_record_ = std::find(all.begin(), all.end(), 0) == all.end();
  const auto mine = static_cast<std::size_t>(rank_);
  has_clock_of_rank_0_ = rank_ == 0;
  if (job.world.size() == all.size()) {
    has_clock_of_rank_0_ = job.world[mine].node == job.world[0].node;
    while (job.world[static_cast<std::size_t>(node_)].node != job.world[mine].node) ++node_;
  }
  first_tick_ = ticks();
  first_time_ = std::chrono::steady_clock::now();
  begin_ = meet();
  filling_.begin(first_tick_, ticks_in(1'000'000));
  events_max_ = std::clamp<std::size_t>((std::size_t{1} << 20) / static_cast<std::size_t>(ranks_), 2048, 65536);
  events_.reserve(events_max_);
}

std::uint32_t Recorder::new_communicator(MPI_Comm communicator, const CommunicatorState* state) {
  if (communicators_.size() == communicators_max) {
    // Several together, of which no place in a sequence is the same on all ranks.
    communicators_.back().identity = 0;
    return communicators_max - 1;
  }
  Communicator made;
  host.Comm_rank(communicator, &made.rank);
  host.Comm_size(communicator, &made.ranks);
  int inter = 0, length = 0;
  host.Comm_test_inter(communicator, &inter);
  made.intercommunicator = inter != 0;
  std::array<char, MPI_MAX_OBJECT_NAME + 1> name{};
  if (host.Comm_get_name) host.Comm_get_name(communicator, name.data(), &length);
  made.name = name.data();
  if (state) made.identity = state->identity;
  if (state && state->collectives) {
    const selection::Shape& shape = state->collectives->shape();
    made.nodes = state->collectives->nodes();
    made.levels = shape.levels;
    made.ranks_per_core = shape.ranks_per_core;
  }
  if (!inter) {
    MPI_Group members = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
    host.Comm_group(communicator, &members);
    host.Comm_group(MPI_COMM_WORLD, &world);
    std::vector<int> ranks(static_cast<std::size_t>(made.ranks));
    std::iota(ranks.begin(), ranks.end(), 0);
    made.in_world.resize(ranks.size(), -1);
    host.Group_translate_ranks(members, made.ranks, ranks.data(), world, made.in_world.data());
    host.Group_free(&members);
    host.Group_free(&world);
  }
  communicators_.push_back(std::move(made));
  return static_cast<std::uint32_t>(communicators_.size() - 1);
}

/// communicators_max for a call on none.
std::uint32_t Recorder::communicator_of(const Call& call) {
  if (!call.has_communicator_ || call.communicator_ == MPI_COMM_NULL)
    return static_cast<std::uint32_t>(communicators_max);
  const CommunicatorState* const state = known_state(call.communicator_);
  if (state && state == last_state_) return last_communicator_;
  if (!state) {
    const auto [place, is_new] = by_handle_.try_emplace(key_of(call.communicator_), 0);
    if (is_new) place->second = new_communicator(call.communicator_, nullptr);
    return place->second;
  }
  const auto [place, is_new] = by_state_.try_emplace(state, 0);
  if (is_new) place->second = new_communicator(call.communicator_, state);
  last_state_ = state;
  last_communicator_ = place->second;
  return place->second;
}

bool Recorder::is_turn_of_host(const Call& call, bool same_result) {
  // Of what may be no communicator nothing is asked before the call.
  if (call.communicator_ == MPI_COMM_NULL || !known_state(call.communicator_)) return false;
  const std::lock_guard lock(mutex);
  const std::uint32_t number = communicator_of(call);
  if (number >= communicators_.size()) return false;
  auto& calls = communicators_[number].calls;
  auto found = std::find_if(calls.begin(), calls.end(), [&](const auto& each) { return each.first == call.function_; });
  if (found == calls.end()) found = calls.insert(calls.end(), {call.function_, 0});
  const std::uint64_t count = found->second++;
  return all_record_ && same_result && count >= before_comparison && count - std::bit_floor(count) < compared_in_turn;
}

std::uint32_t Recorder::row_of(const Row::Key& key, Category category) {
  for (std::size_t at = hash_of(key);; ++at) {
    std::uint32_t& place = places_[at % places_.size()];
    if (place == 0) {
      if (rows_.size() == rows_max) return rows_max - 1;
      rows_.push_back({key, category});
      place = static_cast<std::uint32_t>(rows_.size());
      return place - 1;
    }
    if (rows_[place - 1].key == key) return place - 1;
  }
}

std::uint32_t Recorder::this_thread() {
  const void* const here = &refusal;  // each thread has its own
  for (std::size_t i = 0; i < threads_.size(); ++i)
    if (threads_[i] == here) return static_cast<std::uint32_t>(i);
  if (threads_.size() < 255) threads_.push_back(here);
  return static_cast<std::uint32_t>(threads_.size() - 1);
}

/// Ranks keep the same calls: which depends on their place in the sequence of the communicator, and on how many calls the row
/// has, which differs little between ranks.
void Recorder::keep_sample(std::uint32_t row, const Sample& sample) {
  Row& of = rows_[row];
  const auto is_kept = [&of](std::uint64_t sequence) {
    return (mixed(sequence) & ((std::uint64_t{1} << of.level) - 1)) == 0;
  };
  if (!is_kept(sample.sequence)) return;
  samples_.push_back(sample);
  if (++of.samples <= samples_a_row) return;
  ++of.level;
  std::erase_if(samples_, [&](const Sample& each) { return each.row == row && !is_kept(each.sequence); });
  of.samples = static_cast<std::size_t>(
      std::count_if(samples_.begin(), samples_.end(), [row](const Sample& each) { return each.row == row; }));
}

void Recorder::keep_event(const Event& event) {
  const std::uint64_t passed = event.end - event.begin;
  if (passed < least_event_) {
    ++left_out_;
    return;
  }
  if (events_.size() == events_max_) {
    least_event_ = std::max<std::uint64_t>(2 * least_event_, ticks_in(200));
    left_out_ += std::erase_if(events_, [this](const Event& each) { return each.end - each.begin < least_event_; });
    if (events_.size() == events_max_) return keep_event(event);
  }
  events_.push_back(event);
}

void Recorder::record(const Call& call, std::uint64_t end) {
  const std::lock_guard lock(mutex);
  Row::Key key;
  key.site = sites_.of(call.site_, call.frame_);
  key.communicator = communicator_of(call);
  key.function = call.function_;
  key.algorithm = call.algorithm_;
  key.parameter_name = call.parameter_name_;
  key.parameter = call.parameter_;
  key.reason = call.reason_;
  key.kept = call.kept_;
  key.way = call.way_;
  key.is_for_comparison = call.is_for_comparison_;
  if (call.varies_)
    key.size_class = varying_class;
  else if (call.has_bytes_ || call.bytes_ > 0)
    key.size_class = static_cast<std::int16_t>(size_class_of(call.bytes_));
  const std::uint32_t number = row_of(key, call.category_);
  Row& row = rows_[number];
  const std::uint64_t passed = end > call.begin_ ? end - call.begin_ : 0;
  ++row.calls;
  row.bytes += call.bytes_;
  row.ticks += passed;
  row.least = std::min(row.least, passed);
  if (passed >= row.most) row.most = passed, row.most_at = call.begin_;
  if (call.come_ > call.begin_) row.waited += call.come_ - call.begin_;
  filling_.add(call.begin_, end, call.category_);
  keep_event({call.begin_, end, number, this_thread()});
  if (key.communicator >= communicators_.size()) return;
  Communicator& on = communicators_[key.communicator];
  if (call.category_ == Category::collective) {
    keep_sample(number, {call.begin_, end, on.collectives, number, call.root_});
    ++on.collectives;
  }
  if (call.category_ == Category::message && call.peer_ >= 0 &&
      static_cast<std::size_t>(call.peer_) < on.in_world.size() && call.sends()) {
    Sent& sent = sent_[on.in_world[static_cast<std::size_t>(call.peer_)]];
    ++sent.messages;
    sent.bytes += call.bytes_;
  }
}

}  // namespace tutti::mpi::profile
