#include "mpi/arguments/device_elements.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "mpi/arguments/call_memory.h"
#include "mpi/arguments/device_memory.h"
#include "mpi/arguments/type_contents.h"
#include "mpi/errors.h"

namespace tutti::mpi {

namespace {

using memory::DeviceRuntime;

/// From the first byte of the elements to the last, gaps included.
struct Span {
  std::byte* begin;
  std::size_t bytes;
  std::ptrdiff_t origin;  ///< from `begin` to the buffer's address
};

Span span_of(const void* buffer, std::size_t count, MPI_Datatype datatype) {
  MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  host.Type_get_extent(datatype, &lower, &extent);
  host.Type_get_true_extent(datatype, &true_lower, &true_extent);
  const MPI_Aint last = extent * static_cast<MPI_Aint>(count - 1);
  const MPI_Aint first_byte = true_lower + std::min<MPI_Aint>(0, last);
  const auto bytes = static_cast<std::size_t>(true_extent + (last < 0 ? -last : last));
  auto* const at = static_cast<std::byte*>(const_cast<void*>(buffer));
  return {reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(at) + static_cast<std::uintptr_t>(first_byte)),
          bytes, -first_byte};
}

/// Elements that are a part of others.
struct Part {
  std::byte* address;
  std::size_t count;
  MPI_Datatype datatype;
};

/// Those of an element at `base`, in the order of its signature; none if it was made in another way.
std::vector<Part> parts_of(const TypeContents& contents, std::byte* base) {
  std::vector<Part> parts;
  const auto add = [&](MPI_Aint displacement, std::int64_t count, MPI_Datatype datatype) {
    const auto at = reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(displacement);
    if (count > 0) parts.push_back({reinterpret_cast<std::byte*>(at), static_cast<std::size_t>(count), datatype});
  };
  const auto for_each_block = [&](auto&& add_block) {
    const auto blocks = static_cast<std::size_t>(contents.number(0));
    for (std::size_t i = 0; i < blocks; ++i) add_block(i);
  };
  switch (contents.combiner()) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      add(0, 1, contents.type());
      break;
    case MPI_COMBINER_CONTIGUOUS:
      add(0, contents.number(0), contents.type());
      break;
    case MPI_COMBINER_STRUCT:
      for_each_block([&](std::size_t i) { add(contents.displacement(i), contents.number(1 + i), contents.type(i)); });
      break;
    case MPI_COMBINER_HINDEXED:
      for_each_block([&](std::size_t i) { add(contents.displacement(i), contents.number(1 + i), contents.type()); });
      break;
    case MPI_COMBINER_HINDEXED_BLOCK:
      for_each_block([&](std::size_t i) { add(contents.displacement(i), contents.number(1), contents.type()); });
      break;
    default:
      break;
  }
  return parts;
}

/// each(part, info, at): at: where the part's bytes begin among those of all elements. Nothing if the elements cannot be
/// taken apart, else the first code that is an error.
template <class Each>
std::optional<int> for_each_part(void* buffer, std::size_t count, MPI_Datatype datatype, const TypeInfo& info,
                                 Each&& each) {
  const TypeContents contents(datatype);
  MPI_Aint lower = 0, extent = 0;
  host.Type_get_extent(datatype, &lower, &extent);
  const auto base = reinterpret_cast<std::uintptr_t>(buffer);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uintptr_t element = base + i * static_cast<std::uintptr_t>(extent);
    const std::vector<Part> parts = parts_of(contents, reinterpret_cast<std::byte*>(element));
    if (parts.empty()) return std::nullopt;
    std::size_t at = i * info.bytes;
    for (const Part& part : parts) {
      TypeInfo room;
      const TypeInfo* const of_part = type_info(part.datatype, room);
      if (!of_part) return std::nullopt;
      if (const int code = each(part, *of_part, at); code != MPI_SUCCESS) return code;
      at += part.count * of_part->bytes;
    }
  }
  return MPI_SUCCESS;
}

enum class Where { host, device, several };

/// Where the elements are; runtime: of which device.
Where where_are(const void* buffer, const Span& span, const DeviceRuntime*& runtime) {
  runtime = device_of(span.begin);
  // Displacements reach no further than the object in which they begin, unless they are absolute.
  if (!runtime) return buffer ? Where::host : Where::several;
  const auto begin = reinterpret_cast<std::uintptr_t>(span.begin);
  return runtime->allocation_of(span.begin).holds(begin, begin + span.bytes) ? Where::device : Where::several;
}

/// Calls store(at, rows) for the bytes of `mask` that are not zero, a piece of them or several of one length at one distance.
template <class Store>
bool for_each_piece(const std::byte* mask, std::size_t bytes, Store&& store) {
  std::size_t at = 0;
  const auto next = [&](std::size_t& begin, std::size_t& length) {
    while (at < bytes && mask[at] == std::byte{0}) ++at;
    begin = at;
    while (at < bytes && mask[at] != std::byte{0}) ++at;
    length = at - begin;
    return length > 0;
  };
  std::size_t begin = 0, length = 0;
  bool more = next(begin, length);
  while (more) {
    DeviceRuntime::Rows rows{length, length, 1};
    const std::size_t first = begin;
    while ((more = next(begin, length)) && length == rows.bytes) {
      const std::size_t distance = begin - first - (rows.count - 1) * rows.pitch;
      if (rows.count > 1 && distance != rows.pitch) break;
      rows.pitch = distance;
      ++rows.count;
    }
    if (!store(first, rows)) return false;
  }
  return true;
}

}  // namespace

int raised_if_failed(int code, MPI_Comm communicator) {
  if (code == MPI_SUCCESS || communicator == MPI_COMM_SELF) return code;
  return raise(communicator, code, "a copy of a buffer in memory of a device");
}

std::optional<int> pack_from_device(const void* buffer, std::size_t count, MPI_Datatype datatype, const TypeInfo& info,
                                    std::byte* bytes, MPI_Comm communicator) {
  if (!devices::may_be_there() || count == 0 || info.bytes == 0) return std::nullopt;
  const Span span = span_of(buffer, count, datatype);
  const DeviceRuntime* runtime = nullptr;
  const Where where = where_are(buffer, span, runtime);
  if (where == Where::host) return std::nullopt;
  if (where == Where::several) {
    const auto pack_part = [&](const Part& part, const TypeInfo& of_part, std::size_t at) {
      return pack(part.address, part.count, part.datatype, of_part, bytes + at, communicator);
    };
    if (const auto code = for_each_part(const_cast<void*>(buffer), count, datatype, info, pack_part)) return code;
    if (!runtime) return std::nullopt;
  }
  const CallMemory image(span.bytes);
  count_staged(span.bytes);
  if (!runtime->copy_to_host(image.get(), span.begin, span.bytes))
    return raised_if_failed(device_copy_failed(*runtime, span.bytes, false), communicator);
  return pack(image.get() + span.origin, count, datatype, info, bytes, communicator);
}

std::optional<int> unpack_to_device(const std::byte* bytes, void* buffer, std::size_t count, MPI_Datatype datatype,
                                    const TypeInfo& info, MPI_Comm communicator) {
  if (!devices::may_be_there() || count == 0 || info.bytes == 0) return std::nullopt;
  const Span span = span_of(buffer, count, datatype);
  const DeviceRuntime* runtime = nullptr;
  const Where where = where_are(buffer, span, runtime);
  if (where == Where::host) return std::nullopt;
  if (where == Where::several) {
    const auto unpack_part = [&](const Part& part, const TypeInfo& of_part, std::size_t at) {
      return unpack(bytes + at, part.address, part.count, part.datatype, of_part, communicator);
    };
    if (const auto code = for_each_part(buffer, count, datatype, info, unpack_part)) return code;
    if (!runtime) return std::nullopt;
  }
  const CallMemory image(span.bytes);
  count_staged(count * info.bytes);
  if (const int code = unpack(bytes, image.get() + span.origin, count, datatype, info, communicator);
      code != MPI_SUCCESS)
    return code;
  if (span.bytes == count * info.bytes)
    return runtime->copy_to_device(span.begin, image.get(), span.bytes)
               ? MPI_SUCCESS
               : raised_if_failed(device_copy_failed(*runtime, span.bytes, true), communicator);
  // What lies between the elements' members is the program's. Which bytes these are the host's MPI shows by what it stores.
  const CallMemory mask(span.bytes), marks(count * info.bytes);
  std::memset(mask.get(), 0, span.bytes);
  std::memset(marks.get(), 0xff, count * info.bytes);
  if (const int code = unpack(marks.get(), mask.get() + span.origin, count, datatype, info, communicator);
      code != MPI_SUCCESS)
    return code;
  const bool stored = for_each_piece(mask.get(), span.bytes, [&](std::size_t at, const DeviceRuntime::Rows& rows) {
    return rows.count == 1 ? runtime->copy_to_device(span.begin + at, image.get() + at, rows.bytes)
                           : runtime->copy_rows_to_device(span.begin + at, image.get() + at, rows);
  });
  return stored ? MPI_SUCCESS : raised_if_failed(device_copy_failed(*runtime, span.bytes, true), communicator);
}

}  // namespace tutti::mpi
