#include "collectives/common/buffers/blocks.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "base/copy.h"

namespace tutti {

namespace {

/// Said instead of a size: there is a table, in a region of its own or at the head of the post's tail; or one of blocks that
/// may have gaps.
constexpr std::uint64_t irregular = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t irregular_in_post = irregular - 1;
constexpr std::uint64_t irregular_with_gaps = irregular - 2;

struct Entry {
  std::uint64_t offset, bytes;
};
/// offset: of the layout's base.
struct EntryWithGaps {
  std::uint64_t offset;
  memory::Layout layout;
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

/// How much of block `i` a copy has.
std::size_t size_in_copy(const BlocksToPost& what, std::size_t i) {
  return static_cast<std::ptrdiff_t>(i) == what.skip ? 0 : what.blocks.size(i);
}

/// Where they are in a copy, one behind the other; irregular ones from `first` on.
Blocks in_copy(Operation& operation, const BlocksToPost& what, std::byte* base, std::size_t first) {
  Blocks copy = what.blocks;
  copy.base = base;
  if (copy.is_regular()) {
    if (copy.stride != 0) copy.stride = copy.bytes;
    return copy;
  }
  auto* const offsets = operation.array<std::ptrdiff_t>(what.count);
  for (std::size_t i = 0, next = first; i < what.count; next += size_in_copy(what, i++))
    offsets[i] = static_cast<std::ptrdiff_t>(next);
  copy.offsets = offsets;
  return copy;
}

/// copy(to, i): of each of them.
template <class Copy>
void copy_in(const BlocksToPost& what, const Blocks& to, const Copy& copy) {
  const std::size_t distinct = what.blocks.is_regular() && what.blocks.stride == 0 ? 1 : what.count;
  for (std::size_t i = 0; i < distinct; ++i)
    if (size_in_copy(what, i) > 0) copy(to.at(i), i);
}

/// All of the memory in which the blocks lie, those that have gaps too.
Blocks with_gaps(Operation& operation, const BlocksToPost& what) {
  auto* const sizes = operation.array<std::size_t>(what.count);
  auto* const offsets = operation.array<std::ptrdiff_t>(what.count);
  for (std::size_t i = 0; i < what.count; ++i) {
    sizes[i] = size_in_copy(what, i);
    offsets[i] = what.blocks.offset(i);
    if (sizes[i] == 0 || !what.sent[i]) continue;
    const memory::Layout::Extent extent = what.sent[i]->layout.extent();
    sizes[i] = extent.bytes;
    offsets[i] = what.sent[i]->base + extent.first - what.blocks.base;
  }
  return Blocks::irregular(what.blocks.base, sizes, offsets);
}

/// Small blocks to read travel with the post itself: their reader needs no other line.
ExposedBlocks post_in_tail(Operation& operation, const BlocksToPost& what) {
  const bool is_regular = what.blocks.is_regular();
  Post& mine = operation.own().post;
  std::byte* const tail = mine.regions.tail;
  const ExposedBlocks exposed{{operation.communicator().arena_region(tail), tail, true, true},
                              in_copy(operation, what, tail, what.count * sizeof(ShortEntry))};
  for (std::size_t i = 0; !is_regular && i < what.count; ++i) {
    const ShortEntry entry{static_cast<std::uint8_t>(exposed.local.offset(i)),
                           static_cast<std::uint8_t>(size_in_copy(what, i))};
    std::memcpy(tail + i * sizeof entry, &entry, sizeof entry);
  }
  copy_in(what, exposed.local,
          [&](std::byte* to, std::size_t i) { copy_bytes(to, what.blocks.at(i), what.blocks.size(i)); });
  mine.regions.source = exposed.exposure.region.bits();
  mine.regions.destination = 0;
  mine.regions.bytes = is_regular ? exposed.local.bytes : irregular_in_post;
  if (is_regular) mine.regions.stride = exposed.local.stride;
  operation.publish(mine.flag, what.progress);
  return exposed;
}

/// Blocks where they are in the program's memory.
struct Placed {
  Blocks blocks;
  Span span;
  memory::Kind kind;  ///< how peers reach them
  bool spread;        ///< peers are told of their gaps
};

Placed place_of(Operation& operation, const BlocksToPost& what) {
  const auto placed = [&](const Blocks& blocks, bool spread) {
    const Span span = span_of(blocks, what.count);
    return Placed{blocks, span, reach(operation, blocks, what.count, span, what.side), spread};
  };
  if (what.side != Side::source || !what.sent) return placed(what.blocks, false);
  const Placed spread = placed(with_gaps(operation, what), true);
  if (spread.kind == memory::Kind::none || memory::always_mapped(spread.kind)) return spread;
  // The kernel, or who has to ask, takes long for many runs.
  pack(what.sent, what.blocks, what.count, what.skip);
  return placed(what.blocks, false);
}

/// Memory for the table that goes with blocks.
struct Table {
  std::byte* at;
  memory::Region region;
  bool in_post;
};

Table table_for(Operation& operation, std::size_t bytes, Side side) {
  const Communicator& communicator = operation.communicator();
  if (bytes > communicator.slot_bytes()) [[unlikely]] {
    std::byte* const at = operation.staging(side == Side::source ? 1 : 0, bytes);
    return {at, communicator.arena_region(at), false};
  }
  std::byte* const tail = operation.own().post.regions.tail;
  if (bytes <= Post::tail_bytes) return {tail, communicator.arena_region(tail), true};
  return {operation.own_data(), operation.data_region(), false};
}

/// Of blocks that peers read in a copy.
void tell_of_copy(const BlocksToPost& what, const Blocks& copy, std::byte* table) {
  for (std::size_t i = 0; i < what.count; ++i)
    reinterpret_cast<Entry*>(table)[i] = {static_cast<std::uint64_t>(copy.offset(i)), size_in_copy(what, i)};
}

void tell_of_place(const Placed& placed, std::size_t count, std::byte* table) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t bytes = placed.blocks.size(i);
    reinterpret_cast<Entry*>(table)[i] = {
        bytes ? static_cast<std::uint64_t>(placed.blocks.at(i) - placed.span.begin) : 0, bytes};
  }
}

void tell_of_gaps(const BlocksToPost& what, const Placed& placed, std::byte* table) {
  for (std::size_t i = 0; i < what.count; ++i) {
    const std::size_t bytes = placed.blocks.size(i);
    const memory::Spread own{memory::Layout(bytes), placed.blocks.at(i)};
    const memory::Spread& block = bytes > 0 && what.sent[i] ? *what.sent[i] : own;
    const auto offset = bytes > 0 ? static_cast<std::uint64_t>(block.base - placed.span.begin) : 0;
    new (table + i * sizeof(EntryWithGaps)) EntryWithGaps{offset, block.layout};
  }
}

}  // namespace

ExposedBlocks post_blocks(Operation& operation, const BlocksToPost& what) {
  const std::size_t count = what.count;
  const bool is_source = what.side == Side::source, is_regular = what.blocks.is_regular();
  const std::size_t copied = bytes_without(what.blocks, count, what.skip);
  if (is_source && post_bytes_of(what.blocks, count, copied) <= Post::tail_bytes) {
    pack(what.sent, what.blocks, count, what.skip);
    return post_in_tail(operation, what);
  }
  const Placed placed = place_of(operation, what);
  const bool fits = fit_data_area(operation.communicator(), what.blocks, count, copied);
  const bool in_the_ring = fits && (what.prefer_slot || better_in_the_ring(operation, placed.kind, copied));
  const bool is_copied = in_the_ring || (placed.kind == memory::Kind::none && copied > 0);
  const bool has_gaps = placed.spread && !is_copied;
  const std::size_t table_bytes = has_gaps ? count * sizeof(EntryWithGaps) : table_bytes_of(what.blocks, count);
  const Table table = table_for(operation, table_bytes, what.side);

  ExposedBlocks exposed{{{}, const_cast<std::byte*>(placed.span.begin), false, false}, placed.blocks};
  Exposure& exposure = exposed.exposure;
  if (in_the_ring) {
    exposure = data_area(operation);
  } else if (is_copied) {
    exposure = staging_buffer(operation, what.side, copied);
    if (is_source) let_fill(exposure);
  } else {
    exposure.region = reachable(operation.communicator().node(), placed.blocks, count, placed.span, placed.kind);
  }
  if (is_copied)
    exposed.local = in_copy(operation, what, exposure.local, in_the_ring && !table.in_post ? table_bytes : 0);
  if (has_gaps)
    tell_of_gaps(what, placed, table.at);
  else if (!is_regular && is_copied)
    tell_of_copy(what, exposed.local, table.at);
  else if (!is_regular)
    tell_of_place(placed, count, table.at);

  const auto fill_it = [&] {
    copy_in(what, exposed.local, [&](std::byte* to, std::size_t i) {
      const auto at = static_cast<std::size_t>(to - exposure.local);
      if (placed.spread && what.sent[i])
        fill(operation, exposure, at, *what.sent[i]);
      else
        fill(operation, exposure, at, what.blocks.at(i), what.blocks.size(i));
    });
  };
  const bool fills = is_copied && is_source;
  if (fills && in_the_ring) fill_it();
  Post& mine = operation.own().post;
  mine.regions.source = is_source ? as_lent(operation, exposure).bits() : 0;
  mine.regions.destination = is_source ? 0 : exposure.region.bits();
  mine.regions.bytes = has_gaps ? irregular_with_gaps : is_regular ? what.blocks.bytes : irregular;
  mine.regions.stride = is_regular && !has_gaps ? exposed.local.stride : table.region.bits();
  operation.publish(mine.flag, what.progress);
  if (fills && !in_the_ring) fill_it();
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
  const bool has_gaps = post.regions.bytes == irregular_with_gaps;
  if (post.regions.bytes != irregular && !has_gaps) return {region, index * post.regions.stride, post.regions.bytes};
  const std::byte* const entries =
      operation.communicator().peer(rank).pointer(memory::Region::from_bits(post.regions.stride), 0,
                                                  (index + 1) * (has_gaps ? sizeof(EntryWithGaps) : sizeof(Entry)));
  if (has_gaps) {
    const EntryWithGaps& entry = reinterpret_cast<const EntryWithGaps*>(entries)[index];
    return {region, entry.offset, entry.layout.bytes(),
            entry.layout.loops() > 0 || entry.layout.first() != 0 ? &entry.layout : nullptr};
  }
  const auto* const table = reinterpret_cast<const Entry*>(entries);
  return {region, table[index].offset, table[index].bytes};
}

void pull_spread(Operation& operation, int rank, const RemoteBlock& block, const Block& to, memory::Spread* spread) {
  const memory::Layout& layout = *block.layout;
  const memory::PeerTransfers peer = operation.peer(rank);
  const memory::Layout::Extent extent = layout.extent();
  const std::size_t first = block.offset + static_cast<std::size_t>(extent.first);
  if (const std::byte* const there = peer.peer.pointer(block.region, first, extent.bytes)) {
    const memory::Layout packed(to.bytes);
    memory::copy_between(spread ? spread->layout : packed, spread ? spread->base : to.at, layout, there - extent.first,
                         to.bytes);
    if (spread) spread->is_there = true;
    peer.peer.loaded(to.bytes);
    return;
  }
  // It is not mapped here, for want of address space.
  for (std::size_t i = 0, done = 0; done < to.bytes; ++i, done += layout.run()) {
    const std::size_t offset = block.offset + static_cast<std::size_t>(layout.offset_of_run(i));
    peer.copy_from(block.region, offset, to.at + done, std::min(layout.run(), to.bytes - done));
  }
}

void say_sent(Operation& operation, int rank, std::size_t index, std::size_t sent) {
  const Post& post = operation.slot(rank).post;
  if (post.regions.bytes != irregular) return;
  auto* table = reinterpret_cast<Entry*>(operation.communicator().peer(rank).pointer(
      memory::Region::from_bits(post.regions.stride), 0, (index + 1) * sizeof(Entry)));
  table[index].bytes = sent;
}

}  // namespace tutti
