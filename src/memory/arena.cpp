#include "memory/arena.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "memory/pages.h"

namespace tutti::memory {

namespace {
/// Of what is kept: what a program needs that makes and frees one thing after another, and a few of anything: a message of
/// parts leaves three, and the next one may be made before the other side has freed the last.
constexpr std::size_t kept_bytes_max = std::size_t{1} << 20;
constexpr std::size_t always_kept = 6;

std::size_t whole_pages(std::size_t bytes) {
  return round_up(bytes, page_bytes());
}

/// Holes read as zero, and give the memory back. By address: the descriptor's number may mean a file of the program's,
/// if it has closed what it had not opened. Past those who watch madvise: some note each call for ever.
bool punch(std::byte* address, std::size_t bytes) {
  return system_removes_pages() && syscall(SYS_madvise, address, bytes, MADV_REMOVE) == 0;
}
}  // namespace

std::unique_ptr<Arena> Arena::create(std::size_t capacity, std::string& reason) {
  capacity = whole_pages(capacity);
  // Beyond it, setting the file's size would be answered with a signal that ends the program.
  rlimit most{};
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < capacity) {
    reason = "the limit of the size of files (ulimit -f) is less than the arena's " + std::to_string(capacity >> 20) +
             " MiB";
    return nullptr;
  }
  const int descriptor = memfd_create("tutti-arena", MFD_CLOEXEC);
  if (descriptor < 0) {
    reason = std::string("memfd_create: ") + std::strerror(errno);
    return nullptr;
  }
  if (ftruncate(descriptor, static_cast<off_t>(capacity)) != 0) {
    reason = std::string("ftruncate of the arena: ") + std::strerror(errno);
    close(descriptor);
    return nullptr;
  }
  auto mapping = GrowingMapping::create(descriptor, {capacity, std::size_t{1} << 20, false, 0, nullptr, false});
  if (!mapping) {
    reason = std::string("mmap of the arena: ") + std::strerror(errno);
    close(descriptor);
    return nullptr;
  }
  return std::unique_ptr<Arena>(new Arena(descriptor, std::move(mapping)));
}

Arena::Arena(int descriptor, std::unique_ptr<GrowingMapping> mapping)
    : descriptor_(descriptor), mapping_(std::move(mapping)) {
  free_[0] = capacity();
}

Arena::~Arena() {
  close(descriptor_);
}

std::optional<std::size_t> Arena::allocate(std::size_t bytes) {
  if (bytes > capacity()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return take_open(whole_pages(bytes));
}

std::optional<std::size_t> Arena::allocate_used(std::size_t bytes) {
  if (bytes > capacity()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto kept = take_kept(any_, whole_pages(bytes));
  return kept ? kept : take_open(whole_pages(bytes));
}

std::optional<std::size_t> Arena::reserve(std::size_t bytes) {
  if (bytes > capacity()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto kept = take_kept(tidy_, whole_pages(bytes));
  return kept ? kept : take(whole_pages(bytes));
}

/// Of what is kept.
std::optional<std::size_t> Arena::take_kept(Kept& kept, std::size_t bytes) {
  auto& offsets = kept.offsets;
  const auto last = std::find_if(offsets.rbegin(), offsets.rend(),
                                 [&](std::size_t offset) { return used_.at(offset).bytes == bytes; });
  if (last == offsets.rend()) return std::nullopt;
  const std::size_t offset = *last;
  offsets.erase(std::next(last).base());
  kept.bytes -= bytes;
  return offset;
}

/// Of what is free.
std::optional<std::size_t> Arena::take(std::size_t bytes) {
  auto it = std::find_if(free_.begin(), free_.end(), [&](const auto& each) { return each.second >= bytes; });
  if (it == free_.end()) {
    if (tidy_.offsets.empty() && any_.offsets.empty()) return std::nullopt;
    let_go_of(tidy_);
    let_go_of(any_);
    return take(bytes);
  }
  const auto [offset, room] = *it;
  if (!mapping_->take(offset + bytes)) return std::nullopt;
  free_.erase(it);
  if (room > bytes) free_[offset + bytes] = room - bytes;
  used_[offset] = {bytes, false};
  return offset;
}

std::optional<std::size_t> Arena::take_open(std::size_t bytes) {
  const auto offset = take(bytes);
  if (!offset) return offset;
  const auto part = used_.find(*offset);
  if (open(*offset, part->second)) return offset;
  free_part(part, Contents::tidy);
  return std::nullopt;
}

void Arena::let_go_of(Kept& kept) {
  for (const std::size_t offset : std::exchange(kept.offsets, {})) free_part(used_.find(offset), Contents::tidy);
  kept.bytes = 0;
}

bool Arena::open(std::size_t offset) {
  const std::lock_guard lock(mutex_);
  const auto it = used_.find(offset);
  return it != used_.end() && open(offset, it->second);
}

bool Arena::open(std::size_t offset, Part& part) {
  if (!part.open) part.open = mapping_->open(offset, offset + part.bytes);
  return part.open;
}

void Arena::release(std::size_t offset, Contents contents) {
  const std::lock_guard lock(mutex_);
  const auto it = used_.find(offset);
  if (it == used_.end()) return;
  if (contents != Contents::unknown && keep(contents == Contents::tidy ? tidy_ : any_, offset, it->second)) return;
  free_part(it, contents);
}

void Arena::free_part(std::map<std::size_t, Part>::iterator part, Contents contents) {
  const auto [offset, was] = *part;
  if ((was.open || contents == Contents::unknown) && !clear(offset, part->second)) return;
  used_.erase(part);
  add_free(offset, was.bytes);
}

/// In place of what has been kept longest, if that is too much. False if it was never opened.
bool Arena::keep(Kept& kept, std::size_t offset, const Part& part) {
  if (!part.open) return false;
  while (kept.bytes + part.bytes > kept_bytes_max && kept.offsets.size() >= always_kept) {
    const auto oldest = used_.find(kept.offsets.front());
    kept.offsets.erase(kept.offsets.begin());
    kept.bytes -= oldest->second.bytes;
    free_part(oldest, Contents::tidy);
  }
  kept.offsets.push_back(offset);
  kept.bytes += part.bytes;
  return true;
}

/// Makes it zero, as all that is free, and inaccessible. What was never opened here may have been written by peers. False
/// if the system refuses: then nobody can have it again.
bool Arena::clear(std::size_t offset, Part& part) {
  if (!open(offset, part)) return false;
  if (keeps_pages_ || !punch(base() + offset, part.bytes)) std::memset(base() + offset, 0, part.bytes);
  mapping_->close(offset, offset + part.bytes);
  part.open = false;
  return true;
}

void Arena::add_free(std::size_t offset, std::size_t bytes) {
  auto at = free_.emplace(offset, bytes).first;
  if (at != free_.begin()) {
    const auto before = std::prev(at);
    if (before->first + before->second == at->first) {
      before->second += at->second;
      free_.erase(at);
      at = before;
    }
  }
  const auto after = std::next(at);
  if (after != free_.end() && at->first + at->second == after->first) {
    at->second += after->second;
    free_.erase(after);
  }
}

}  // namespace tutti::memory
