#include "mpi/arguments/datatypes.h"

#include <cstdint>
#include <unordered_map>

#include "mpi/arguments/recent.h"
#include "mpi/arguments/type_contents.h"

namespace tutti::mpi {

namespace {

using reduction::Operator;
using reduction::Type;

std::unordered_map<std::uintptr_t, TypeInfo>& predefined_types() {
  static std::unordered_map<std::uintptr_t, TypeInfo> types;
  return types;
}
std::unordered_map<std::uintptr_t, Operator>& predefined_operators() {
  static std::unordered_map<std::uintptr_t, Operator> operators;
  return operators;
}

enum class Family { signed_integer, unsigned_integer, floating, complex, logical };

/// The kernel's type for a family and a size in bytes.
std::optional<Type> by_size(Family family, std::size_t bytes) {
  struct Row {
    Family family;
    std::size_t bytes;
    Type type;
  };
  static constexpr Row rows[] = {
      {Family::signed_integer, 1, Type::i8},    {Family::signed_integer, 2, Type::i16},
      {Family::signed_integer, 4, Type::i32},   {Family::signed_integer, 8, Type::i64},
      {Family::unsigned_integer, 1, Type::u8},  {Family::unsigned_integer, 2, Type::u16},
      {Family::unsigned_integer, 4, Type::u32}, {Family::unsigned_integer, 8, Type::u64},
      {Family::floating, 4, Type::f32},         {Family::floating, 8, Type::f64},
      {Family::complex, 8, Type::c32},          {Family::complex, 16, Type::c64},
      {Family::logical, 1, Type::logical8},     {Family::logical, 2, Type::logical16},
      {Family::logical, 4, Type::logical32},    {Family::logical, 8, Type::logical64},
  };
  for (const Row& row : rows)
    if (row.family == family && row.bytes == bytes) return row.type;
  return std::nullopt;
}

bool known_to_host(MPI_Datatype datatype) {
  return key_of(datatype) != 0 && datatype != MPI_DATATYPE_NULL;
}

void add(MPI_Datatype datatype, std::optional<Type> kernel_type) {
  if (!known_to_host(datatype)) return;
  int size = 0;
  MPI_Aint lower = 0, extent = 0;
  host.Type_size(datatype, &size);
  host.Type_get_extent(datatype, &lower, &extent);
  TypeInfo info;
  info.bytes = static_cast<std::size_t>(size);
  info.predefined = true;
  info.contiguous = lower == 0 && extent == size;
  // A pair with padding is one element of its C struct for a reduction, and two values for everything else.
  if (kernel_type && reduction::size_of(*kernel_type) == static_cast<std::size_t>(extent))
    info.kernel_type = kernel_type;
  predefined_types().emplace(key_of(datatype), info);
}

void add_by_size(MPI_Datatype datatype, Family family) {
  if (!known_to_host(datatype)) return;
  int size = 0;
  host.Type_size(datatype, &size);
  add(datatype, by_size(family, static_cast<std::size_t>(size)));
}

void learn_c_types() {
  for (const MPI_Datatype type : {MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_INT8_T, MPI_INT16_T,
                                  MPI_INT32_T, MPI_INT64_T, MPI_AINT, MPI_OFFSET, MPI_COUNT})
    add_by_size(type, Family::signed_integer);
  for (const MPI_Datatype type : {MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG,
                                  MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T})
    add_by_size(type, Family::unsigned_integer);
  for (const MPI_Datatype type : {MPI_FLOAT, MPI_DOUBLE}) add_by_size(type, Family::floating);
  for (const MPI_Datatype type :
       {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX})
    add_by_size(type, Family::complex);
  add(MPI_LONG_DOUBLE, Type::f80);
  add(MPI_C_LONG_DOUBLE_COMPLEX, Type::c80);
  add(MPI_CXX_LONG_DOUBLE_COMPLEX, Type::c80);
  add(MPI_C_BOOL, Type::boolean);
  add(MPI_CXX_BOOL, Type::boolean);
  add(MPI_BYTE, Type::byte);
  // MPI defines no reduction on these.
  for (const MPI_Datatype type : {MPI_CHAR, MPI_WCHAR, MPI_PACKED}) add(type, std::nullopt);
  add(MPI_FLOAT_INT, Type::f32_i32);
  add(MPI_DOUBLE_INT, Type::f64_i32);
  add(MPI_LONG_INT, Type::i64_i32);
  add(MPI_2INT, Type::i32_i32);
  add(MPI_SHORT_INT, Type::i16_i32);
  add(MPI_LONG_DOUBLE_INT, Type::f80_i32);
}

/// Fortran's types: a host built without Fortran has null handles or sizes of its own.
void learn_fortran_types() {
  for (const MPI_Datatype type : {MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8})
    add_by_size(type, Family::signed_integer);
  for (const MPI_Datatype type : {MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8})
    add_by_size(type, Family::floating);
  for (const MPI_Datatype type : {MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16})
    add_by_size(type, Family::complex);
  add_by_size(MPI_LOGICAL, Family::logical);
  add(MPI_CHARACTER, std::nullopt);
  add(MPI_2INTEGER, Type::i32_i32);
  add(MPI_2REAL, Type::f32_f32);
  add(MPI_2DOUBLE_PRECISION, Type::f64_f64);
}

void learn_operators() {
  const std::pair<MPI_Op, Operator> all[] = {
      {MPI_MAX, Operator::max},   {MPI_MIN, Operator::min},       {MPI_SUM, Operator::sum},
      {MPI_PROD, Operator::prod}, {MPI_LAND, Operator::land},     {MPI_BAND, Operator::band},
      {MPI_LOR, Operator::lor},   {MPI_BOR, Operator::bor},       {MPI_LXOR, Operator::lxor},
      {MPI_BXOR, Operator::bxor}, {MPI_MAXLOC, Operator::maxloc}, {MPI_MINLOC, Operator::minloc}};
  for (const auto& [handle, operation] : all) predefined_operators().emplace(key_of(handle), operation);
}

/// Whether it repeats a predefined type without gaps, in the order of its signature.
bool is_plain(MPI_Datatype datatype, int depth) {
  if (predefined_types().count(key_of(datatype))) return predefined_types()[key_of(datatype)].contiguous;
  if (depth > 8) return false;
  const TypeContents contents(datatype);
  return (contents.combiner() == MPI_COMBINER_CONTIGUOUS || contents.combiner() == MPI_COMBINER_DUP) &&
         is_plain(contents.type(), depth + 1);
}

}  // namespace

void learn_predefined() {
  learn_c_types();
  learn_fortran_types();
  learn_operators();
}

constinit thread_local bool HostOutOfReach::here = false;

namespace {

/// The type that was asked about last, if it is predefined.
struct LastType {
  std::uintptr_t key = 0;
  const TypeInfo* info = nullptr;
};

[[gnu::noinline]] const TypeInfo* find_type_info(MPI_Datatype datatype, TypeInfo& room, LastType& last) {
  const auto found = predefined_types().find(key_of(datatype));
  if (found != predefined_types().end()) {
    last = {found->first, &found->second};  // predefined types are never freed
    return last.info;
  }
  if (HostOutOfReach::is() || !known_to_host(datatype)) return nullptr;
  // Not MPI_Type_size, whose int is too small for some: peers may describe the same bytes by several smaller elements.
  MPI_Count size = 0;
  MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  if (host.Type_size_x(datatype, &size) != MPI_SUCCESS || size < 0 ||
      host.Type_get_extent(datatype, &lower, &extent) != MPI_SUCCESS ||
      host.Type_get_true_extent(datatype, &true_lower, &true_extent) != MPI_SUCCESS)
    return nullptr;
  room = {};
  room.bytes = static_cast<std::size_t>(size);
  room.contiguous = lower == 0 && true_lower == 0 && extent == size && true_extent == size && is_plain(datatype, 0);
  return &room;
}

}  // namespace

const TypeInfo* type_info(MPI_Datatype datatype, TypeInfo& room) {
  static constinit thread_local Recent<LastType, 1> recent;
  const std::uintptr_t key = key_of(datatype);
  LastType& last = recent.place(key);
  if (last.info && last.key == key) [[likely]]
    return last.info;
  return find_type_info(datatype, room, last);
}

namespace {

std::optional<memory::Layout> layout_of_type(MPI_Datatype datatype, int depth);

/// Dimensions in the order in which their elements follow each other.
std::optional<memory::Layout> layout_of_subarray(const TypeContents& contents, memory::Layout layout, MPI_Aint extent) {
  const auto dimensions = static_cast<std::size_t>(contents.number(0));
  const bool first_is_innermost = contents.number(3 * dimensions + 1) == MPI_ORDER_FORTRAN;
  MPI_Aint distance = extent;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::size_t dimension = 1 + (first_is_innermost ? i : dimensions - 1 - i);
    if (!layout.repeat(static_cast<std::size_t>(contents.number(dimensions + dimension)), distance))
      return std::nullopt;
    layout.move(contents.number(2 * dimensions + dimension) * distance);
    distance *= contents.number(dimension);
  }
  return layout;
}

/// `blocks` times `length` elements of the type that the contents have.
std::optional<memory::Layout> layout_of_blocks(const TypeContents& contents, std::int64_t blocks, MPI_Aint distance,
                                               std::int64_t length, int depth) {
  std::optional<memory::Layout> layout = layout_of_type(contents.type(), depth);
  MPI_Aint lower = 0, extent = 0;
  host.Type_get_extent(contents.type(), &lower, &extent);
  if (!layout || !layout->repeat(static_cast<std::size_t>(length), extent) ||
      !layout->repeat(static_cast<std::size_t>(blocks), distance))
    return std::nullopt;
  return layout;
}

/// Of a type that has bytes, and so no count of none among its arguments but in lists.
std::optional<memory::Layout> layout_of_type(MPI_Datatype datatype, int depth) {
  if (const auto found = predefined_types().find(key_of(datatype)); found != predefined_types().end())
    return found->second.contiguous ? std::optional(memory::Layout(found->second.bytes)) : std::nullopt;
  if (depth > 8) return std::nullopt;
  const TypeContents contents(datatype);
  MPI_Aint lower = 0, extent = 0;
  switch (contents.combiner()) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      return layout_of_type(contents.type(), depth + 1);
    case MPI_COMBINER_CONTIGUOUS:
      return layout_of_blocks(contents, 1, 0, contents.number(0), depth + 1);
    case MPI_COMBINER_VECTOR:
      host.Type_get_extent(contents.type(), &lower, &extent);
      return layout_of_blocks(contents, contents.number(0), contents.number(2) * extent, contents.number(1), depth + 1);
    case MPI_COMBINER_HVECTOR:
      return layout_of_blocks(contents, contents.number(0), contents.displacement(0), contents.number(1), depth + 1);
    case MPI_COMBINER_SUBARRAY: {
      const std::optional<memory::Layout> element = layout_of_type(contents.type(), depth + 1);
      host.Type_get_extent(contents.type(), &lower, &extent);
      return element ? layout_of_subarray(contents, *element, extent) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<memory::Layout> layout_of(MPI_Datatype datatype, std::size_t count) {
  TypeInfo room;
  const TypeInfo* const info = type_info(datatype, room);
  if (count == 0 || !info || info->bytes == 0) return std::nullopt;
  std::optional<memory::Layout> layout = layout_of_type(datatype, 0);
  MPI_Aint lower = 0, extent = 0;
  host.Type_get_extent(datatype, &lower, &extent);
  if (!layout || !layout->repeat(count, extent) || layout->bytes() != count * info->bytes) return std::nullopt;
  return layout;
}

OperatorInfo operator_info(MPI_Op operation) {
  if (key_of(operation) == 0 || operation == MPI_OP_NULL) return {};
  const auto found = predefined_operators().find(key_of(operation));
  if (found != predefined_operators().end()) return {OperatorKind::predefined, found->second};
  if (HostOutOfReach::is() || operation == MPI_REPLACE || operation == MPI_NO_OP) return {};
  return {OperatorKind::user, {}};
}

}  // namespace tutti::mpi
