#include "mpi/start/job_call.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <thread>

namespace tutti::mpi {

namespace {

constexpr const char* all_do = "all";
constexpr const char* some_do_not = "some";
/// How many names are tried in a row of which nobody has said that they should be there.
constexpr int guesses = 16;
/// Launchers have been seen to take a tenth of a millisecond for a name; this is what is reckoned with before it is known, for each
/// node.
constexpr double seconds_a_node = 0.25e-3;
/// Others ask no more rarely than this, for each node: then even a launcher that takes milliseconds for a name has time for
/// rank 0.
constexpr double longest_pause_a_node = 16e-3;
constexpr double patience_a_node = 10e-3;

class RealTime : public Time {
 public:
  double now() override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  void pause(double seconds) override { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }
};

}  // namespace

Time& Time::real() {
  static RealTime the_time;
  return the_time;
}

std::string JobCall::name_of(int rank) const {
  return "tutti-start-" + self_.job + "-" + std::to_string(rank);
}

std::string JobCall::verdict() const {
  return "tutti-start-" + self_.job + "-verdict";
}

double JobCall::nodes() const {
  return std::ceil(static_cast<double>(self_.ranks) / self_.local_ranks);
}

double JobCall::patience() const {
  return patience_ + nodes() * patience_a_node;
}

bool JobCall::leave(const std::string& name, const std::string& value) {
  const double begin = time_.now();
  if (!names_.publish(name, value)) return false;
  took_ = time_.now() - begin;
  left_.push_back(name);
  return true;
}

void JobCall::forget() {
  for (const std::string& name : left_) names_.withdraw(name);
  left_.clear();
}

bool JobCall::all_take_part() {
  // No space in it: the launcher's messages are lines of words.
  if (!leave(name_of(self_.rank), std::to_string(self_.local_ranks) + "." + std::to_string(self_.version)))
    return go_without_name();
  return self_.rank == 0 ? judge() : obey();
}

void JobCall::refuse() {
  if (self_.rank == 0)
    give_verdict(false);
  else
    leave(name_of(self_.rank), "0." + std::to_string(self_.version));
}

bool JobCall::give_up(const std::string& why) {
  why_not_ = why;
  forget();
  return false;
}

/// If the launcher has taken the names of others, these will miss this one.
bool JobCall::go_without_name() {
  const double begin = time_.now();
  const double longest = std::min(1.0, patience_);
  for (double pause = 1e-3; time_.now() - begin < longest; pause *= 2) {
    for (const int rank : {0, self_.rank + self_.local_ranks, self_.rank - self_.local_ranks}) {
      if (rank == self_.rank || rank < 0 || rank >= self_.ranks || !names_.look_up(name_of(rank))) continue;
      if (self_.rank == 0) give_verdict(false);
      return give_up("the launcher did not take the name by which this node tells the others that it is there");
    }
    time_.pause(pause);
  }
  keeps_names_ = false;
  return true;
}

/// What the first rank of a node has left; nothing if this is none, or has not left anything yet.
std::optional<JobCall::Node> JobCall::node_at(int rank) {
  const auto value = names_.look_up(name_of(rank));
  Node node{rank, 0, 0};
  unsigned long long version = 0;
  if (!value || std::sscanf(value->c_str(), "%d.%llu", &node.ranks, &version) != 2) return std::nullopt;
  node.version = version;
  return node;
}

/// Where ranks follow each other on a node, the next begins where it ends: one after the other, as long as they are there.
JobCall::Found JobCall::look_along(int rank) {
  Found found = Found::nothing;
  while (rank < self_.ranks && there_ < self_.ranks && firsts_.count(rank) == 0) {
    const auto node = node_at(rank);
    if (!node) {
      ends_.push_back(rank);
      break;
    }
    if (node->version != self_.version) return Found::another_version;
    if (node->ranks <= 0) return Found::refusal;
    firsts_.insert(rank);
    there_ += node->ranks;
    rank += node->ranks;
    found = Found::more;
  }
  return there_ == self_.ranks ? Found::everybody : found;
}

/// Looks for nodes that are not known yet. For other orders of ranks all are tried in turn, some in each call.
JobCall::Found JobCall::look_around() {
  Found result = Found::nothing;
  const auto is_over = [&](Found found) {
    if (found != Found::nothing) result = found;
    return found != Found::nothing && found != Found::more;
  };
  for (const int end : std::exchange(ends_, {}))
    if (is_over(look_along(end))) return result;
  if (result == Found::more) return result;
  for (int i = 0; i < guesses && next_ < self_.ranks; ++i, ++next_) {
    if (firsts_.count(next_) || std::find(ends_.begin(), ends_.end(), next_) != ends_.end()) continue;
    const std::size_t before = ends_.size();
    const Found found = look_along(next_);
    // Where it was a guess, nobody is missed.
    if (found == Found::nothing) ends_.resize(before);
    if (is_over(found)) return result;
  }
  if (next_ >= self_.ranks) next_ = 1;
  return result;
}

/// By rank 0.
bool JobCall::judge() {
  there_ = self_.local_ranks;
  ends_ = {self_.local_ranks};
  double last_found = time_.now();
  double slowest = 0;  ///< seconds that one look around took
  for (;;) {
    const double begin = time_.now();
    const Found found = look_around();
    const double end = time_.now();
    slowest = std::max(slowest, end - begin);
    switch (found) {
      case Found::everybody:
        return give_verdict(true);
      case Found::more:
        last_found = end;
        continue;
      case Found::another_version:
        why_not_ = "another version of Tutti is on another node";
        return give_verdict(false);
      case Found::refusal:
        why_not_ = "some ranks of another node do not call MPI_Init through Tutti";
        return give_verdict(false);
      case Found::nothing:
        break;
    }
    if (end - last_found > patience() + 2 * slowest) {
      why_not_ = "of the job's " + std::to_string(self_.ranks) + " ranks only " + std::to_string(there_) + ", on " +
                 std::to_string(firsts_.size() + 1) + (firsts_.empty() ? " node" : " nodes") +
                 ", called MPI_Init through Tutti";
      return give_verdict(false);
    }
    // So that at most half of the launcher's time is spent on this.
    time_.pause(std::max(1e-3, end - begin));
  }
}

bool JobCall::give_verdict(bool all) {
  if (leave(verdict(), all ? all_do : some_do_not)) return all;
  // Without rank 0's name the others know that there will be none.
  return give_up("the launcher did not take the name by which rank 0 tells the other nodes that all take part");
}

/// By the other ranks that are the first of a node.
bool JobCall::obey() {
  constexpr int asks_a_look = 4;        // how often they ask before they look again whether rank 0 is still there
  constexpr double most_patience = 60;  // times as long for a verdict as for rank 0
  const double begin = time_.now();
  bool rank_0_is_there = false;
  // What the launcher takes for one answer: a part of it is the queue of those who ask.
  double slowest = took_, fastest = took_;
  const auto look_for_rank_0 = [&] {
    const double asked = time_.now();
    const bool found = names_.look_up(name_of(0)).has_value();
    slowest = std::max(slowest, time_.now() - asked);
    fastest = std::min(fastest, time_.now() - asked);
    return found;
  };
  // Rank 0 needs some time for each node, and not all are to ask at once. All leave their names at once.
  double pause = std::max(nodes() * seconds_a_node, 2 * took_);
  time_.pause((1 + index() / nodes()) * pause);
  for (int asked = 1;; ++asked) {
    bool is_last_look = false;
    if (!rank_0_is_there || asked % asks_a_look == 0) {
      const bool found = look_for_rank_0();
      is_last_look = rank_0_is_there && !found;
      rank_0_is_there = found;
    }
    const double waited = time_.now() - begin;
    if (!rank_0_is_there && !is_last_look && waited > patience() + 4 * slowest) {
      forget();
      rank_0_is_there = look_for_rank_0();
      is_last_look = !rank_0_is_there;
    }
    is_last_look = is_last_look || waited > most_patience * (patience() + 4 * slowest);
    if (const auto said = names_.look_up(verdict())) {
      if (*said == all_do) return true;
      forget();
      return false;
    }
    if (is_last_look) return give_up("rank 0 did not call MPI_Init through Tutti, or has given up");
    time_.pause(pause);
    pause = std::min(1.5 * pause, std::max(20e-3, nodes() * std::max(longest_pause_a_node, 4 * fastest)));
  }
}

}  // namespace tutti::mpi
