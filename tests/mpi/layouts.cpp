#include "layouts.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tutti::tests {

namespace {

constexpr const char* kNames[kLayoutKinds] = {"contiguous", "vector", "indexed",  "permuted", "resized",
                                              "negative",   "struct", "subarray", "nested",   "large counts"};

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

/// Open MPI packs some vectors of vectors that go backwards wrong, 4.1 and 5.
#ifdef OPEN_MPI
constexpr bool kBackwards = false;
#else
constexpr bool kBackwards = true;
#endif

/// A number that divides `elements`.
std::size_t draw_divisor(std::size_t elements, std::mt19937_64& random) {
  std::size_t divisor = draw(random, 1, std::max<std::size_t>(1, std::min<std::size_t>(elements, 64)));
  while (elements % divisor != 0) --divisor;
  return divisor;
}

/// `count` times what there is, at a distance.
void repeat(std::vector<MPI_Aint>& places, std::size_t count, MPI_Aint distance) {
  const std::vector<MPI_Aint> once = places;
  for (std::size_t i = 1; i < count; ++i)
    for (const MPI_Aint place : once) places.push_back(place + static_cast<MPI_Aint>(i) * distance);
}

/// Null if the host lacks it.
template <class Function>
Function of_host(const char* name) {
  void* const address = dlsym(RTLD_DEFAULT, name);
  Function function = nullptr;
  std::memcpy(&function, &address, sizeof function);
  return function;
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
      const std::size_t length = draw_divisor(elements, random);
      const int blocks = static_cast<int>(elements / length);
      const int stride = static_cast<int>(length + draw(random, 1, 5));
      PMPI_Type_vector(blocks, static_cast<int>(length), stride, basic_, &type_);
      append_run(places, 0, static_cast<int>(length), basic_bytes_);
      repeat(places, elements / length, stride * basic_bytes_);
      return places;
    }
    case LayoutKind::kNested:
      return make_nested(elements, random);
    case LayoutKind::kLarge:
      return make_large(elements, random);
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
  const int dimensions = static_cast<int>(draw(random, 1, 3));
  const bool fortran = random() % 2;
  int part[3], start[3], whole[3];
  for (int i = 0; i < dimensions; ++i) {
    part[i] = static_cast<int>(i + 1 == dimensions ? elements : draw_divisor(elements, random));
    elements /= static_cast<std::size_t>(part[i]);
    start[i] = static_cast<int>(draw(random, 0, 2));
    whole[i] = start[i] + part[i] + static_cast<int>(draw(random, 0, 2));
    // Often all of it: then it is fewer runs.
    if (random() % 3 == 0) start[i] = 0, whole[i] = part[i];
  }
  PMPI_Type_create_subarray(dimensions, whole, part, start, fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C, basic_, &type_);
  std::vector<MPI_Aint> places{0};
  MPI_Aint distance = basic_bytes_;
  for (int i = 0; i < dimensions; ++i) {
    const int dimension = fortran ? i : dimensions - 1 - i;
    for (MPI_Aint& place : places) place += start[dimension] * distance;
    repeat(places, static_cast<std::size_t>(part[dimension]), distance);
    distance *= whole[dimension];
  }
  return places;
}

std::vector<MPI_Aint> Layout::make_nested(std::size_t elements, std::mt19937_64& random) {
  std::vector<MPI_Aint> places{0};
  MPI_Datatype inner = MPI_DATATYPE_NULL, middle = MPI_DATATYPE_NULL;
  const std::size_t length = draw_divisor(elements, random), rows = draw_divisor(elements / length, random);
  const std::size_t blocks = elements / length / rows;
  const auto stride = static_cast<int>(length + draw(random, 0, 2));
  PMPI_Type_vector(static_cast<int>(rows), static_cast<int>(length), stride, basic_, &inner);
  repeat(places, length, basic_bytes_);
  repeat(places, rows, stride * basic_bytes_);
  if (random() % 2)
    PMPI_Type_dup(inner, &middle);
  else
    PMPI_Type_create_resized(inner, 0, basic_bytes_ * stride * static_cast<MPI_Aint>(rows), &middle);
  MPI_Aint distance = basic_bytes_ * (stride * static_cast<MPI_Aint>(rows) + static_cast<MPI_Aint>(draw(random, 0, 3)));
  if (kBackwards && random() % 3 == 0) distance = -distance;
  PMPI_Type_create_hvector(static_cast<int>(blocks), 1, distance, middle, &type_);
  repeat(places, blocks, distance);
  PMPI_Type_free(&inner);
  PMPI_Type_free(&middle);
  return places;
}

std::vector<MPI_Aint> Layout::make_large(std::size_t elements, std::mt19937_64& random) {
  using Vector = int (*)(MPI_Count, MPI_Count, MPI_Count, MPI_Datatype, MPI_Datatype*);
  using Contiguous = int (*)(MPI_Count, MPI_Datatype, MPI_Datatype*);
  static const auto vector = of_host<Vector>("PMPI_Type_vector_c");
  static const auto contiguous = of_host<Contiguous>("PMPI_Type_contiguous_c");
  if (!vector || !contiguous) return make_type(LayoutKind::kVector, elements, random);
  std::vector<MPI_Aint> places{0};
  if (random() % 3 == 0) {
    contiguous(static_cast<MPI_Count>(elements), basic_, &type_);
    repeat(places, elements, basic_bytes_);
    return places;
  }
  const auto blocks = static_cast<MPI_Count>(draw_divisor(elements, random));
  const MPI_Count length = static_cast<MPI_Count>(elements) / blocks;
  const MPI_Count stride = length + static_cast<MPI_Count>(draw(random, 0, 3));
  vector(blocks, length, stride, basic_, &type_);
  repeat(places, static_cast<std::size_t>(length), basic_bytes_);
  repeat(places, static_cast<std::size_t>(blocks), static_cast<MPI_Aint>(stride) * basic_bytes_);
  return places;
}

}  // namespace tutti::tests
