#include "mpi/arguments/device_elements.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "mpi/arguments/call_memory.h"
#include "mpi/arguments/device_memory.h"
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

/// What a type was made of. The types among it are freed, those with names excepted.
class Contents {
 public:
  explicit Contents(MPI_Datatype datatype) {
    int integers = 0, addresses = 0, types = 0;
    if (host.Type_get_envelope(datatype, &integers, &addresses, &types, &combiner_) != MPI_SUCCESS || types == 0)
      return;
    integers_.resize(static_cast<std::size_t>(integers) + 1);
    addresses_.resize(static_cast<std::size_t>(addresses) + 1);
    types_.resize(static_cast<std::size_t>(types));
    if (host.Type_get_contents(datatype, integers, addresses, types, integers_.data(), addresses_.data(),
                               types_.data()) != MPI_SUCCESS)
      types_.clear();
  }
  ~Contents() {
    for (MPI_Datatype& each : types_)
      if (!type_has_a_name(each)) host.Type_free(&each);
  }
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  /// Those of an element at `base`, in the order of its signature; none if it was made in another way.
  std::vector<Part> parts(std::byte* base) const {
    std::vector<Part> parts;
    if (types_.empty()) return parts;
    const auto add = [&](MPI_Aint displacement, int count, MPI_Datatype datatype) {
      const auto at = reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(displacement);
      if (count > 0) parts.push_back({reinterpret_cast<std::byte*>(at), static_cast<std::size_t>(count), datatype});
    };
    const auto blocks = static_cast<std::size_t>(integers_[0]);
    switch (combiner_) {
      case MPI_COMBINER_DUP:
      case MPI_COMBINER_RESIZED:
        add(0, 1, types_[0]);
        break;
      case MPI_COMBINER_CONTIGUOUS:
        add(0, integers_[0], types_[0]);
        break;
      case MPI_COMBINER_STRUCT:
        for (std::size_t i = 0; i < blocks; ++i) add(addresses_[i], integers_[1 + i], types_[i]);
        break;
      case MPI_COMBINER_HINDEXED:
        for (std::size_t i = 0; i < blocks; ++i) add(addresses_[i], integers_[1 + i], types_[0]);
        break;
      case MPI_COMBINER_HINDEXED_BLOCK:
        for (std::size_t i = 0; i < blocks; ++i) add(addresses_[i], integers_[1], types_[0]);
        break;
      default:
        break;
    }
    return parts;
  }

 private:
  int combiner_ = MPI_COMBINER_NAMED;
  std::vector<int> integers_;
  std::vector<MPI_Aint> addresses_;
  std::vector<MPI_Datatype> types_;
};

/// each(part, info, at): at: where the part's bytes begin among those of all elements. Nothing if the elements cannot be
/// taken apart, else the first code that is an error.
template <class Each>
std::optional<int> for_each_part(void* buffer, std::size_t count, MPI_Datatype datatype, const TypeInfo& info,
                                 Each&& each) {
  const Contents contents(datatype);
  MPI_Aint lower = 0, extent = 0;
  host.Type_get_extent(datatype, &lower, &extent);
  const auto base = reinterpret_cast<std::uintptr_t>(buffer);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uintptr_t element = base + i * static_cast<std::uintptr_t>(extent);
    const std::vector<Part> parts = contents.parts(reinterpret_cast<std::byte*>(element));
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
