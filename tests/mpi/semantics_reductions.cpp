#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "layouts.h"
#include "semantics.h"
#include "types.h"
#include "user_operations.h"

namespace tutti::tests {

namespace {

constexpr unsigned char kGuard = 0xA5;

/// A buffer with guard bytes behind it.
struct Guarded {
  explicit Guarded(std::size_t bytes) : bytes(bytes), memory(bytes + 64, kGuard) {}
  void* data() { return memory.data(); }
  bool guards_whole() const {
    for (std::size_t i = bytes; i < memory.size(); ++i)
      if (memory[i] != kGuard) return false;
    return true;
  }
  std::size_t bytes;
  std::vector<unsigned char> memory;
};

int error_class(int code) {
  int result = MPI_SUCCESS;
  if (code != MPI_SUCCESS) PMPI_Error_class(code, &result);
  return result;
}

void match_host(Context& context, MPI_Comm communicator, const TypeCase& type, const OperationCase& operation,
                int count, int root) {
  const auto elements = static_cast<std::size_t>(count);
  Guarded send(elements * type.bytes);
  Guarded own(elements * type.bytes);
  Guarded host(elements * type.bytes);
  type.fill(send.data(), elements, context.rank());
  const auto compare = [&](const char* collective, int host_code, int own_code, bool receives) {
    if (!context.expect(error_class(host_code) == error_class(own_code), "%s of %d %s with %s: error %d, host %d",
                        collective, count, type.name.c_str(), operation.name.c_str(), own_code, host_code))
      return;
    if (host_code != MPI_SUCCESS) return;
    const std::size_t wrong = receives ? type.first_difference(own.data(), host.data(), elements) : elements;
    context.expect(wrong == elements, "%s of %d %s with %s differs from the host's at element %zu", collective, count,
                   type.name.c_str(), operation.name.c_str(), wrong);
    context.expect(own.guards_whole(), "%s of %d %s with %s wrote behind its buffer", collective, count,
                   type.name.c_str(), operation.name.c_str());
  };
  int host_code = PMPI_Allreduce(send.data(), host.data(), count, type.type, operation.operation, communicator);
  int own_code = MPI_Allreduce(send.data(), own.data(), count, type.type, operation.operation, communicator);
  compare("Allreduce", host_code, own_code, true);
  if (host_code != MPI_SUCCESS) return;
  std::memset(own.data(), kGuard, own.bytes);
  std::memset(host.data(), kGuard, host.bytes);
  host_code = PMPI_Reduce(send.data(), host.data(), count, type.type, operation.operation, root, communicator);
  own_code = MPI_Reduce(send.data(), own.data(), count, type.type, operation.operation, root, communicator);
  compare("Reduce", host_code, own_code, context.rank() == root);
}

}  // namespace

void predefined_operations_match_the_host(Context& context) {
  // Not every host has every operator on every type that the standard has: what it refuses, Tutti must refuse too.
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  int turn = 0;
  for (const TypeCase& type : reducible_types()) {
    for (const OperationCase& operation : operations_on(type.category)) {
      const int root = turn % context.size();
      if (!context.crowded() || turn % 2 == 0) match_host(context, communicator, type, operation, 5, root);
      if (!context.crowded() || turn % 2 == 1) match_host(context, communicator, type, operation, 3001, root);
      ++turn;
    }
  }
  MPI_Comm_free(&communicator);
}

void operations_in_place_and_of_nothing(Context& context) {
  for (const int count : {0, 1, 7, 1000, 50'000}) {
    const auto elements = static_cast<std::size_t>(count);
    std::vector<double> values(elements + 1, -1.0);
    const auto refill = [&] {
      for (std::size_t i = 0; i < elements; ++i) values[i] = static_cast<double>(i % 100) + context.rank();
    };
    const double rank_sum = context.size() * (context.size() - 1) / 2.0;
    const auto summed = [&] {
      for (std::size_t i = 0; i < elements; ++i)
        if (values[i] != static_cast<double>(i % 100) * context.size() + rank_sum) return false;
      return values[elements] == -1.0;
    };
    refill();
    MPI_Allreduce(MPI_IN_PLACE, values.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    context.expect(summed(), "Allreduce in place of %d doubles", count);
    for (const int root : {0, context.size() - 1}) {
      refill();
      if (context.rank() == root) {
        MPI_Reduce(MPI_IN_PLACE, values.data(), count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
        context.expect(summed(), "Reduce in place of %d doubles to %d", count, root);
      } else {
        MPI_Reduce(values.data(), nullptr, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
        context.expect(count == 0 || values[0] == context.rank(), "Reduce changed what was sent");
      }
    }
  }
  // Nothing to send, no buffers at all.
  MPI_Bcast(nullptr, 0, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Reduce(nullptr, nullptr, 0, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Datatype empty = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(0, MPI_INT, &empty);
  MPI_Type_commit(&empty);
  int untouched = 42;
  MPI_Bcast(&untouched, 3, empty, 0, MPI_COMM_WORLD);
  context.expect(untouched == 42, "a Bcast of an empty type wrote");
  MPI_Type_free(&empty);
}

namespace {

extern "C" void add_ints(void* in, void* inout, int* length, MPI_Datatype*) {
  for (int i = 0; i < *length; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

}  // namespace

/// A rank that maps its own static data for its peers, too, has them at two addresses.
void static_arrays_are_reduced_in_place(Context& context) {
  constexpr int most = 40'000;
  static int values[most];
  MPI_Op add = MPI_OP_NULL;
  MPI_Op_create(&add_ints, 1, &add);
  const int rank_sum = context.size() * (context.size() - 1) / 2;
  for (const int count : {1500, 6000, 13'566, most}) {
    const auto refill = [&] {
      for (int i = 0; i < count; ++i) values[i] = i % 1000 + context.rank();
    };
    const auto summed = [&] {
      for (int i = 0; i < count; ++i)
        if (values[i] != i % 1000 * context.size() + rank_sum) return false;
      return true;
    };
    refill();
    MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_INT, add, MPI_COMM_WORLD);
    context.expect(summed(), "Allreduce in place of %d static ints", count);
    refill();
    MPI_Scan(MPI_IN_PLACE, values, count, MPI_INT, add, MPI_COMM_WORLD);
    const int before = context.rank() + 1;
    bool right = true;
    for (int i = 0; i < count; ++i) right = right && values[i] == i % 1000 * before + before * (before - 1) / 2;
    context.expect(right, "Scan in place of %d static ints", count);
    for (const int root : {0, context.size() - 1}) {
      refill();
      const bool is_root = context.rank() == root;
      MPI_Reduce(is_root ? MPI_IN_PLACE : values, is_root ? values : nullptr, count, MPI_INT, add, root,
                 MPI_COMM_WORLD);
      if (is_root) context.expect(summed(), "Reduce in place of %d static ints to %d", count, root);
    }
  }
  MPI_Op_free(&add);
}

void user_operations_combine_in_rank_order(Context& context) {
  MPI_Datatype matrix = make_matrix_type();
  MPI_Op product = MPI_OP_NULL;
  MPI_Op combine = MPI_OP_NULL;
  MPI_Op_create(&multiply_matrices, 0, &product);
  MPI_Op_create(&combine_numbers, 1, &combine);
  for (const int count : {1, 3, 500, 20'000}) {
    const auto elements = static_cast<std::size_t>(count);
    std::vector<Matrix> send(elements);
    std::vector<Matrix> receive(elements);
    for (std::size_t i = 0; i < elements; ++i) send[i] = matrix_of(context.rank(), i);
    const auto right = [&] {
      for (std::size_t i = 0; i < elements; ++i)
        if (receive[i] != product_of_ranks(context.size(), i)) return false;
      return true;
    };
    MPI_Allreduce(send.data(), receive.data(), count, matrix, product, MPI_COMM_WORLD);
    context.expect(right(), "Allreduce of %d matrices is not the product in rank order", count);
    const int root = (count + 1) % context.size();
    receive.assign(elements, Matrix{});
    MPI_Reduce(send.data(), receive.data(), count, matrix, product, root, MPI_COMM_WORLD);
    if (context.rank() == root)
      context.expect(right(), "Reduce of %d matrices to %d is not the product in rank order", count, root);
    receive = send;
    MPI_Allreduce(MPI_IN_PLACE, receive.data(), count, matrix, product, MPI_COMM_WORLD);
    context.expect(right(), "Allreduce in place of %d matrices is not the product in rank order", count);

    std::vector<std::uint32_t> numbers(elements);
    std::vector<std::uint32_t> combined(elements);
    for (std::size_t i = 0; i < elements; ++i)
      numbers[i] = static_cast<std::uint32_t>(i * 3 + static_cast<std::size_t>(context.rank()) * 5 + 1);
    MPI_Allreduce(numbers.data(), combined.data(), count, MPI_UINT32_T, combine, MPI_COMM_WORLD);
    bool all = true;
    for (std::size_t i = 0; i < elements; ++i) {
      auto expected = static_cast<std::uint32_t>(i * 3 + 1);
      for (std::uint32_t rank = 1; rank < static_cast<std::uint32_t>(context.size()); ++rank)
        expected = combine_two(expected, static_cast<std::uint32_t>(i * 3 + 1) + rank * 5);
      all = all && combined[i] == expected;
    }
    context.expect(all, "Allreduce of %d numbers with a commutative operator of the program", count);
  }
  MPI_Op_free(&product);
  MPI_Op_free(&combine);
  MPI_Type_free(&matrix);
}

namespace {

/// What the operator below needs to know about the derived type in use, as a program would keep it with its type.
const Layout* current_layout = nullptr;

/// inout = combine(in, inout) on every uint32_t of each item of the current layout.
void combine_layout(void* in, void* inout, int* count, MPI_Datatype* type) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  PMPI_Type_get_extent(*type, &lower, &extent);
  const std::size_t per_item = current_layout->places().size() / static_cast<std::size_t>(current_layout->count());
  for (int item = 0; item < *count; ++item) {
    for (std::size_t i = 0; i < per_item; ++i) {
      const MPI_Aint place = item * extent + current_layout->places()[i];
      std::uint32_t a = 0;
      std::uint32_t b = 0;
      std::memcpy(&a, static_cast<char*>(in) + place, sizeof a);
      std::memcpy(&b, static_cast<char*>(inout) + place, sizeof b);
      b = combine_two(a, b);
      std::memcpy(static_cast<char*>(inout) + place, &b, sizeof b);
    }
  }
}

/// Some hosts' commutative reductions make temporary buffers without regard to where the type's data begins: if that
/// is not at zero, Open MPI's ring (4.1 and 5.0) writes behind them, and Intel MPI 2021.18 gives wrong sums.
bool host_cannot_reduce(const Layout& layout, bool commutative) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  if (!std::strstr(version, "Open MPI") && !std::strstr(version, "Intel(R) MPI")) return false;
  return commutative && *std::min_element(layout.places().begin(), layout.places().end()) != 0;
}

}  // namespace

void user_operations_on_derived_types(Context& context) {
  std::mt19937_64 random(77);  // the same layouts on all ranks, as a reduction demands
  for (const int commutative : {0, 1}) {
    MPI_Op combine = MPI_OP_NULL;
    MPI_Op_create(&combine_layout, commutative, &combine);
    for (int kind = 0; kind < kLayoutKinds; ++kind) {
      for (const std::size_t elements : {std::size_t{60}, std::size_t{9000}}) {
        const Layout layout(static_cast<LayoutKind>(kind), MPI_UINT32_T, elements, random);
        current_layout = &layout;
        if (host_cannot_reduce(layout, commutative != 0)) continue;
        std::vector<unsigned char> send(layout.bytes_before() + layout.bytes_behind() + 64, kGuard);
        std::vector<unsigned char> receive(send.size(), kGuard);
        unsigned char* send_at = send.data() + layout.bytes_before();
        unsigned char* receive_at = receive.data() + layout.bytes_before();
        const auto value = [](std::size_t i, int rank) {
          return static_cast<std::uint32_t>(i * 7 + 1) * (static_cast<std::uint32_t>(rank) + 2);
        };
        for (std::size_t i = 0; i < elements; ++i) {
          const std::uint32_t mine = value(i, context.rank());
          std::memcpy(send_at + layout.places()[i], &mine, sizeof mine);
        }
        MPI_Allreduce(send_at, receive_at, layout.count(), layout.type(), combine, MPI_COMM_WORLD);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < elements; ++i) {
          std::uint32_t expected = value(i, 0);
          for (int rank = 1; rank < context.size(); ++rank) expected = combine_two(expected, value(i, rank));
          std::uint32_t got = 0;
          std::memcpy(&got, receive_at + layout.places()[i], sizeof got);
          wrong += got != expected;
        }
        context.expect(wrong == 0, "Allreduce of a %s type, %zu elements, commutative %d: %zu wrong",
                       name_of(static_cast<LayoutKind>(kind)), elements, commutative, wrong);
      }
    }
    MPI_Op_free(&combine);
  }
  current_layout = nullptr;
}

void everybody_gets_the_same_bits(Context& context) {
  // Sums that depend on the order of addition.
  for (const int count : {1, 3, 100, 3000, 40'000, 300'000}) {
    const auto elements = static_cast<std::size_t>(count);
    std::vector<double> send(elements);
    std::vector<double> receive(elements);
    std::vector<double> again(elements);
    for (std::size_t i = 0; i < elements; ++i)
      send[i] = std::ldexp(1.0 / (static_cast<double>(i) + 1.7 * context.rank() + 3), (context.rank() * 13) % 40);
    MPI_Allreduce(send.data(), receive.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(send.data(), again.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    context.expect(std::memcmp(receive.data(), again.data(), elements * sizeof(double)) == 0,
                   "Allreduce of %d doubles gave other bits the second time", count);
    std::vector<double> first = receive;
    PMPI_Bcast(first.data(), count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    context.expect(std::memcmp(receive.data(), first.data(), elements * sizeof(double)) == 0,
                   "Allreduce of %d doubles gave other bits than on rank 0", count);
  }
}

}  // namespace tutti::tests
