#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "semantics.h"
#include "types.h"
#include "user_operations.h"

namespace tutti::tests {

namespace {

constexpr unsigned char kGuard = 0xA5;
constexpr std::size_t kGuards = 64;

int error_class(int code) {
  int result = MPI_SUCCESS;
  if (code != MPI_SUCCESS) PMPI_Error_class(code, &result);
  return result;
}

std::size_t at(int rank) {
  return static_cast<std::size_t>(rank);
}

/// Elements for each rank: none for some, more for higher ones. At least one in all.
std::vector<int> unequal_counts(int ranks, int about) {
  std::vector<int> counts(at(ranks));
  for (int rank = 0; rank < ranks; ++rank) counts[at(rank)] = rank % 3 == 1 ? 0 : about / ranks + 7 * rank + 1;
  return counts;
}

int sum_of(const std::vector<int>& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0);
}

int before(const std::vector<int>& counts, int rank) {
  return std::accumulate(counts.begin(), counts.begin() + rank, 0);
}

/// The results of a call by the host and by what is tested, each with guard bytes behind.
class Results {
 public:
  explicit Results(std::size_t bytes) : bytes_(bytes), own_(bytes + kGuards, kGuard), host_(bytes + kGuards, kGuard) {}
  void* own() { return own_.data(); }
  void* host() { return host_.data(); }
  /// elements: how many this rank gets.
  void compare(Context& context, const char* what, const TypeCase& type, const OperationCase& operation, int own_code,
               int host_code, std::size_t elements) {
    if (!context.expect(error_class(own_code) == error_class(host_code), "%s of %s with %s: error %d, host %d", what,
                        type.name.c_str(), operation.name.c_str(), own_code, host_code))
      return;
    if (host_code == MPI_SUCCESS) {
      const std::size_t wrong = type.first_difference(own_.data(), host_.data(), elements);
      context.expect(wrong == elements, "%s of %zu %s with %s differs from the host's at element %zu", what, elements,
                     type.name.c_str(), operation.name.c_str(), wrong);
    }
    bool whole = true;
    for (std::size_t i = elements * type.bytes; i < own_.size(); ++i) whole = whole && own_[i] == kGuard;
    context.expect(whole, "%s of %zu %s with %s wrote behind its buffer", what, elements, type.name.c_str(),
                   operation.name.c_str());
    own_.assign(bytes_ + kGuards, kGuard);
    host_.assign(bytes_ + kGuards, kGuard);
  }

 private:
  std::size_t bytes_;
  std::vector<unsigned char> own_, host_;
};

void match_host(Context& context, MPI_Comm comm, const TypeCase& type, const OperationCase& operation, int about) {
  const std::vector<int> counts = unequal_counts(context.size(), about);
  const int block = (about + context.size() - 1) / context.size();
  const int count = std::max(sum_of(counts), block * context.size());
  const std::size_t bytes = static_cast<std::size_t>(count) * type.bytes;
  std::vector<unsigned char> send(bytes);
  type.fill(send.data(), static_cast<std::size_t>(count), context.rank());
  Results results(bytes);
  const auto check = [&](const char* what, int own_code, int host_code, int elements) {
    results.compare(context, what, type, operation, own_code, host_code, static_cast<std::size_t>(elements));
    return host_code == MPI_SUCCESS;
  };
  int host = PMPI_Scan(send.data(), results.host(), count, type.type, operation.operation, comm);
  int own = MPI_Scan(send.data(), results.own(), count, type.type, operation.operation, comm);
  if (!check("Scan", own, host, count)) return;
  host = PMPI_Exscan(send.data(), results.host(), count, type.type, operation.operation, comm);
  own = MPI_Exscan(send.data(), results.own(), count, type.type, operation.operation, comm);
  check("Exscan", own, host, context.rank() > 0 ? count : 0);
  host = PMPI_Reduce_scatter(send.data(), results.host(), counts.data(), type.type, operation.operation, comm);
  own = MPI_Reduce_scatter(send.data(), results.own(), counts.data(), type.type, operation.operation, comm);
  check("Reduce_scatter", own, host, counts[at(context.rank())]);
  host = PMPI_Reduce_scatter_block(send.data(), results.host(), block, type.type, operation.operation, comm);
  own = MPI_Reduce_scatter_block(send.data(), results.own(), block, type.type, operation.operation, comm);
  check("Reduce_scatter_block", own, host, block);
  type.fill(results.host(), static_cast<std::size_t>(count), context.rank() + 1);
  type.fill(results.own(), static_cast<std::size_t>(count), context.rank() + 1);
  host = PMPI_Reduce_local(send.data(), results.host(), count, type.type, operation.operation);
  own = MPI_Reduce_local(send.data(), results.own(), count, type.type, operation.operation);
  check("Reduce_local", own, host, count);
}

}  // namespace

void scans_match_the_host(Context& context) {
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // that of Reduce_local
  PMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int turn = 0;
  for (const TypeCase& type : reducible_types()) {
    for (const OperationCase& operation : operations_on(type.category)) {
      if (!context.crowded() || turn % 2 == 0) match_host(context, communicator, type, operation, 5);
      if (!context.crowded() || turn % 2 == 1) match_host(context, communicator, type, operation, 3001);
      ++turn;
    }
  }
  PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  PMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&communicator);
}

void scans_in_place_and_of_nothing(Context& context) {
  const int ranks = context.size();
  const int self = context.rank();
  for (const int count : {0, 1, 7, 1000, 50'000}) {
    const auto elements = static_cast<std::size_t>(count);
    std::vector<double> values(elements + 1, -1.0);
    const auto refill = [&] {
      for (std::size_t i = 0; i < elements; ++i) values[i] = static_cast<double>(i % 100) + self;
    };
    const auto sum_up_to = [&](std::size_t i, int end) {
      return static_cast<double>(i % 100) * end + end * (end - 1) / 2.0;
    };
    const auto summed = [&](int end) {
      for (std::size_t i = 0; i < elements; ++i)
        if (values[i] != sum_up_to(i, end)) return false;
      return values[elements] == -1.0;
    };
    refill();
    MPI_Scan(MPI_IN_PLACE, values.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    context.expect(summed(self + 1), "Scan in place of %d doubles", count);
    refill();
    MPI_Exscan(MPI_IN_PLACE, values.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (self > 0) context.expect(summed(self), "Exscan in place of %d doubles", count);

    // The result is at the beginning; what is behind it in the buffer may change (it does with MPICH).
    const auto scattered = [&](std::size_t own, std::size_t first, std::size_t total, const std::vector<double>& got) {
      for (std::size_t i = 0; i < own; ++i)
        if (got[i] != sum_up_to(first + i, ranks)) return false;
      return got[total] == -1.0;
    };
    const std::vector<int> counts = count == 0 ? std::vector<int>(at(ranks), 0) : unequal_counts(ranks, count);
    const std::size_t total = static_cast<std::size_t>(sum_of(counts));
    std::vector<double> all(total + 1, -1.0);
    for (std::size_t i = 0; i < total; ++i) all[i] = static_cast<double>(i % 100) + self;
    MPI_Reduce_scatter(MPI_IN_PLACE, all.data(), counts.data(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    context.expect(scattered(at(counts[at(self)]), at(before(counts, self)), total, all),
                   "Reduce_scatter in place of %zu doubles", total);
    std::vector<double> blocks(elements * at(ranks) + 1, -1.0);
    for (std::size_t i = 0; i + 1 < blocks.size(); ++i) blocks[i] = static_cast<double>(i % 100) + self;
    MPI_Reduce_scatter_block(MPI_IN_PLACE, blocks.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    context.expect(scattered(elements, elements * at(self), elements * at(ranks), blocks),
                   "Reduce_scatter_block in place of %d doubles", count);
  }
  // No buffers at all where there is nothing to receive, or nothing at all.
  MPI_Scan(nullptr, nullptr, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  std::vector<int> last_only(at(ranks), 0);
  last_only.back() = 3;
  const std::vector<int> send(3, 2);
  std::vector<int> receive(3, 0);
  const bool is_last = self + 1 == ranks;
  MPI_Reduce_scatter(send.data(), is_last ? receive.data() : nullptr, last_only.data(), MPI_INT, MPI_SUM,
                     MPI_COMM_WORLD);
  if (is_last) context.expect(receive == std::vector<int>(3, 2 * ranks), "Reduce_scatter to the last rank only");
  std::vector<int> scanned(3, -1);
  MPI_Exscan(send.data(), scanned.data(), 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  context.expect(scanned == std::vector<int>(3, self > 0 ? 2 * self : -1), "Exscan, which gives rank 0 nothing");
}

void scans_with_user_operations_keep_rank_order(Context& context) {
  MPI_Datatype matrix = make_matrix_type();
  MPI_Op product = MPI_OP_NULL;
  MPI_Op_create(&multiply_matrices, 0, &product);
  const int self = context.rank();
  for (const int count : {1, 3, 500, 20'000}) {
    const std::vector<int> counts = unequal_counts(context.size(), count);
    const auto elements = at(std::max(sum_of(counts), count * context.size()));
    std::vector<Matrix> send(elements);
    for (std::size_t i = 0; i < elements; ++i) send[i] = matrix_of(self, i);
    std::vector<Matrix> receive;
    const auto right = [&](int ranks, int first, int length) {
      for (std::size_t i = 0; i < at(length); ++i)
        if (receive[i] != product_of_ranks(ranks, at(first) + i)) return false;
      return true;
    };
    receive.assign(elements, Matrix{});
    MPI_Scan(send.data(), receive.data(), count, matrix, product, MPI_COMM_WORLD);
    context.expect(right(self + 1, 0, count), "Scan of %d matrices is not the product in rank order", count);
    receive = send;
    MPI_Scan(MPI_IN_PLACE, receive.data(), count, matrix, product, MPI_COMM_WORLD);
    context.expect(right(self + 1, 0, count), "Scan in place of %d matrices is not the product in rank order", count);
    receive = send;
    MPI_Exscan(MPI_IN_PLACE, receive.data(), count, matrix, product, MPI_COMM_WORLD);
    if (self > 0)
      context.expect(right(self, 0, count), "Exscan in place of %d matrices is not the product in rank order", count);
    receive.assign(elements, Matrix{});
    MPI_Reduce_scatter(send.data(), receive.data(), counts.data(), matrix, product, MPI_COMM_WORLD);
    context.expect(right(context.size(), before(counts, self), counts[at(self)]),
                   "Reduce_scatter of about %d matrices is not the product in rank order", count);
    receive = send;
    MPI_Reduce_scatter_block(MPI_IN_PLACE, receive.data(), count, matrix, product, MPI_COMM_WORLD);
    context.expect(right(context.size(), self * count, count),
                   "Reduce_scatter_block in place of %d matrices is not the product in rank order", count);
  }
  MPI_Op_free(&product);
  MPI_Type_free(&matrix);
}

namespace {

/// A map x -> a x + b. Composition does not commute, and where it is rounded every order gives other bits.
struct Line {
  double a, b;
};

void compose_lines(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) {
    const Line left = static_cast<Line*>(in)[i];
    Line& right = static_cast<Line*>(inout)[i];
    right = {left.a * right.a, left.a * right.b + left.b};
  }
}

}  // namespace

void scans_give_the_same_bits_in_every_call(Context& context) {
  MPI_Datatype line = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_DOUBLE, &line);
  MPI_Type_commit(&line);
  MPI_Op operation = MPI_OP_NULL;
  MPI_Op_create(&compose_lines, 0, &operation);
  // So many calls that every way is taken of those among which an algorithm chooses by the time.
  constexpr int calls = 40;
  for (const int count : {100, 8000}) {
    std::vector<Line> send(at(count));
    for (std::size_t i = 0; i < send.size(); ++i) {
      const double number = std::sin(static_cast<double>(i * 31) + context.rank());
      send[i] = {1 + number / 7, number * std::pow(10.0, static_cast<double>(i % 7))};
    }
    for (const bool exclusive : {false, true}) {
      std::vector<Line> first(send.size(), Line{0, 0});
      int others = 0;
      for (int call = 0; call < calls; ++call) {
        std::vector<Line> receive(send.size(), Line{0, 0});
        (exclusive ? MPI_Exscan : MPI_Scan)(send.data(), receive.data(), count, line, operation, MPI_COMM_WORLD);
        if (call == 0) first = receive;
        others += std::memcmp(receive.data(), first.data(), receive.size() * sizeof(Line)) != 0;
      }
      context.expect(others == 0, "%d of %d calls of %s of %d lines differ from the first in their bits", others, calls,
                     exclusive ? "Exscan" : "Scan", count);
    }
  }
  MPI_Op_free(&operation);
  MPI_Type_free(&line);
}

namespace {

/// An item of the derived type below: three numbers with gaps between them and behind.
struct Item {
  std::uint32_t at[6];
};
constexpr int kUsed[] = {0, 2, 4};

/// Maps x -> a x + b modulo 2^16, a in the high half and made odd: composition does not commute.
std::uint32_t compose(std::uint32_t left, std::uint32_t right) {
  const std::uint32_t a = left >> 16 | 1, b = left & 0xffff, c = right >> 16 | 1, d = right & 0xffff;
  return (a * c & 0xffff) << 16 | ((a * d + b) & 0xffff);
}

void compose_items(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int item = 0; item < *count; ++item)
    for (const int i : kUsed) {
      std::uint32_t& right = static_cast<Item*>(inout)[item].at[i];
      right = compose(static_cast<Item*>(in)[item].at[i], right);
    }
}

std::uint32_t number_of(int rank, std::size_t item, int i) {
  return (static_cast<std::uint32_t>(item) * 97 + static_cast<std::uint32_t>(rank) * 65'539 +
          static_cast<std::uint32_t>(i) * 7919) |
         0x10000;
}

/// Whether `items` hold what the ranks below `ranks` have put together from item `first` on, with whole gaps.
bool composed(const std::vector<Item>& items, int ranks, int first, int length) {
  for (std::size_t item = 0; item < at(length); ++item) {
    for (const int i : kUsed) {
      std::uint32_t expected = number_of(0, at(first) + item, i);
      for (int rank = 1; rank < ranks; ++rank) expected = compose(expected, number_of(rank, at(first) + item, i));
      if (items[item].at[i] != expected) return false;
    }
    for (const int gap : {1, 3, 5})
      if (items[item].at[gap] != 0xA5A5A5A5) return false;
  }
  return true;
}

}  // namespace

void scans_of_derived_types(Context& context) {
  MPI_Datatype vector = MPI_DATATYPE_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(3, 1, 2, MPI_UINT32_T, &vector);
  MPI_Type_create_resized(vector, 0, sizeof(Item), &type);
  MPI_Type_commit(&type);
  MPI_Op operation = MPI_OP_NULL;
  MPI_Op_create(&compose_items, 0, &operation);
  const int self = context.rank();
  for (const int count : {1, 40, 5000}) {
    const std::vector<int> counts = unequal_counts(context.size(), count);
    const auto items = at(std::max(sum_of(counts), count));
    const auto guarded = [](std::size_t length) {
      std::vector<Item> made(length);
      std::memset(made.data(), kGuard, length * sizeof(Item));
      return made;
    };
    std::vector<Item> send = guarded(items);
    for (std::size_t item = 0; item < items; ++item)
      for (const int i : kUsed) send[item].at[i] = number_of(self, item, i);
    std::vector<Item> receive = guarded(items);
    MPI_Scan(send.data(), receive.data(), count, type, operation, MPI_COMM_WORLD);
    context.expect(composed(receive, self + 1, 0, count), "Scan of %d items with gaps", count);
    receive = send;
    MPI_Exscan(MPI_IN_PLACE, receive.data(), count, type, operation, MPI_COMM_WORLD);
    if (self > 0) context.expect(composed(receive, self, 0, count), "Exscan in place of %d items with gaps", count);
    receive = guarded(items);
    MPI_Reduce_scatter(send.data(), receive.data(), counts.data(), type, operation, MPI_COMM_WORLD);
    context.expect(composed(receive, context.size(), before(counts, self), counts[at(self)]),
                   "Reduce_scatter of about %d items with gaps", count);
    receive = send;
    MPI_Reduce_scatter(MPI_IN_PLACE, receive.data(), counts.data(), type, operation, MPI_COMM_WORLD);
    context.expect(composed(receive, context.size(), before(counts, self), counts[at(self)]),
                   "Reduce_scatter in place of about %d items with gaps", count);
  }
  MPI_Op_free(&operation);
  MPI_Type_free(&type);
  MPI_Type_free(&vector);
}

void scans_of_large_counts_and_between_groups(Context& context) {
  const int ranks = context.size();
  const int self = context.rank();
#if MPI_VERSION >= 4
  for (const MPI_Count count : {MPI_Count{0}, MPI_Count{10}, MPI_Count{30'000}}) {
    const auto elements = static_cast<std::size_t>(count);
    std::vector<int> send(elements * at(ranks), self + 1);
    std::vector<int> receive(elements, 0);
    const auto all = [&](int value) { return receive == std::vector<int>(elements, value); };
    MPI_Scan_c(send.data(), receive.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    context.expect(all((self + 1) * (self + 2) / 2), "Scan_c of %zu ints", elements);
    MPI_Exscan_c(send.data(), receive.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (self > 0) context.expect(all(self * (self + 1) / 2), "Exscan_c of %zu ints", elements);
    const std::vector<MPI_Count> counts(at(ranks), count);
    MPI_Reduce_scatter_c(send.data(), receive.data(), counts.data(), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    context.expect(all(ranks * (ranks + 1) / 2), "Reduce_scatter_c of %zu ints", elements);
    receive.assign(elements, 0);
    MPI_Reduce_scatter_block_c(send.data(), receive.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    context.expect(all(ranks * (ranks + 1) / 2), "Reduce_scatter_block_c of %zu ints", elements);
    receive.assign(elements, 5);
    MPI_Reduce_local_c(send.data(), receive.data(), count, MPI_INT, MPI_SUM);
    context.expect(all(self + 6), "Reduce_local_c of %zu ints", elements);
  }
#endif
  if (ranks < 2) return;
  // On an intercommunicator each group gets what the other has, which is the host's to do.
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm inter = MPI_COMM_NULL;
  const int lower = ranks / 2;
  MPI_Comm_split(MPI_COMM_WORLD, self < lower ? 0 : 1, self, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, self < lower ? lower : 0, 9, &inter);
  int local = 0;
  int remote = 0;
  MPI_Comm_size(inter, &local);
  MPI_Comm_remote_size(inter, &remote);
  // Both groups have to send the same number of elements.
  const int block = self < lower ? ranks - lower : lower;
  const std::vector<int> send(at(block * local), self < lower ? 1 : 10);
  std::vector<int> receive(at(block), 0);
  MPI_Reduce_scatter_block(send.data(), receive.data(), block, MPI_INT, MPI_SUM, inter);
  context.expect(receive == std::vector<int>(at(block), remote * (self < lower ? 10 : 1)),
                 "Reduce_scatter_block on an intercommunicator");
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

}  // namespace tutti::tests
