#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <vector>

#include "layouts.h"
#include "semantics.h"
#include "types.h"

namespace tutti::tests {

namespace {

/// Read-only for the whole program: a root may broadcast it, and anybody may reduce it.
constexpr std::size_t kConstants = 12'000;
struct Constants {
  int at[kConstants];
};
constexpr Constants make_constants() {
  Constants constants{};
  for (std::size_t i = 0; i < kConstants; ++i) constants.at[i] = static_cast<int>(i * 3 % 1009);
  return constants;
}
constexpr Constants kReadOnly = make_constants();

struct NamedType {
  const char* name;
  MPI_Datatype type;
};

}  // namespace

void broadcast_of_every_predefined_type(Context& context) {
  int turn = 0;
  std::vector<NamedType> types{{"MPI_CHAR", MPI_CHAR}, {"MPI_WCHAR", MPI_WCHAR}, {"MPI_BYTE", MPI_BYTE}};
  const std::vector<TypeCase> reducible = reducible_types();
  for (const TypeCase& type : reducible) types.push_back({type.name.c_str(), type.type});
  for (const NamedType& named : types) {
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    PMPI_Type_get_extent(named.type, &lower, &extent);
    int bytes = 0;
    PMPI_Type_size(named.type, &bytes);
    const int root = turn++ % context.size();
    for (const int count : {1, 2500}) {
      std::vector<unsigned char> data(static_cast<std::size_t>(extent) * static_cast<std::size_t>(count));
      const auto value = [](std::size_t i) { return static_cast<unsigned char>(i * 31 + 7); };
      if (context.rank() == root)
        for (std::size_t i = 0; i < data.size(); ++i) data[i] = value(i);
      MPI_Bcast(data.data(), count, named.type, root, MPI_COMM_WORLD);
      // Padding need not arrive; types without padding must arrive whole. A pair's value comes first in it.
      const std::size_t sure = extent == bytes ? data.size() : 2;
      bool right = true;
      for (std::size_t i = 0; i < sure; ++i) right = right && data[i] == value(i);
      context.expect(right, "Bcast of %d %s from %d", count, named.name, root);
    }
  }
  // Types that stand for a Fortran kind are predefined, too, but have no name.
  MPI_Datatype kind = MPI_DATATYPE_NULL;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int made = MPI_Type_create_f90_real(15, MPI_UNDEFINED, &kind);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  if (made == MPI_SUCCESS && kind != MPI_DATATYPE_NULL) {
    MPI_Datatype three = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(3, kind, &three);
    MPI_Type_commit(&three);
    double numbers[3] = {0, 0, context.rank() == 0 ? 1.5 : 0};
    MPI_Bcast(numbers, 1, three, 0, MPI_COMM_WORLD);
    context.expect(numbers[2] == 1.5, "Bcast of three elements of a Fortran kind");
    MPI_Type_free(&three);
  }
  // What MPI_Pack made is broadcast as MPI_PACKED.
  int numbers[3] = {1, 2, 3};
  char packed[64];
  int position = 0;
  if (context.rank() == 0) MPI_Pack(numbers, 3, MPI_INT, packed, sizeof packed, &position, MPI_COMM_WORLD);
  MPI_Bcast(&position, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Bcast(packed, position, MPI_PACKED, 0, MPI_COMM_WORLD);
  int unpacked[3] = {0, 0, 0};
  const int bytes = position;
  position = 0;
  MPI_Unpack(packed, bytes, &position, unpacked, 3, MPI_INT, MPI_COMM_WORLD);
  context.expect(std::memcmp(numbers, unpacked, sizeof numbers) == 0, "Bcast of MPI_PACKED");
}

void broadcast_with_another_layout_on_each_rank(Context& context) {
  for (const std::size_t elements : {std::size_t{1}, std::size_t{24}, std::size_t{2000}, std::size_t{60'000}}) {
    const int rounds = context.crowded() ? 2 : kLayoutKinds;
    for (int round = 0; round < rounds; ++round) {
      const auto kind = static_cast<LayoutKind>((context.rank() + round) % kLayoutKinds);
      std::mt19937_64 random(static_cast<std::uint64_t>(context.rank() * 1000 + round));
      const Layout layout(kind, MPI_INT, elements, random);
      constexpr unsigned char kGuard = 0x5A;
      std::vector<unsigned char> data(layout.bytes_before() + layout.bytes_behind() + 64, kGuard);
      std::vector<unsigned char> expected = data;
      const int root = round % context.size();
      for (std::size_t i = 0; i < elements; ++i) {
        const int value = static_cast<int>(i) * 5 + round;
        const auto place = static_cast<std::size_t>(static_cast<MPI_Aint>(layout.bytes_before()) + layout.places()[i]);
        std::memcpy(&expected[place], &value, sizeof value);
      }
      if (context.rank() == root) data = expected;
      MPI_Bcast(data.data() + layout.bytes_before(), layout.count(), layout.type(), root, MPI_COMM_WORLD);
      context.expect(data == expected, "Bcast of %zu ints from %d, here as %s type: data or gaps are wrong", elements,
                     root, name_of(kind));
    }
  }
}

namespace {

void reduce_between_places(Context& context, Place from, Place to, std::size_t elements) {
  const std::size_t bytes = elements * sizeof(int);
  const Memory send_memory(context, from, bytes, 0);
  const Memory receive_memory(context, to, bytes, 1);
  int* send = reinterpret_cast<int*>(send_memory.data());
  int* receive = reinterpret_cast<int*>(receive_memory.data());
  const int count = static_cast<int>(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    send[i] = static_cast<int>(i) + context.rank();
    receive[i] = -1;
  }
  MPI_Allreduce(send, receive, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const int rank_sum = context.size() * (context.size() - 1) / 2;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < elements; ++i) wrong += receive[i] != static_cast<int>(i) * context.size() + rank_sum;
  context.expect(wrong == 0, "Allreduce of %zu ints from %s to %s: %zu wrong", elements, name_of(from), name_of(to),
                 wrong);
  const int root = context.size() - 1;
  if (context.rank() != root) std::memset(receive, 0, bytes);
  MPI_Bcast(receive, count, MPI_INT, root, MPI_COMM_WORLD);
  wrong = 0;
  for (std::size_t i = 0; i < elements; ++i) wrong += receive[i] != static_cast<int>(i) * context.size() + rank_sum;
  context.expect(wrong == 0, "Bcast of %zu ints to %s: %zu wrong", elements, name_of(to), wrong);
}

}  // namespace

void buffers_may_be_anywhere(Context& context) {
  for (const std::size_t elements : {std::size_t{50}, std::size_t{10'000}, std::size_t{60'000}}) {
    for (int place = 0; place < kPlaces; ++place) {
      // The same kind on all ranks, then another on each.
      reduce_between_places(context, static_cast<Place>(place), static_cast<Place>((place + 1) % kPlaces), elements);
      if (context.crowded() && place % 3 != 0) continue;
      const int mixed = (place + 5 * context.rank()) % kPlaces;
      reduce_between_places(context, static_cast<Place>(mixed), static_cast<Place>((mixed + place) % kPlaces),
                            elements);
    }
  }
  // Read-only data of the program, and read-only pages, to send from. (Not to broadcast from: MPI_Bcast's buffer is not
  // const, and some MPIs write the root's data where it is already.)
  std::vector<int> sums(kConstants);
  const auto summed = [&] {
    for (std::size_t i = 0; i < kConstants; ++i)
      if (sums[i] != kReadOnly.at[i] * context.size()) return false;
    return true;
  };
  MPI_Allreduce(kReadOnly.at, sums.data(), static_cast<int>(kConstants), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  context.expect(summed(), "Allreduce of constants");
  const std::size_t bytes = sizeof kReadOnly;
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memcpy(pages, &kReadOnly, bytes);
  mprotect(pages, bytes, PROT_READ);
  sums.assign(kConstants, -1);
  MPI_Reduce(pages, sums.data(), static_cast<int>(kConstants), MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (context.rank() == 0) context.expect(summed(), "Reduce of read-only pages");
  munmap(pages, bytes);
  // Memory that is given back and taken anew at the same address must not be taken for the old one.
  for (int round = 0; round < 20; ++round) {
    void* anew = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int* values = static_cast<int*>(anew);
    if (context.rank() == round % context.size())
      for (std::size_t i = 0; i < kConstants; ++i) values[i] = static_cast<int>(i) + round;
    MPI_Bcast(values, static_cast<int>(kConstants), MPI_INT, round % context.size(), MPI_COMM_WORLD);
    context.expect(values[0] == round && values[kConstants - 1] == static_cast<int>(kConstants) - 1 + round,
                   "Bcast in pages mapped anew, round %d", round);
    munmap(anew, bytes);
  }
}

void large_messages_arrive(Context& context) {
  const std::size_t mebibytes = context.crowded() ? 8 : 64;
  const std::size_t elements = (mebibytes << 20) / sizeof(double);
  std::vector<double> data(elements);
  std::vector<double> sums(elements);
  const auto value = [](std::size_t i) { return static_cast<double>(i % 1000); };
  if (context.rank() == 0)
    for (std::size_t i = 0; i < elements; ++i) data[i] = value(i);
  MPI_Bcast(data.data(), static_cast<int>(elements), MPI_DOUBLE, 0, MPI_COMM_WORLD);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < elements; ++i) wrong += data[i] != value(i);
  context.expect(wrong == 0, "Bcast of %zu MiB: %zu elements are wrong", mebibytes, wrong);
  MPI_Allreduce(data.data(), sums.data(), static_cast<int>(elements), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  wrong = 0;
  for (std::size_t i = 0; i < elements; ++i) wrong += sums[i] != value(i) * context.size();
  context.expect(wrong == 0, "Allreduce of %zu MiB: %zu elements are wrong", mebibytes, wrong);
}

void elements_may_be_larger_than_an_int_counts(Context& context) {
  if (context.size() != 2 || context.crowded()) return;  // it takes a second
  // Address space of more than 2 GiB over little memory: the same pages again and again.
  constexpr std::size_t times = 65, piece = std::size_t{32} << 20;
  const int file = memfd_create("folded", 0);
  auto* const begin =
      static_cast<char*>(mmap(nullptr, times * piece, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  bool there = file >= 0 && ftruncate(file, piece) == 0 && begin != MAP_FAILED;
  for (std::size_t i = 0; there && i < times; ++i)
    there = mmap(begin + i * piece, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
  if (context.expect(there, "no address space of 2 GiB")) {
    MPI_Datatype small = MPI_DATATYPE_NULL, large = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(piece), MPI_BYTE, &small);
    MPI_Type_contiguous(static_cast<int>(times), small, &large);
    MPI_Type_commit(&small);
    MPI_Type_commit(&large);
    if (context.rank() == 0)
      for (std::size_t i = 0; i < piece; i += 4096) begin[i] = static_cast<char>(i >> 12 | 1);
    // The size of the one does not fit into an int, that of the others does.
    if (context.rank() == 0)
      MPI_Bcast(begin, 1, large, 0, MPI_COMM_WORLD);
    else
      MPI_Bcast(begin, static_cast<int>(times), small, 0, MPI_COMM_WORLD);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < piece; i += 4096) wrong += begin[i] != static_cast<char>(i >> 12 | 1);
    context.expect(wrong == 0, "Bcast of an element of more than 2 GiB: %zu wrong", wrong);
    MPI_Type_free(&small);
    MPI_Type_free(&large);
  }
  if (begin != MAP_FAILED) munmap(begin, times * piece);
  close(file);
}

void large_count_functions_work([[maybe_unused]] Context& context) {
#if MPI_VERSION >= 4
  for (const MPI_Count count : {MPI_Count{0}, MPI_Count{10}, MPI_Count{30'000}}) {
    const auto elements = static_cast<std::size_t>(count);
    std::vector<int> send(elements, context.rank() + 1);
    std::vector<int> receive(elements, 0);
    const int sum = context.size() * (context.size() + 1) / 2;
    MPI_Allreduce_c(send.data(), receive.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    context.expect(receive == std::vector<int>(elements, sum), "Allreduce_c of %zu ints", elements);
    receive.assign(elements, 0);
    MPI_Reduce_c(send.data(), receive.data(), count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (context.rank() == 0)
      context.expect(receive == std::vector<int>(elements, sum), "Reduce_c of %zu ints", elements);
    MPI_Bcast_c(receive.data(), count, MPI_INT, 0, MPI_COMM_WORLD);
    context.expect(receive == std::vector<int>(elements, sum), "Bcast_c of %zu ints", elements);
  }
#endif
}

}  // namespace tutti::tests
