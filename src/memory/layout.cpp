#include "memory/layout.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "base/copy.h"

namespace tutti::memory {

bool Layout::repeat(std::size_t count, std::ptrdiff_t distance) {
  if (count == 1) return true;
  const auto follows = [&](std::size_t bytes) { return distance == static_cast<std::ptrdiff_t>(bytes); };
  if (loops_ == 0 && follows(run_)) {
    run_ *= count;
    return true;
  }
  if (loops_ > 0) {
    Loop& outermost = loop_[loops_ - 1];
    if (distance == static_cast<std::ptrdiff_t>(outermost.count) * outermost.distance) {
      outermost.count *= count;
      return true;
    }
  }
  if (loops_ == loops_max) return false;
  loop_[loops_++] = {count, distance};
  return true;
}

Layout Layout::in_runs_of(std::size_t bytes) const {
  if (bytes == run_) return *this;
  Layout layout = *this;
  for (int i = layout.loops_++; i > 0; --i) layout.loop_[i] = layout.loop_[i - 1];
  layout.loop_[0] = {run_ / bytes, static_cast<std::ptrdiff_t>(bytes)};
  layout.run_ = bytes;
  return layout;
}

std::ptrdiff_t Layout::offset_of_run(std::size_t i) const {
  std::ptrdiff_t offset = first_;
  for (int loop = 0; loop < loops_; i /= loop_[loop++].count)
    offset += static_cast<std::ptrdiff_t>(i % loop_[loop].count) * loop_[loop].distance;
  return offset;
}

Layout::Extent Layout::extent() const {
  Extent extent{first_, run_};
  for (int i = 0; i < loops_; ++i) {
    const std::ptrdiff_t last = static_cast<std::ptrdiff_t>(loop_[i].count - 1) * loop_[i].distance;
    extent.first += std::min<std::ptrdiff_t>(0, last);
    extent.bytes += static_cast<std::size_t>(std::abs(last));
  }
  return extent;
}

std::size_t Layout::bytes() const {
  std::size_t bytes = run_;
  for (int i = 0; i < loops_; ++i) bytes *= loop_[i].count;
  return bytes;
}

namespace {

/// A place in a layout.
template <class Byte>
class Cursor {
 public:
  Cursor(const Layout& layout, Byte* base, std::size_t byte) : layout_(layout) {
    std::size_t run = byte / layout.run();
    at_ = base + layout.offset_of_run(run) + byte % layout.run();
    left_ = layout.run() - byte % layout.run();
    for (int i = 0; i < layout.loops(); run /= layout.loop(i++).count)
      rounds_[i] = layout.loop(i).count - run % layout.loop(i).count;
  }

  Byte* at() const { return at_; }
  /// Of this run.
  std::size_t left() const { return left_; }
  /// Of the innermost loop, this run included.
  std::size_t runs_left() const { return layout_.loops() == 0 ? 1 : rounds_[0]; }
  std::ptrdiff_t distance() const { return layout_.loops() == 0 ? 0 : layout_.loop(0).distance; }

  /// In this run.
  void advance(std::size_t bytes) {
    at_ += bytes;
    left_ -= bytes;
    if (left_ > 0) return;
    at_ -= layout_.run();
    skip_runs(1);
  }
  /// Of the innermost loop, from the beginning of one.
  void skip_runs(std::size_t runs) {
    left_ = layout_.run();
    if (layout_.loops() == 0) return;
    at_ += static_cast<std::ptrdiff_t>(runs) * distance();
    rounds_[0] -= runs;
    for (int i = 0; rounds_[i] == 0; ++i) {
      const Layout::Loop& loop = layout_.loop(i);
      at_ -= static_cast<std::ptrdiff_t>(loop.count) * loop.distance;
      rounds_[i] = loop.count;
      if (i + 1 == layout_.loops()) return;
      at_ += layout_.loop(i + 1).distance;
      --rounds_[i + 1];
    }
  }

 private:
  const Layout& layout_;
  Byte* at_;
  std::size_t left_;
  std::size_t rounds_[Layout::loops_max + 1];
};

using To = Cursor<std::byte>;
using From = Cursor<const std::byte>;

/// The length known to the compiler: one load and one store.
template <std::size_t bytes>
void copy_short_runs(const To& to, const From& from, std::size_t runs) {
  std::byte* destination = to.at();
  const std::byte* source = from.at();
  for (std::size_t i = 0; i < runs; ++i, destination += to.distance(), source += from.distance())
    std::memcpy(destination, source, bytes);
}

void copy_long_runs(const To& to, const From& from, std::size_t run, std::size_t runs) {
  std::byte* destination = to.at();
  const std::byte* source = from.at();
  for (std::size_t i = 0; i < runs; ++i, destination += to.distance(), source += from.distance())
    copy_bytes(destination, source, run);
}

void copy_runs(const To& to, const From& from, std::size_t run, std::size_t runs) {
  if constexpr (simulated::on) return copy_long_runs(to, from, run, runs);
  if (run == 4) return copy_short_runs<4>(to, from, runs);
  if (run == 8) return copy_short_runs<8>(to, from, runs);
  if (run == 16) return copy_short_runs<16>(to, from, runs);
  copy_long_runs(to, from, run, runs);
}

/// From byte `at` of both on.
void copy_part(const Layout& to_layout, std::byte* to_base, const Layout& from_layout, const std::byte* from_base,
               std::size_t at, std::size_t bytes) {
  To to(to_layout, to_base, at);
  From from(from_layout, from_base, at);
  const std::size_t run = to_layout.run() == from_layout.run() ? to_layout.run() : SIZE_MAX;
  for (std::size_t left = bytes; left > 0;) {
    if (to.left() == run && from.left() == run && left >= run) {
      const std::size_t runs = std::min({to.runs_left(), from.runs_left(), left / run});
      copy_runs(to, from, run, runs);
      to.skip_runs(runs);
      from.skip_runs(runs);
      left -= runs * run;
    } else {
      const std::size_t piece = std::min({to.left(), from.left(), left});
      copy_bytes(to.at(), from.at(), piece);
      to.advance(piece);
      from.advance(piece);
      left -= piece;
    }
  }
}

/// In runs of one length, if that divides those of both.
void copy_part_in_runs(const Layout& to, std::byte* to_base, const Layout& from, const std::byte* from_base,
                       std::size_t at, std::size_t bytes) {
  const std::size_t run = std::min(to.run(), from.run());
  if (to.run() % run == 0 && from.run() % run == 0)
    copy_part(to.in_runs_of(run), to_base, from.in_runs_of(run), from_base, at, bytes);
  else
    copy_part(to, to_base, from, from_base, at, bytes);
}

}  // namespace

void copy_between(const Layout& to, std::byte* to_base, const Layout& from, const std::byte* from_base,
                  std::size_t bytes, std::size_t at) {
  copy_part_in_runs(to, to_base, from, from_base, at, bytes);
}

// Without gaps, as if all of them were there.

void Spread::put(std::size_t at, const std::byte* from, std::size_t bytes) const {
  copy_part_in_runs(layout, base, Layout(layout.bytes()), from - at, at, bytes);
}

void Spread::get(std::size_t at, std::byte* to, std::size_t bytes) const {
  copy_part_in_runs(Layout(layout.bytes()), to - at, layout, base, at, bytes);
}

}  // namespace tutti::memory
