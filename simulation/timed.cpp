#include "simulation/timed.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace tutti::simulated {

namespace {

constexpr int line_bits = 6, page_bits = 12, chunk_bits = 21;
constexpr std::size_t line_bytes = std::size_t{1} << line_bits, page_bytes = std::size_t{1} << page_bits;
/// Longer copies are made in pieces, between which others go on.
constexpr std::size_t piece_bytes = std::size_t{16} << 10;
/// More bytes are not moved in truth: no algorithm looks at so much.
constexpr std::size_t moved_max = std::size_t{64} << 10;
/// Of what was stored past a rank's caches the program waits for so much; the rest comes ahead of it.
constexpr double waited_for = selection::waited_for;

using topology::Distance;
using topology::index_of;
using topology::LevelKind;

std::uintptr_t address_of(const void* at) {
  return reinterpret_cast<std::uintptr_t>(at);
}

}  // namespace

struct Timed::Chunk {
  std::array<Page, std::size_t{1} << (chunk_bits - page_bits)> pages;
};

Timed::Timed(const selection::Model& model, const Parameters& parameters, const topology::Placement& placement,
             int nodes)
    : Simulator(static_cast<int>(placement.ranks.size()) * nodes),
      model_(model),
      with_(parameters),
      places_(static_cast<int>(placement.ranks.size())),
      clock_(ranks_.size()),
      cores_(ranks_.size()) {
  if (places_ > places_max)
    throw std::invalid_argument("more than " + std::to_string(places_max) + " ranks of a node are not simulated");
  int last_core = 0;
  for (int place = 0; place < places_; ++place) {
    const topology::Domains& domain = placement.ranks[static_cast<std::size_t>(place)].domain;
    const auto number = [&](LevelKind kind, int otherwise) {
      const int found = domain[topology::index_of(kind)];
      return found >= 0 ? found : otherwise;
    };
    const int core = placement.ranks[static_cast<std::size_t>(place)].core;
    where_.push_back({number(LevelKind::l3, number(LevelKind::l2, place)), number(LevelKind::numa, 0),
                      number(LevelKind::socket, 0), core >= 0 ? core : place});
    last_core = std::max(last_core, where_.back().core);
    caches_ = std::max(caches_, where_.back().cache + 1);
    numas_ = std::max(numas_, where_.back().numa + 1);
    sockets_ = std::max(sockets_, where_.back().socket + 1);
  }
  for (const topology::RankPlace& a : placement.ranks)
    for (const topology::RankPlace& b : placement.ranks) distances_.push_back(topology::distance_between(a, b));
  near_.resize(static_cast<std::size_t>(places_));
  for (int a = 0; a < places_; ++a)
    for (int b = 0; b < places_; ++b)
      for (std::size_t i = index_of(distance(a, b)); i < topology::distance_count; ++i)
        near_[static_cast<std::size_t>(a)][i].set(static_cast<std::size_t>(b));
  const auto of_all = [&](int each) { return static_cast<std::size_t>(each * nodes); };
  rank_port_.resize(ranks_.size());
  core_port_.resize(of_all(last_core + 1));
  cache_port_.resize(of_all(caches_));
  cache_stream_.resize(of_all(caches_));
  cache_touched_.resize(of_all(caches_));
  node_port_.resize(of_all(numas_));
  link_.resize(of_all(sockets_ * sockets_));
  total_.resize(of_all(1));
  stream_.resize(of_all(1));
}

Timed::~Timed() = default;

// Who runs.

void Timed::at(double seconds, std::function<void()> happens) {
  timers_.push({seconds, happening_});
  happenings_.emplace(happening_++, std::move(happens));
}

/// Those that are over by then, unless somebody is ready who is earlier: who is behind has yet to find out for what it
/// waits.
void Timed::fire(double until) {
  while (!timers_.empty() && timers_.top().first <= until &&
         (queue_.empty() || timers_.top().first <= queue_.top().first)) {
    const auto [at, rank] = timers_.top();
    timers_.pop();
    if (rank < 0) {
      happenings_.extract(rank).mapped()();
      continue;
    }
    const auto i = static_cast<std::size_t>(rank);
    if (ranks_[i].state != State::parked) {
      // It may have looked for this before, in the poll that it is in.
      cores_[i].has_missed = true;
      continue;
    }
    clock_[i] = std::max(clock_[i], at);
    is_firing_ = true;
    unpark(rank);
    is_firing_ = false;
  }
}

bool Timed::later() {
  while (queue_.empty() && !timers_.empty()) fire(timers_.top().first);
  return !queue_.empty();
}

int Timed::next() {
  fire(queue_.top().first);
  const int rank = queue_.top().second;
  queue_.pop();
  return rank;
}

void Timed::became_ready(int rank) {
  const auto i = static_cast<std::size_t>(rank);
  Core& core = cores_[i];
  if (rank != current()) {
    if (current() >= 0 && !is_firing_) clock_[i] = std::max(clock_[i], seconds());
    core.asked_at = -1;
    if (const double since = std::exchange(core.parked_at, -1); spans_ && since >= 0 && clock_[i] > since)
      spans_->push_back({rank, Span::Kind::wait, since, clock_[i], 0, is_firing_ ? -1 : current()});
  }
  queue_.push({clock_[i], rank});
}

bool Timed::has_missed() {
  return std::exchange(cores_[static_cast<std::size_t>(current())].has_missed, false);
}

void Timed::parks() {
  cores_[static_cast<std::size_t>(current())].parked_at = seconds();
}

void Timed::all_met() {
  const double latest = *std::max_element(clock_.begin(), clock_.end());
  std::fill(clock_.begin(), clock_.end(), latest);
  for (Core& core : cores_) core.asked_at = -1;
}

void Timed::in_order() {
  ++events_;
  fire(seconds());
  if (!queue_.empty() && queue_.top().first < seconds()) give_way();
}

// Prices.

double Timed::hop(Distance apart) const {
  const double factors[] = {1, model_.hop_numa, model_.hop_socket, model_.hop_machine};
  return model_.hop * factors[index_of(apart)];
}
double Timed::byte_factor(Distance apart) const {
  const double factors[] = {1, model_.byte_numa, model_.byte_socket, model_.byte_machine};
  return factors[index_of(apart)];
}
double Timed::store_factor(Distance apart) const {
  const double factors[] = {1, model_.store_numa, model_.store_socket, model_.store_machine};
  return factors[index_of(apart)];
}
double Timed::memory_factor(Distance apart) const {
  const double factors[] = {1, 1, model_.memory_socket, model_.memory_machine};
  return factors[index_of(apart)];
}

// Lines.

Timed::Page& Timed::page(std::uintptr_t number) {
  const std::uintptr_t chunk = number >> (chunk_bits - page_bits);
  if (!last_ || chunk != last_chunk_) {
    auto& found = chunks_[chunk];
    if (!found) found = std::make_unique<Chunk>();
    last_chunk_ = chunk;
    last_ = found.get();
  }
  return last_->pages[number & ((std::uintptr_t{1} << (chunk_bits - page_bits)) - 1)];
}

template <class With>
void Timed::each(const void* at, std::size_t bytes, With with) {
  std::uintptr_t from = address_of(at);
  const std::uintptr_t end = from + bytes;
  while (from < end) {
    const std::uintptr_t after = std::min(end, (from | (page_bytes - 1)) + 1);
    Page& here = page(from >> page_bits);
    if (!here.lines && after - from == page_bytes) {
      with(here.all, page_bytes);
      from = after;
      continue;
    }
    const bool is_whole = after - from == page_bytes;
    if (!here.lines) {
      here.lines = std::make_unique<std::array<Line, 64>>();
      here.lines->fill(here.all);
    }
    while (from < after) {
      const std::uintptr_t next = std::min(after, (from | (line_bytes - 1)) + 1);
      with((*here.lines)[from >> line_bits & 63], next - from);
      from = next;
    }
    if (is_whole && is_alike(*here.lines)) {
      here.all = here.lines->back();
      here.lines.reset();
    }
  }
}

bool Timed::is_alike(const std::array<Line, 64>& lines) {
  return std::all_of(lines.begin(), lines.end(), [&](const Line& line) {
    return line.writer == lines[0].writer && line.holders == lines[0].holders && line.home == lines[0].home;
  });
}

Timed::Line& Timed::line(std::uintptr_t address) {
  Page& here = page(address >> page_bits);
  if (!here.lines) {
    here.lines = std::make_unique<std::array<Line, 64>>();
    here.lines->fill(here.all);
  }
  return (*here.lines)[address >> line_bits & 63];
}

bool Timed::is_in_private(const Line& line) const {
  const Core& core = cores_[static_cast<std::size_t>(base() + line.writer)];
  return static_cast<double>(core.touched - line.at_core) <= model_.private_cache;
}

bool Timed::is_in_cache(const Line& line) const {
  const double room = with_.l3_bytes > 0 ? with_.l3_bytes : model_.shared_cache / caches_;
  return static_cast<double>(cache_touched_[cache_index(line.writer)] - line.at_cache) <= room;
}

Timed::Found Timed::find(const Line& line) const {
  const int self = me();
  const auto from_memory = [&] {
    return Found{Place::memory, line.home >= 0 ? distance(self, line.home) : Distance::cache, line.home};
  };
  if (line.writer < 0) return from_memory();
  const bool is_private = is_in_private(line);
  if (line.holders.test(static_cast<std::size_t>(self)) && (is_private || line.writer != self))
    return {Place::own, Distance::cache, self};
  if (!is_private && !is_in_cache(line)) return from_memory();
  // What a neighbour has fetched, too, and what has left its core for the cache that both share, comes from there; else
  // who has stored it gives it.
  const Cores there = line.holders & near_[static_cast<std::size_t>(self)][index_of(Distance::cache)];
  if (const auto count = there.count();
      count > 1 || (count == 1 && (!is_private || line.writer != static_cast<int>(there._Find_first()))))
    return {Place::shared_cache, Distance::cache, static_cast<int>(there._Find_first())};
  if (line.holders.test(static_cast<std::size_t>(line.writer)))
    return {Place::core, distance(self, line.writer), line.writer};
  return from_memory();
}

double Timed::price_of_reading(const Found& found) const {
  switch (found.place) {
    case Place::own:
      return model_.copy_byte;
    case Place::shared_cache:
      return found.rank == me() || with_.l3_byte <= 0 ? model_.spilled_byte : with_.l3_byte;
    case Place::core:
      return model_.remote_byte * byte_factor(found.distance);
    default:
      return std::max(model_.memory_byte, model_.spilled_byte) * memory_factor(found.distance);
  }
}

bool Timed::others(const Line& line, Distance& farthest) const {
  const auto& near = near_[static_cast<std::size_t>(me())];
  Cores them = line.holders;
  them.reset(static_cast<std::size_t>(me()));
  if (them.none()) return false;
  std::size_t i = 0;
  while (i + 1 < topology::distance_count && (them & ~near[i]).any()) ++i;
  farthest = static_cast<Distance>(i);
  return true;
}

bool Timed::is_contested(const Line& line, Distance& farthest) const {
  if (line.writer < 0 || !others(line, farthest)) return false;
  // What has left its core for a common cache is there for all that share it; cores elsewhere have to give it up.
  return is_in_private(line) || (farthest != Distance::cache && is_in_cache(line));
}

double Timed::price_of_storing(const Line& line) const {
  if (line.writer < 0) return std::max(model_.copy_byte, with_.writeback * model_.memory_byte);
  if (is_in_private(line) && line.writer == me()) return model_.copy_byte;
  return is_in_cache(line) ? model_.spilled_byte : std::max(model_.spilled_byte, with_.writeback * model_.memory_byte);
}

double Timed::price_of_writing(const Line& line) const {
  Distance farthest;
  if (!is_contested(line, farthest)) return price_of_storing(line);
  const double factor = store_factor(farthest);
  if (line.writer == me()) return model_.slot_byte + (factor - 1) * std::max(model_.write_byte, model_.left_byte);
  return model_.write_byte * factor;
}

void Timed::comes(std::size_t bytes) {
  cores_[static_cast<std::size_t>(current())].touched += bytes;
  cache_touched_[cache_index(me())] += bytes;
}

void Timed::is_used(Line& line) {
  line.at_core = cores_[static_cast<std::size_t>(current())].touched;
  line.at_cache = cache_touched_[cache_index(me())];
}

void Timed::is_mine(Line& line, double there_at) {
  line.holders.reset();
  line.holders.set(static_cast<std::size_t>(me()));
  line.writer = static_cast<std::int16_t>(me());
  is_used(line);
  line.there_at = line.free_at = there_at;
  line.come_at = 0;
}

void Timed::through(Server& server, double seconds, double begin, Cost& cost) {
  server.free_at = std::max(begin, server.free_at) + seconds;
  cost.served = std::max(cost.served, server.free_at);
}

void Timed::serve(const Found& found, double bytes, double begin, Cost& cost) {
  if (found.place == Place::own || found.rank < 0) return;
  const auto of_node = [&](std::vector<Server>& all, int number) -> Server& {
    const std::size_t each = all.size() / (ranks_.size() / static_cast<std::size_t>(places_));
    return all[static_cast<std::size_t>(node_of(current())) * each + static_cast<std::size_t>(number)];
  };
  const Where &there = where_[static_cast<std::size_t>(found.rank)], &here = where_[static_cast<std::size_t>(me())];
  if (found.place == Place::core) through(of_node(rank_port_, found.rank), bytes * model_.rank_byte, begin, cost);
  if (found.place != Place::memory && found.distance == Distance::cache) {
    through(of_node(cache_port_, here.cache), bytes * model_.node_byte, begin, cost);
    return;
  }
  through(of_node(node_port_, there.numa), bytes * model_.node_byte, begin, cost);
  if (there.socket != here.socket)
    through(of_node(link_, there.socket * sockets_ + here.socket), bytes * model_.link_byte, begin, cost);
  through(of_node(total_, 0), bytes * model_.total_byte, begin, cost);
  if (found.place == Place::memory) through(of_node(stream_, 0), bytes * model_.streams_byte, begin, cost);
}

// What is done to bytes.

void Timed::read(const void* at, std::size_t bytes, double begin, Use use, Cost& cost) {
  Core& core = cores_[static_cast<std::size_t>(current())];
  double waits = 0;  // for what is in memory
  each(at, bytes, [&](Line& line, std::size_t part) {
    const Found found = find(line);
    const auto n = static_cast<double>(part);
    double price = price_of_reading(found);
    if (use == Use::reduce)
      price = found.place == Place::own ? model_.reduce_byte : std::max(price * with_.combine, model_.reduce_byte);
    if (use == Use::kernel) price = model_.kernel_byte + std::max(0.0, price - model_.remote_byte);
    if (use == Use::program) {
      price = with_.use_byte;
      if (found.place == Place::core) price += model_.found_byte * store_factor(found.distance);
      if (found.place == Place::shared_cache || found.place == Place::memory)
        price = std::max(price, model_.spilled_byte);
      if (found.place == Place::memory && line.writer < 0 && line.home >= 0) {
        const double waited = std::min(n, std::max(0.0, waited_for - waits));
        waits += n;
        price += waited / n * model_.found_streamed_byte * memory_factor(found.distance);
      }
    }
    cost.seconds += n * price;
    if (found.place == Place::own) {
      if (line.writer == me()) is_used(line);
      return;
    }
    comes(part);
    if (line.writer == me()) is_used(line);
    serve(found, n, begin, cost);
    if (found.rank != me() && found.place != Place::memory) {
      if (cost.peer < 0) {
        // The first line has to come; others do meanwhile.
        const double way = (1 - with_.of_store) * hop(found.distance);
        const bool is_under_way = core.asked_at >= 0 && begin < core.asked_until - with_.of_store * hop(found.distance);
        cost.latency = std::max(cost.latency, is_under_way ? with_.next_look * model_.hop : way);
        if (use != Use::program) {
          core.asked_at = begin;
          core.asked_until = std::max(core.asked_until, begin + hop(found.distance));
        }
      }
      cost.peer = base() + found.rank;
      cost.latency = std::max(cost.latency, line.there_at - begin);
    }
    // What a neighbour is fetching is not there before.
    if (found.place == Place::shared_cache) cost.served = std::max(cost.served, line.come_at);
    if (line.writer < 0) {
      is_mine(line, begin);
    } else {
      line.holders.set(static_cast<std::size_t>(me()));
    }
    if (found.place != Place::shared_cache) line.come_at = std::max(begin + cost.latency + cost.seconds, cost.served);
  });
}

void Timed::write(const void* at, std::size_t bytes, double begin, Move how, Use use, Cost& cost) {
  Core& core = cores_[static_cast<std::size_t>(current())];
  bool is_first = true;
  each(at, bytes, [&](Line& line, std::size_t part) {
    const auto n = static_cast<double>(part);
    if (how == Move::streaming && part >= line_bytes) {
      const int home = line.home >= 0 ? line.home : me();
      cost.seconds += n * model_.stream_byte * memory_factor(distance(me(), home));
      if (home != me()) cost.peer = base() + home;
      const auto node = static_cast<std::size_t>(node_of(current()));
      through(cache_stream_[cache_index(me())], n * model_.cache_streams_byte, begin, cost);
      through(stream_[node], n * model_.streams_byte, begin, cost);
      line.holders.reset();
      line.writer = -1;
      line.home = static_cast<std::int16_t>(home);
      return;
    }
    double price = price_of_writing(line);
    if (use == Use::program) {
      Distance farthest;
      const double left = is_contested(line, farthest) ? model_.left_byte * store_factor(farthest) : 0;
      price = std::max(with_.fill_byte + left, price_of_storing(line));
    }
    if (Distance farthest; std::exchange(is_first, false) && line.writer >= 0 && others(line, farthest))
      cost.latency = hop(farthest) * (line.writer == me() ? with_.of_store : with_.of_foreign);
    if (line.writer >= 0 && line.writer != me()) {
      cost.peer = base() + line.writer;
      if (use != Use::program) serve({Place::core, distance(me(), line.writer), line.writer}, n, begin, cost);
    }
    cost.seconds += n * price;
    if (line.home < 0) line.home = static_cast<std::int16_t>(me());
    if (line.writer != me() || !is_in_private(line)) comes(part);
    is_mine(line, std::max(begin, core.stored_at));
  });
}

void Timed::owns(const void* at, std::size_t bytes) {
  each(at, bytes, [&](Line& line, std::size_t) {
    line = {};
    line.home = static_cast<std::int16_t>(me());
  });
}

void Timed::fills(const void* at, std::size_t bytes) {
  for (std::size_t done = 0, part = 0; done < bytes; done += part) {
    part = std::min(bytes - done, 4 * piece_bytes);
    in_order();
    Cost cost;
    write(static_cast<const std::byte*>(at) + done, part, seconds(), Move::cached, Use::program, cost);
    spend(cost.seconds);
  }
}

void Timed::uses(const void* at, std::size_t bytes) {
  for (std::size_t done = 0, part = 0; done < bytes; done += part) {
    part = std::min(bytes - done, 4 * piece_bytes);
    in_order();
    Cost cost;
    const double begin = seconds();
    read(static_cast<const std::byte*>(at) + done, part, begin, Use::program, cost);
    spend(cost.latency + cost.seconds);
  }
}

void Timed::received(const void* at, std::size_t bytes) {
  if (bytes == 0) return;
  spend(with_.message);
  each(at, bytes, [&](Line& line, std::size_t) {
    if (line.home < 0) line.home = static_cast<std::int16_t>(me());
    is_mine(line, seconds());
  });
}

void Timed::finish(double begin, const Cost& reading, const Cost& writing, double least) {
  Core& core = cores_[static_cast<std::size_t>(current())];
  const double far_read = std::max(0.0, reading.seconds - least), far_write = std::max(0.0, writing.seconds - least);
  const double core_end = begin + reading.latency + std::max(least, reading.seconds);
  const double all =
      begin + reading.latency + least + std::max(far_read, far_write) + with_.overlap * std::min(far_read, far_write);
  const double served = std::max(reading.served, writing.served);
  // Stores do not hold up their core unless too many are under way.
  core.stored_at = std::max(core.stored_at, begin) + writing.latency + std::max(0.0, all - core_end);
  core.stored_at = std::max({core.stored_at, all, served});
  Cost of_core;
  const std::size_t number = core_port_.size() / (ranks_.size() / static_cast<std::size_t>(places_));
  through(core_port_[static_cast<std::size_t>(node_of(current())) * number +
                     static_cast<std::size_t>(where_[static_cast<std::size_t>(me())].core)],
          with_.thread * (core_end - begin - reading.latency), begin, of_core);
  now() = std::max({core_end, core.stored_at - waits_for_stores_, reading.served, of_core.served});
}

void Timed::copy(void* destination, const void* source, std::size_t bytes, Move how) {
  if (bytes == 0 || destination == source) return;
  const double start = seconds();
  int peer = -1;
  for (std::size_t done = 0, part = 0; done < bytes; done += part) {
    part = std::min(bytes - done, piece_bytes);
    in_order();
    if (done == 0) spend(with_.copy_start);
    const double begin = seconds();
    Cost reading, writing;
    read(static_cast<const std::byte*>(source) + done, part, begin, Use::copy, reading);
    write(static_cast<std::byte*>(destination) + done, part, begin, how, Use::copy, writing);
    const auto n = static_cast<double>(part);
    const double least = n * model_.copy_byte;
    if (done > 0) reading.latency = 0;
    waits_for_stores_ =
        std::min(with_.pending, n) / n * std::max(0.0, writing.seconds - std::max(least, reading.seconds));
    finish(begin, reading, writing, least);
    peer = std::max({peer, reading.peer, writing.peer});
  }
  noted(Span::Kind::copy, start, bytes, peer);
  if (bytes <= moved_max) std::memmove(destination, source, bytes);
}

void Timed::copy_by_kernel(bool reads, void* destination, const void* source, std::size_t bytes) {
  const double start = seconds();
  in_order();
  spend(model_.kernel_start);
  const int home = line(address_of(reads ? source : destination)).home;
  std::vector<double>* const locks =
      home >= 0 && home != me() ? &cores_[static_cast<std::size_t>(base() + home)].locks : nullptr;
  int peer = home >= 0 ? base() + home : -1;
  for (std::size_t done = 0, part = 0; done < bytes; done += part) {
    part = std::min(bytes - done, piece_bytes);
    in_order();
    if (locks) {
      // Of those who have the lock of these pages now, and oneself.
      std::erase_if(*locks, [&](double until) { return until <= seconds(); });
      const double pages = std::ceil(static_cast<double>(part) / model_.page_bytes);
      spend(pages * model_.kernel_page * model_.gamma(1.0 + static_cast<double>(locks->size())));
    }
    const double begin = seconds();
    Cost reading, writing;
    read(static_cast<const std::byte*>(source) + done, part, begin, Use::kernel, reading);
    write(static_cast<std::byte*>(destination) + done, part, begin, Move::cached, Use::kernel, writing);
    const auto n = static_cast<double>(part);
    if (!reads) writing.seconds = std::max(writing.seconds, n * model_.kernel_write_byte);
    if (done > 0) reading.latency = 0;
    waits_for_stores_ = 0;
    finish(begin, reading, writing, n * std::min(model_.kernel_byte, model_.copy_byte));
    if (locks) locks->push_back(seconds());
  }
  noted(Span::Kind::kernel, start, bytes, peer);
  if (bytes <= moved_max) std::memmove(destination, source, bytes);
}

void Timed::reduces(const void* destination, const void* const* sources, std::size_t source_count, std::size_t bytes) {
  const double start = seconds();
  int peer = -1;
  for (std::size_t done = 0, part = 0; done < bytes; done += part) {
    part = std::min(bytes - done, std::max(page_bytes, piece_bytes / source_count / page_bytes * page_bytes));
    in_order();
    if (done == 0) spend(with_.copy_start);
    const double begin = seconds();
    Cost reading, writing;
    const auto n = static_cast<double>(part);
    for (std::size_t i = 0; i < source_count; ++i)
      read(static_cast<const std::byte*>(sources[i]) + done, part, begin, Use::reduce, reading);
    write(destination ? static_cast<const std::byte*>(destination) + done : nullptr, part, begin, Move::cached,
          Use::reduce, writing);
    const double least = n * static_cast<double>(source_count) * model_.reduce_byte;
    writing.seconds += std::max(0.0, least - n * model_.copy_byte);
    if (done > 0) reading.latency = 0;
    waits_for_stores_ =
        std::min(with_.pending, n) / n * std::max(0.0, writing.seconds - std::max(least, reading.seconds));
    finish(begin, reading, writing, least);
    peer = std::max(peer, reading.peer);
  }
  noted(Span::Kind::reduce, start, bytes, peer);
}

void Timed::take(std::byte* begin, std::size_t bytes) {
  const double start = seconds();
  for (std::size_t done = 0, part = 0; done < bytes; done += part) {
    part = std::min(bytes - done, piece_bytes);
    in_order();
    Cost cost;
    each(begin + done, part, [&](Line& line, std::size_t n) {
      Distance farthest = Distance::cache;
      const bool is_others = others(line, farthest);
      cost.seconds += static_cast<double>(n) * model_.take_byte * (is_others ? store_factor(farthest) : 0.5);
      is_mine(line, seconds());
    });
    spend(cost.seconds);
  }
  noted(Span::Kind::store, start, bytes);
}

void Timed::fence() {
  Core& core = cores_[static_cast<std::size_t>(current())];
  now() = std::max(now(), core.stored_at);
}

// Words.

void Timed::fetch(Line& line, std::uintptr_t number) {
  Core& core = cores_[static_cast<std::size_t>(current())];
  const auto self = static_cast<std::size_t>(me());
  if (line.writer < 0 || line.holders.test(self)) {
    spend(with_.step);
    return;
  }
  const Found found = find(line);
  const double way = (1 - with_.of_store) * hop(found.distance);
  double issued = now();
  // Asked for while the line before was under way.
  if (core.asked_at >= 0 && issued <= core.asked_until)
    issued = std::min(issued, std::max(core.asked_at + with_.next_look * model_.hop, line.there_at));
  const double apart = with_.next_reader * model_.hop;
  double arrives = 0;
  if (caches_ == 1) {
    arrives = std::max({issued, line.there_at, line.free_at});
    line.free_at = arrives + apart;
    arrives += way;
  } else {
    // One reader of a cache fetches it for the others.
    auto& copies = copies_[number];
    if (const double stored = line.there_at; !copies.empty() && copies.front().ready_at < stored) copies.clear();
    const int cache = static_cast<int>(cache_index(me()));
    const auto copy = std::find_if(copies.begin(), copies.end(), [&](const In& each) { return each.cache == cache; });
    if (copy != copies.end()) {
      arrives = std::max({issued, copy->ready_at, copy->free_at});
      copy->free_at = arrives + apart;
      arrives += (1 - with_.of_store) * model_.hop;
    } else {
      arrives = std::max({issued, line.there_at, line.free_at});
      line.free_at = arrives + apart;
      arrives += way;
      if (static_cast<std::size_t>(cache) != cache_index(line.writer)) copies.push_back({cache, arrives, arrives});
    }
  }
  core.asked_at = issued;
  core.asked_until = std::max(core.asked_until, issued + hop(found.distance));
  line.holders.set(self);
  now() = std::max(now() + with_.step, arrives);
}

void Timed::take_line(Line& line) {
  Core& core = cores_[static_cast<std::size_t>(current())];
  const bool are_under_way = core.stored_at > now();
  const double begin = std::max(now(), core.stored_at);
  Distance farthest = Distance::cache;
  if (line.writer < 0 || !others(line, farthest)) {
    core.stored_at = std::max(begin, line.writer == me() ? line.there_at : 0);
  } else {
    const double whole = line.writer == me() ? with_.of_store : 1;
    core.stored_at = begin + hop(farthest) * whole * (are_under_way ? with_.next_store / with_.of_store : 1);
  }
  is_mine(line, core.stored_at);
}

void Timed::loads(const void* word, std::size_t) {
  in_order();
  const std::uintptr_t at = address_of(word);
  fetch(line(at), at >> line_bits);
}

void Timed::stores(const void*, std::size_t) {
  running().has_acted = true;
  in_order();
}

void Timed::stored(const void* word, std::size_t, std::memory_order) {
  spend(with_.step);
  take_line(line(address_of(word)));
  changed(word);
}

void Timed::expects(const void* word) {
  in_order();
  Line& ahead = line(address_of(word));
  Distance farthest = Distance::cache;
  if (!others(ahead, farthest)) return;
  is_mine(ahead, now() + with_.of_store * hop(farthest));
}

}  // namespace tutti::simulated
