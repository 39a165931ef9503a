#include "mpi/arguments/datatypes.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "mpi/arguments/recent.h"

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

/// The type that `datatype` repeats without gaps in the order of its signature, if it is so simple.
bool is_plain(MPI_Datatype datatype, int depth) {
  if (predefined_types().count(key_of(datatype))) return predefined_types()[key_of(datatype)].contiguous;
  if (depth > 8) return false;
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  if (host.Type_get_envelope(datatype, &integers, &addresses, &types, &combiner) != MPI_SUCCESS) return false;
  if (combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP) return false;
  std::vector<int> integer(static_cast<std::size_t>(integers) + 1);
  std::vector<MPI_Aint> address(static_cast<std::size_t>(addresses) + 1);
  std::vector<MPI_Datatype> inner(static_cast<std::size_t>(types) + 1);
  if (host.Type_get_contents(datatype, integers, addresses, types, integer.data(), address.data(), inner.data()) !=
      MPI_SUCCESS)
    return false;
  const bool plain = is_plain(inner[0], depth + 1);
  if (!type_has_a_name(inner[0])) host.Type_free(&inner[0]);
  return plain;
}

}  // namespace

bool type_has_a_name(MPI_Datatype datatype) {
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
  host.Type_get_envelope(datatype, &integers, &addresses, &types, &combiner);
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
         combiner == MPI_COMBINER_F90_INTEGER;
}

void learn_predefined() {
  learn_c_types();
  learn_fortran_types();
  learn_operators();
}

constinit thread_local bool HostOutOfReach::here = false;

const TypeInfo* type_info(MPI_Datatype datatype, TypeInfo& room) {
  struct Found {
    std::uintptr_t key = 0;
    const TypeInfo* info = nullptr;
  };
  static constinit thread_local Recent<Found, 1> recent;
  const std::uintptr_t key = key_of(datatype);
  Found& last = recent.place(key);
  if (last.info && last.key == key) return last.info;
  const auto found = predefined_types().find(key);
  if (found != predefined_types().end()) {
    last = {key, &found->second};  // predefined types are never freed
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

OperatorInfo operator_info(MPI_Op operation) {
  if (key_of(operation) == 0 || operation == MPI_OP_NULL) return {};
  const auto found = predefined_operators().find(key_of(operation));
  if (found != predefined_operators().end()) return {OperatorKind::predefined, found->second};
  if (HostOutOfReach::is() || operation == MPI_REPLACE || operation == MPI_NO_OP) return {};
  return {OperatorKind::user, {}};
}

}  // namespace tutti::mpi
