#include "collectives/common/buffers/blocks.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "base/copy.h"

namespace tutti {

namespace {

/// Said instead of a size: there is a table, in a region of its own or at the head of the post's tail.
constexpr std::uint64_t irregular = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t irregular_in_post = irregular - 1;

struct Entry {
  std::uint64_t offset, bytes;
};

struct ShortEntry {
  std::uint8_t offset, bytes;
};
static_assert(Post::tail_bytes <= std::numeric_limits<std::uint8_t>::max());

struct Span {
  const std::byte* begin = nullptr;
  std::size_t bytes = 0;
};

/// The memory from the first byte of any block to the last.
Span span_of(const Blocks& blocks, std::size_t count) {
  if (blocks.is_regular()) return {blocks.base, count == 0 ? 0 : (count - 1) * blocks.stride + blocks.bytes};
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    if (blocks.size(i) == 0) continue;
    if (!begin || blocks.at(i) < begin) begin = blocks.at(i);
    if (!end || blocks.at(i) + blocks.size(i) > end) end = blocks.at(i) + blocks.size(i);
  }
  return {begin, static_cast<std::size_t>(end - begin)};
}

/// How peers could reach all of the blocks; irregular ones may lie in different objects.
memory::Kind reach(const Operation& operation, const Blocks& blocks, std::size_t count, const Span& span, Side side) {
  if (span.bytes == 0) return memory::Kind::none;
  if (blocks.is_regular()) return operation.reach(span.begin, span.bytes, side);
  std::optional<memory::Kind> all;
  bool mixed = false;
  for (std::size_t i = 0; i < count; ++i) {
    if (blocks.size(i) == 0) continue;
    for (const std::byte* at : {blocks.at(i), blocks.at(i) + blocks.size(i) - 1}) {
      const memory::Kind kind = operation.reach(at, at == blocks.at(i) ? blocks.size(i) : 1, side);
      if (kind == memory::Kind::none) return kind;
      mixed = mixed || all.value_or(kind) != kind ||
              (kind == memory::Kind::window && !operation.communicator().node().are_as_far_apart(span.begin, at));
      all = kind;
    }
  }
  // Some in the window and some not, or in parts of it that lie elsewhere for peers: the kernel reaches all by address.
  if (mixed) return operation.communicator().node().cma ? memory::Kind::cma : memory::Kind::none;
  return all.value_or(memory::Kind::none);
}

/// The region of memory that peers reach so; it begins where the span does.
memory::Region reachable(const Node& node, const Blocks& blocks, std::size_t count, const Span& span,
                         memory::Kind kind) {
  if (kind == memory::Kind::none) return {};
  if (kind == memory::Kind::cma) return {kind, reinterpret_cast<std::uintptr_t>(span.begin)};
  if (kind != memory::Kind::xpmem || blocks.is_regular()) return node.reachable(span.begin, span.bytes);
  // Between the blocks there may be anything: only runs of neighbouring ones are exposed. Peers find the others by
  // their addresses.
  memory::Region first;
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  const auto expose_run = [&] {
    if (!begin) return;
    const memory::Region run = node.reachable(begin, static_cast<std::size_t>(end - begin));
    first = memory::Region::attachable(run.row(), reinterpret_cast<std::uintptr_t>(span.begin));
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (blocks.size(i) == 0) continue;
    const bool follows = begin && blocks.at(i) >= begin && blocks.at(i) <= end + grain_bytes;
    if (!follows) {
      expose_run();
      begin = end = blocks.at(i);
    }
    end = std::max<const std::byte*>(end, blocks.at(i) + blocks.size(i));
  }
  expose_run();
  return first;
}

std::size_t bytes_without(const Blocks& blocks, std::size_t count, std::ptrdiff_t skip) {
  if (blocks.is_regular()) return blocks.stride == 0 ? blocks.bytes : count * blocks.bytes;
  std::size_t total = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (static_cast<std::ptrdiff_t>(i) != skip) total += blocks.size(i);
  return total;
}

/// The size of the table that goes with blocks.
std::size_t table_bytes_of(const Blocks& blocks, std::size_t count) {
  return blocks.is_regular() ? 0 : count * sizeof(Entry);
}

/// Whether a copy of the blocks, if there is anything to copy, has room in the operation's data area.
bool fit_data_area(const Communicator& communicator, const Blocks& blocks, std::size_t count, std::size_t copied) {
  return copied > 0 && table_bytes_of(blocks, count) + copied <= communicator.slot_bytes();
}

/// What blocks take up in the tail of a post, with their table if they need one.
std::size_t post_bytes_of(const Blocks& blocks, std::size_t count, std::size_t copied) {
  return copied + (blocks.is_regular() ? 0 : count * sizeof(ShortEntry));
}

/// Small blocks to read travel with the post itself: their reader needs no other line.
ExposedBlocks post_in_tail(Operation& operation, const BlocksToPost& what) {
  const Blocks& blocks = what.blocks;
  Communicator& communicator = operation.communicator();
  Post& mine = operation.own().post;
  std::byte* const tail = mine.regions.tail;
  ExposedBlocks exposed{{communicator.arena_region(tail), tail, true, true}, blocks};
  exposed.local.base = tail;
  if (blocks.is_regular()) {
    exposed.local.stride = blocks.stride == 0 ? 0 : blocks.bytes;
    const std::size_t distinct = blocks.stride == 0 ? 1 : what.count;
    for (std::size_t i = 0; i < distinct; ++i)
      if (static_cast<std::ptrdiff_t>(i) != what.skip) copy_bytes(exposed.local.at(i), blocks.at(i), blocks.bytes);
    mine.regions.bytes = blocks.bytes;
    mine.regions.stride = exposed.local.stride;
  } else {
    auto* const offsets = operation.array<std::ptrdiff_t>(what.count);
    exposed.local.offsets = offsets;
    std::size_t next = what.count * sizeof(ShortEntry);
    for (std::size_t i = 0; i < what.count; ++i) {
      const std::size_t bytes = static_cast<std::ptrdiff_t>(i) == what.skip ? 0 : blocks.size(i);
      offsets[i] = static_cast<std::ptrdiff_t>(next);
      const ShortEntry entry{static_cast<std::uint8_t>(next), static_cast<std::uint8_t>(bytes)};
      std::memcpy(tail + i * sizeof entry, &entry, sizeof entry);
      if (bytes) copy_bytes(tail + next, blocks.at(i), bytes);
      next += bytes;
    }
    mine.regions.bytes = irregular_in_post;
  }
  mine.regions.source = exposed.exposure.region.bits();
  mine.regions.destination = 0;
  operation.publish(mine.flag, what.progress);
  return exposed;
}

}  // namespace

ExposedBlocks post_blocks(Operation& operation, const BlocksToPost& what) {
  const Blocks& blocks = what.blocks;
  const std::size_t count = what.count;
  const Side side = what.side;
  const std::ptrdiff_t skip = what.skip;
  Communicator& communicator = operation.communicator();
  const std::size_t copied = bytes_without(blocks, count, skip);
  if (side == Side::source && post_bytes_of(blocks, count, copied) <= Post::tail_bytes)
    return post_in_tail(operation, what);
  const Span span = span_of(blocks, count);
  const memory::Kind kind = reach(operation, blocks, count, span, side);
  std::byte* const area = operation.own_data();
  const std::size_t table_bytes = table_bytes_of(blocks, count);
  const bool fits = fit_data_area(communicator, blocks, count, copied);
  Post& mine = operation.own().post;
  const bool table_in_post = table_bytes <= Post::tail_bytes;
  Entry* table = reinterpret_cast<Entry*>(table_in_post ? mine.regions.tail : area);
  memory::Region table_region = table_in_post ? communicator.arena_region(mine.regions.tail) : operation.data_region();
  if (table_bytes > communicator.slot_bytes()) [[unlikely]] {
    std::byte* staging = operation.staging(side == Side::source ? 1 : 0, table_bytes);
    table = reinterpret_cast<Entry*>(staging);
    table_region = communicator.arena_region(staging);
  }

  ExposedBlocks exposed{{{}, const_cast<std::byte*>(span.begin), false, false}, blocks};
  std::size_t base_offset = 0;
  if (fits && (what.prefer_slot || better_in_the_ring(operation, kind, copied))) {
    exposed.exposure = {operation.data_region(), area, true, true};
    if (!table_in_post) base_offset = table_bytes;
  } else if (kind == memory::Kind::none && copied > 0) {
    exposed.exposure = staging_buffer(operation, side, copied);
    if (side == Side::source) let_fill(exposed.exposure);
  } else {
    exposed.exposure.region = reachable(communicator.node(), blocks, count, span, kind);
  }

  std::ptrdiff_t* offsets = nullptr;
  if (exposed.exposure.copied && !blocks.is_regular()) offsets = operation.array<std::ptrdiff_t>(count);
  if (exposed.exposure.copied) {
    exposed.local = blocks;
    exposed.local.base = exposed.exposure.local;
    exposed.local.offsets = offsets;
    if (blocks.is_regular()) exposed.local.stride = blocks.stride == 0 ? 0 : blocks.bytes;
  }
  if (!blocks.is_regular()) {
    std::size_t next = base_offset;
    for (std::size_t i = 0; i < count; ++i) {
      const bool skipped = static_cast<std::ptrdiff_t>(i) == skip;
      if (exposed.exposure.copied) {
        offsets[i] = static_cast<std::ptrdiff_t>(next);
        table[i] = {next, skipped ? 0 : blocks.size(i)};
        if (!skipped) next += blocks.size(i);
      } else {
        table[i] = {blocks.size(i) ? static_cast<std::uint64_t>(blocks.at(i) - span.begin) : 0, blocks.size(i)};
      }
    }
  }
  const auto copy_in = [&] {
    const std::size_t distinct = blocks.is_regular() && blocks.stride == 0 ? 1 : count;
    for (std::size_t i = 0; i < distinct; ++i)
      if (static_cast<std::ptrdiff_t>(i) != skip && blocks.size(i))
        fill(operation, exposed.exposure, static_cast<std::size_t>(exposed.local.at(i) - exposed.exposure.local),
             blocks.at(i), blocks.size(i));
  };
  const bool is_copied = exposed.exposure.copied && side == Side::source;
  if (is_copied && exposed.exposure.in_the_ring) copy_in();
  mine.regions.source = side == Side::source ? as_lent(operation, exposed.exposure).bits() : 0;
  mine.regions.destination = side == Side::destination ? exposed.exposure.region.bits() : 0;
  mine.regions.bytes = blocks.is_regular() ? blocks.bytes : irregular;
  mine.regions.stride = blocks.is_regular() ? exposed.local.stride : table_region.bits();
  operation.publish(mine.flag, what.progress);
  if (is_copied && !exposed.exposure.in_the_ring) copy_in();
  return exposed;
}

bool can_be_offered(const Operation& operation, const Blocks& blocks, std::size_t count) {
  return count <= Offer::blocks_max &&
         reach(operation, blocks, count, span_of(blocks, count), Side::destination) != memory::Kind::none;
}

void offer_blocks(Operation& operation, const Blocks& blocks, std::size_t count) {
  Communicator& communicator = operation.communicator();
  const Span span = span_of(blocks, count);
  const memory::Kind kind = reach(operation, blocks, count, span, Side::destination);
  Offer& mine = operation.own().offer;
  mine.region = reachable(communicator.node(), blocks, count, span, kind).bits();
  for (std::size_t i = 0; i < count; ++i)
    mine.blocks[i] = {blocks.size(i) ? static_cast<std::uint64_t>(blocks.at(i) - span.begin) : 0, blocks.size(i)};
  mine.flag.set(operation.stamp(Offer::to_be_stored));
}

RemoteBlock offered_block(Operation& operation, int rank, std::size_t index) {
  const Offer& theirs = operation.slot(rank).offer;
  return {memory::Region::from_bits(theirs.region), theirs.blocks[index].offset, theirs.blocks[index].bytes};
}

void collect_blocks(const ExposedBlocks& exposed, const Blocks& blocks, std::size_t count, std::ptrdiff_t skip) {
  if (!exposed.exposure.copied) return;
  for (std::size_t i = 0; i < count; ++i)
    if (static_cast<std::ptrdiff_t>(i) != skip && blocks.size(i))
      copy_bytes(blocks.at(i), exposed.local.at(i), blocks.size(i));
}

RemoteBlock posted_block(Operation& operation, int rank, std::size_t index, Side side) {
  operation.check(rank);
  const Post& post = operation.slot(rank).post;
  const auto region = memory::Region::from_bits(side == Side::source ? post.regions.source : post.regions.destination);
  if (post.regions.bytes == irregular_in_post) {
    ShortEntry entry{};
    std::memcpy(&entry, post.regions.tail + index * sizeof entry, sizeof entry);
    return {region, entry.offset, entry.bytes};
  }
  if (post.regions.bytes != irregular) return {region, index * post.regions.stride, post.regions.bytes};
  const auto* table = reinterpret_cast<const Entry*>(operation.communicator().peer(rank).pointer(
      memory::Region::from_bits(post.regions.stride), 0, (index + 1) * sizeof(Entry)));
  return {region, table[index].offset, table[index].bytes};
}

void say_sent(Operation& operation, int rank, std::size_t index, std::size_t sent) {
  const Post& post = operation.slot(rank).post;
  if (post.regions.bytes != irregular) return;
  auto* table = reinterpret_cast<Entry*>(operation.communicator().peer(rank).pointer(
      memory::Region::from_bits(post.regions.stride), 0, (index + 1) * sizeof(Entry)));
  table[index].bytes = sent;
}

}  // namespace tutti
