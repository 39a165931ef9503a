// Memory of a rank's own that an operation needs, used again by the next one.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "engine/node.h"
#include "memory/transfers.h"

namespace tutti {

class Workspace {
 public:
  /// waits: of operations that go on with nothing else while they wait.
  Workspace(Node& node, int ranks, bool waits)
      : node_(node),
        transfers_(waits),
        sources_(static_cast<std::size_t>(ranks)),
        destinations_(static_cast<std::size_t>(ranks)) {}
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  /// For the life of the operation: frames of coroutines, arrays.
  void* allocate(std::size_t bytes) {
    bytes = (bytes + alignof(std::max_align_t) - 1) & ~(alignof(std::max_align_t) - 1);
    if (used_ + bytes > frame_bytes) [[unlikely]]
      return allocate_more(bytes);
    void* const memory = frames_ + used_;
    used_ += bytes;
    return memory;
  }
  /// The operation is over.
  void clear() {
    used_ = 0;
    if (more_used_ > 0) [[unlikely]]
      clear_more();
    if (!transfers_.over()) [[unlikely]]
      transfers_.give_up();
  }
  /// What is open of the operation's copies.
  memory::Transfers& transfers() { return transfers_; }

  /// Private memory for blocks that are copied before they are reduced.
  std::byte* scratch(std::size_t bytes) {
    if (scratch_.size() < bytes) scratch_.resize(bytes);
    return scratch_.data();
  }
  /// One pointer a rank, for the sources of a reduction, and one for its results.
  const void** sources() { return sources_.data(); }
  std::byte** destinations() { return destinations_.data(); }

  /// A buffer of at least `bytes` in this rank's arena; memory::Filled lies before it. Two of them (0, 1).
  /// Throws std::bad_alloc if the arena is full.
  std::byte* staging(int which, std::size_t bytes);
  /// What it has in the arena, which is not given back here.
  void list_staging(std::vector<std::size_t>& offsets) const {
    for (const Staging& each : staging_)
      if (each.bytes) offsets.push_back(each.offset);
  }

 private:
  friend class Workspaces;

  struct Staging {
    std::size_t offset = 0, bytes = 0;
  };
  static constexpr std::size_t frame_bytes = 4096;
  /// What an operation like the one before needs beyond the frames is one piece of memory that is there.
  void* allocate_more(std::size_t bytes) {
    const std::size_t at = more_used_;
    more_used_ += bytes;
    if (more_used_ <= kept_bytes_) return kept_.get() + at;
    return more_.emplace_back(std::make_unique<std::byte[]>(bytes)).get();
  }
  void clear_more() {
    more_.clear();
    if (const std::size_t wanted = std::min(more_used_, kept_max); wanted > kept_bytes_) {
      kept_ = std::make_unique<std::byte[]>(wanted);
      kept_bytes_ = wanted;
    }
    more_used_ = 0;
  }
  static constexpr std::size_t kept_max = std::size_t{256} << 10;

  Node& node_;
  memory::Transfers transfers_;
  std::size_t used_ = 0;
  std::size_t more_used_ = 0, kept_bytes_ = 0;
  std::unique_ptr<std::byte[]> kept_;
  std::vector<std::unique_ptr<std::byte[]>> more_;
  std::array<Staging, 2> staging_{};
  std::vector<std::byte> scratch_;
  std::vector<const void*> sources_;
  std::vector<std::byte*> destinations_;
  std::unique_ptr<Workspace> before_;
  alignas(std::max_align_t) std::byte frames_[frame_bytes];
};

/// Those that pending operations of the same ranks take and give back.
class Workspaces {
 public:
  Workspaces(Node& node, int ranks) : node_(node), ranks_(ranks) {}
  Workspaces(const Workspaces&) = delete;
  Workspaces& operator=(const Workspaces&) = delete;
  ~Workspaces() {
    while (last_) last_ = std::move(last_->before_);
  }

  /// The one that was given back last: what it has is still near.
  std::unique_ptr<Workspace> take() {
    if (!last_) return std::make_unique<Workspace>(node_, ranks_, false);
    std::unique_ptr<Workspace> workspace = std::move(last_);
    last_ = std::move(workspace->before_);
    return workspace;
  }
  void give_back(std::unique_ptr<Workspace> workspace) noexcept {
    workspace->before_ = std::move(last_);
    last_ = std::move(workspace);
  }
  /// See Workspace. Of those that are given back.
  void list_staging(std::vector<std::size_t>& offsets) const {
    for (const Workspace* each = last_.get(); each; each = each->before_.get()) each->list_staging(offsets);
  }

 private:
  Node& node_;
  int ranks_;
  std::unique_ptr<Workspace> last_;
};

}  // namespace tutti
