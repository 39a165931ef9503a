#include "layouts.h"

#include <algorithm>
#include <numeric>

namespace tutti::tests {

namespace {

constexpr const char* kNames[kLayoutKinds] = {"contiguous", "vector",   "indexed", "permuted",
                                              "resized",    "negative", "struct",  "subarray"};

std::size_t draw(std::mt19937_64& random, std::size_t least, std::size_t most) {
  return least + random() % (most - least + 1);
}

/// Block lengths that add up to `elements`, not many of them.
std::vector<int> draw_blocks(std::size_t elements, std::mt19937_64& random) {
  std::vector<int> lengths;
  const std::size_t longest = std::max<std::size_t>(1, elements / draw(random, 1, 40));
  while (elements > 0) {
    const std::size_t length = std::min(elements, draw(random, 1, longest));
    lengths.push_back(static_cast<int>(length));
    elements -= length;
  }
  return lengths;
}

void append_run(std::vector<MPI_Aint>& places, MPI_Aint start, int elements, MPI_Aint step) {
  for (int i = 0; i < elements; ++i) places.push_back(start + i * step);
}

}  // namespace

const char* name_of(LayoutKind kind) {
  return kNames[static_cast<int>(kind)];
}

Layout::Layout(LayoutKind kind, MPI_Datatype basic, std::size_t elements, std::mt19937_64& random) : basic_(basic) {
  MPI_Aint lower = 0;
  PMPI_Type_get_extent(basic, &lower, &basic_bytes_);
  // Several items of the type, where the number of elements allows it.
  std::size_t items = kind == LayoutKind::kContiguous || kind == LayoutKind::kResized
                          ? std::max<std::size_t>(elements, 1)
                          : draw(random, 1, 5);
  while (elements % items != 0) --items;
  const std::vector<MPI_Aint> item = make_type(kind, elements / items, random);
  if (owned_) PMPI_Type_commit(&type_);
  count_ = elements == 0 ? 0 : static_cast<int>(items);
  MPI_Aint extent = 0;
  PMPI_Type_get_extent(type_, &lower, &extent);
  places_.reserve(elements);
  MPI_Aint least = 0;
  MPI_Aint most = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count_); ++i) {
    const MPI_Aint start = static_cast<MPI_Aint>(i) * extent;
    // What the type covers counts, gaps at its ends included: hosts may touch none of it, but a buffer holds it.
    least = std::min(least, start + lower);
    most = std::max(most, start + lower + extent);
    for (const MPI_Aint place : item) {
      places_.push_back(start + place);
      least = std::min(least, start + place);
      most = std::max(most, start + place + basic_bytes_);
    }
  }
  bytes_before_ = static_cast<std::size_t>(-least);
  bytes_behind_ = static_cast<std::size_t>(most);
}

Layout::~Layout() {
  if (owned_ && type_ != MPI_DATATYPE_NULL) PMPI_Type_free(&type_);
}

std::vector<MPI_Aint> Layout::make_type(LayoutKind kind, std::size_t elements, std::mt19937_64& random) {
  std::vector<MPI_Aint> places;
  switch (kind) {
    case LayoutKind::kContiguous:
      type_ = basic_;
      owned_ = false;
      places.push_back(0);
      return places;
    case LayoutKind::kResized:
      PMPI_Type_create_resized(basic_, 0, basic_bytes_ * static_cast<MPI_Aint>(draw(random, 2, 4)), &type_);
      places.push_back(0);
      return places;
    case LayoutKind::kVector: {
      std::size_t length = draw(random, 1, std::max<std::size_t>(1, std::min<std::size_t>(elements, 64)));
      while (elements % length != 0) --length;
      const int blocks = static_cast<int>(elements / length);
      const int stride = static_cast<int>(length + draw(random, 1, 5));
      PMPI_Type_vector(blocks, static_cast<int>(length), stride, basic_, &type_);
      for (int block = 0; block < blocks; ++block)
        append_run(places, static_cast<MPI_Aint>(block) * stride * basic_bytes_, static_cast<int>(length),
                   basic_bytes_);
      return places;
    }
    case LayoutKind::kSubarray:
      return make_subarray(elements, random);
    default:
      return make_blocks(kind, elements, random);
  }
}

/// Blocks with gaps, in ascending order or shuffled, from zero or from below; as a struct the blocks are types of
/// their own.
std::vector<MPI_Aint> Layout::make_blocks(LayoutKind kind, std::size_t elements, std::mt19937_64& random) {
  const std::vector<int> lengths = draw_blocks(elements, random);
  std::vector<MPI_Aint> starts(lengths.size());
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (kind != LayoutKind::kIndexed) std::shuffle(order.begin(), order.end(), random);
  MPI_Aint at =
      kind == LayoutKind::kNegative ? -basic_bytes_ * static_cast<MPI_Aint>(draw(random, 1, elements + 3)) : 0;
  for (const std::size_t block : order) {
    at += basic_bytes_ * static_cast<MPI_Aint>(draw(random, 0, 3));
    starts[block] = at;
    at += basic_bytes_ * lengths[block];
  }
  const int blocks = static_cast<int>(lengths.size());
  if (kind == LayoutKind::kStruct) {
    std::vector<MPI_Datatype> types(lengths.size());
    for (std::size_t i = 0; i < types.size(); ++i) PMPI_Type_contiguous(lengths[i], basic_, &types[i]);
    const std::vector<int> ones(lengths.size(), 1);
    PMPI_Type_create_struct(blocks, ones.data(), starts.data(), types.data(), &type_);
    for (auto& type : types) PMPI_Type_free(&type);
  } else {
    PMPI_Type_create_hindexed(blocks, lengths.data(), starts.data(), basic_, &type_);
  }
  std::vector<MPI_Aint> places;
  for (std::size_t i = 0; i < lengths.size(); ++i) append_run(places, starts[i], lengths[i], basic_bytes_);
  return places;
}

std::vector<MPI_Aint> Layout::make_subarray(std::size_t elements, std::mt19937_64& random) {
  std::size_t columns = draw(random, 1, std::max<std::size_t>(1, std::min<std::size_t>(elements, 32)));
  while (elements % columns != 0) --columns;
  const int part[2] = {static_cast<int>(elements / columns), static_cast<int>(columns)};
  const int start[2] = {static_cast<int>(draw(random, 0, 2)), static_cast<int>(draw(random, 0, 3))};
  const int whole[2] = {start[0] + part[0] + static_cast<int>(draw(random, 0, 2)),
                        start[1] + part[1] + static_cast<int>(draw(random, 0, 3))};
  PMPI_Type_create_subarray(2, whole, part, start, MPI_ORDER_C, basic_, &type_);
  std::vector<MPI_Aint> places;
  for (int row = 0; row < part[0]; ++row)
    append_run(places, (static_cast<MPI_Aint>(start[0] + row) * whole[1] + start[1]) * basic_bytes_, part[1],
               basic_bytes_);
  return places;
}

}  // namespace tutti::tests
