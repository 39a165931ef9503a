// What calls need beside the program's buffers stays with the library: neither faults nor calls of the system become more
// with each call of a collective whose types are packed. The window is switched off, whose allocator would keep it, too.
#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "inits.h"
#include "memory_calls.h"
#include "support.h"

using namespace tutti::tests;

namespace {

/// The arguments of any collective of one block for each rank or neighbour, of 1 MiB and more.
struct Call {
  MPI_Comm communicator = MPI_COMM_WORLD;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int count = 1;
  MPI_Op operation = MPI_OP_NULL;
  std::vector<std::byte> sent{}, received{};
  std::vector<int> counts{}, places{}, bytes{};
  std::vector<MPI_Aint> long_bytes{};
  std::vector<MPI_Datatype> types{};

  Call(MPI_Comm of, MPI_Datatype datatype, int elements, int blocks)
      : communicator(of), type(datatype), count(elements) {
    MPI_Aint lower = 0, extent = 0;
    MPI_Type_get_extent(type, &lower, &extent);
    for (int i = 0; i < blocks; ++i) {
      places.push_back(i * count);
      long_bytes.push_back(places.back() * extent);
      bytes.push_back(static_cast<int>(long_bytes.back()));
    }
    counts.assign(places.size(), count);
    types.assign(places.size(), type);
    const auto all = static_cast<std::size_t>(extent) * static_cast<std::size_t>(count) * places.size();
    sent.assign(all, std::byte{1});
    received.assign(all, std::byte{2});
  }
  void* send() { return sent.data(); }
  void* receive() { return received.data(); }
};

struct Collective {
  const char* name;
  void (*call)(Call& call);
  void (*start)(Call& call, MPI_Request* request);
  void (*init)(Call& call, MPI_Request* request);
};

#define TUTTI_CASE(name, lower, ...)                                                                \
  {                                                                                                 \
#name, [](Call & c) { MPI_##name(__VA_ARGS__, c.communicator); },                                 \
        [](Call & c, MPI_Request * request) { MPI_I##lower(__VA_ARGS__, c.communicator, request); }, \
        [](Call & c, MPI_Request * request) {                                                      \
          inits.name(__VA_ARGS__, c.communicator, MPI_INFO_NULL, request);                         \
        } \
  }

const Collective kReductions[] = {
    TUTTI_CASE(Reduce, reduce, c.send(), c.receive(), c.count, c.type, c.operation, 0),
    TUTTI_CASE(Allreduce, allreduce, c.send(), c.receive(), c.count, c.type, c.operation),
    TUTTI_CASE(Reduce_scatter, reduce_scatter, c.send(), c.receive(), c.counts.data(), c.type, c.operation),
    TUTTI_CASE(Reduce_scatter_block, reduce_scatter_block, c.send(), c.receive(), c.count, c.type, c.operation),
    TUTTI_CASE(Scan, scan, c.send(), c.receive(), c.count, c.type, c.operation),
    TUTTI_CASE(Exscan, exscan, c.send(), c.receive(), c.count, c.type, c.operation),
};

const Collective kOfBlocks[] = {
    TUTTI_CASE(Bcast, bcast, c.receive(), c.count, c.type, 0),
    TUTTI_CASE(Scatter, scatter, c.send(), c.count, c.type, c.receive(), c.count, c.type, 0),
    TUTTI_CASE(Scatterv, scatterv, c.send(), c.counts.data(), c.places.data(), c.type, c.receive(), c.count, c.type, 0),
    TUTTI_CASE(Gather, gather, c.send(), c.count, c.type, c.receive(), c.count, c.type, 0),
    TUTTI_CASE(Gatherv, gatherv, c.send(), c.count, c.type, c.receive(), c.counts.data(), c.places.data(), c.type, 0),
    TUTTI_CASE(Allgather, allgather, c.send(), c.count, c.type, c.receive(), c.count, c.type),
    TUTTI_CASE(Allgatherv, allgatherv, c.send(), c.count, c.type, c.receive(), c.counts.data(), c.places.data(),
               c.type),
    TUTTI_CASE(Alltoall, alltoall, c.send(), c.count, c.type, c.receive(), c.count, c.type),
    TUTTI_CASE(Alltoallv, alltoallv, c.send(), c.counts.data(), c.places.data(), c.type, c.receive(), c.counts.data(),
               c.places.data(), c.type),
    TUTTI_CASE(Alltoallw, alltoallw, c.send(), c.counts.data(), c.bytes.data(), c.types.data(), c.receive(),
               c.counts.data(), c.bytes.data(), c.types.data()),
    TUTTI_CASE(Neighbor_allgather, neighbor_allgather, c.send(), c.count, c.type, c.receive(), c.count, c.type),
    TUTTI_CASE(Neighbor_allgatherv, neighbor_allgatherv, c.send(), c.count, c.type, c.receive(), c.counts.data(),
               c.places.data(), c.type),
    TUTTI_CASE(Neighbor_alltoall, neighbor_alltoall, c.send(), c.count, c.type, c.receive(), c.count, c.type),
    TUTTI_CASE(Neighbor_alltoallv, neighbor_alltoallv, c.send(), c.counts.data(), c.places.data(), c.type, c.receive(),
               c.counts.data(), c.places.data(), c.type),
    TUTTI_CASE(Neighbor_alltoallw, neighbor_alltoallw, c.send(), c.counts.data(), c.long_bytes.data(), c.types.data(),
               c.receive(), c.counts.data(), c.long_bytes.data(), c.types.data()),
};

constexpr const char* kForms[] = {"blocking", "nonblocking", "persistent, started again", "persistent, made anew"};

void wait_for(MPI_Request& request) {
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void check(Context& context, const Collective& collective, Call& call, const char* what, bool only_blocking = false) {
  for (const char* form : kForms) {
    const std::string which = form;
    if (only_blocking && which != kForms[0]) break;
    MPI_Request request = MPI_REQUEST_NULL;
    const bool lasts = which == kForms[2];
    if (lasts) collective.init(call, &request);
    const MemoryUse use = least_use_of_ten([&] {
      if (which == kForms[0]) return collective.call(call);
      if (which == kForms[1]) collective.start(call, &request);
      if (which == kForms[3]) collective.init(call, &request);
      if (which == kForms[2] || which == kForms[3]) MPI_Start(&request);
      wait_for(request);
      if (which == kForms[3]) MPI_Request_free(&request);
    });
    if (lasts) MPI_Request_free(&request);
    context.expect(use.faults < 100 && use.calls < 10,
                   "%s of %s, %s: %ld page faults and %ld calls of the system in ten", collective.name, what, form,
                   use.faults, use.calls);
  }
}

void check_blocks(Context& context, MPI_Datatype type, const char* what, bool only_blocking) {
  MPI_Type_commit(&type);
  MPI_Comm ring = MPI_COMM_NULL;
  int ranks = context.size(), periodic = ranks > 2;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
  for (const Collective& collective : kOfBlocks) {
    const bool is_of_neighbors = std::string(collective.name).rfind("Neighbor", 0) == 0;
    Call call(is_of_neighbors ? ring : MPI_COMM_WORLD, type, 1, ranks > 2 ? ranks : 2);
    check(context, collective, call, what, only_blocking);
  }
  MPI_Comm_free(&ring);
  MPI_Type_free(&type);
}

void vectors_are_packed_in_memory_that_stays(Context& context) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(1 << 16, 2, 3, MPI_DOUBLE, &type);
  check_blocks(context, type, "a vector", false);
}

void subarrays_are_packed_in_memory_that_stays(Context& context) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const int all[] = {64, 16, 192}, some[] = {64, 16, 128}, first[] = {0, 0, 32};
  MPI_Type_create_subarray(3, all, some, first, MPI_ORDER_C, MPI_DOUBLE, &type);
  check_blocks(context, type, "a subarray", true);
}

void indexed_blocks_are_packed_in_memory_that_stays(Context& context) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::vector<int> lengths, places;
  for (int i = 0; i < 1 << 11; ++i) {
    lengths.push_back(60 + i % 8);
    places.push_back(i * 70);
  }
  MPI_Type_indexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), MPI_DOUBLE, &type);
  check_blocks(context, type, "indexed blocks", true);
}

void add_apart(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i)
    for (const int at : {4 * i, 4 * i + 2}) static_cast<int*>(inout)[at] += static_cast<int*>(in)[at];
}

/// Two ints of four, by an operator of the program. A host that cannot be hooked carries out the others than blocking ones.
void reductions_of_packed_elements_keep_their_memory(Context& context) {
  MPI_Datatype two = MPI_DATATYPE_NULL, apart = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_INT, &two);
  MPI_Type_create_resized(two, 0, 4 * sizeof(int), &apart);
  MPI_Type_commit(&apart);
  MPI_Op add = MPI_OP_NULL;
  MPI_Op_create(add_apart, 1, &add);
  for (const Collective& collective : kReductions) {
    Call call(MPI_COMM_WORLD, apart, 1 << 16, context.size());
    call.operation = add;
    check(context, collective, call, "pairs with gaps", !std::getenv("HOST_IS_HOOKED"));
  }
  MPI_Op_free(&add);
  MPI_Type_free(&apart);
  MPI_Type_free(&two);
}

void reductions_of_elements_with_padding_keep_their_memory(Context& context) {
  for (const Collective& collective : kReductions) {
    Call call(MPI_COMM_WORLD, MPI_DOUBLE_INT, 1 << 16, context.size());
    call.operation = MPI_MAXLOC;
    check(context, collective, call, "MPI_DOUBLE_INT");
  }
}

/// A broadcast of 32 MiB, and then small ones only.
void what_has_long_been_too_much_is_given_back(Context& context) {
  MPI_Datatype apart = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &apart);
  MPI_Type_commit(&apart);
  constexpr int many = 1 << 21, few = 1 << 10;
  Call call(MPI_COMM_WORLD, apart, many, 1);
  const auto broadcast = [&](int count) { MPI_Bcast(call.receive(), count, apart, 0, MPI_COMM_WORLD); };
  broadcast(few);
  const std::size_t before = resident_bytes();
  broadcast(many);
  const std::size_t most = resident_bytes();
  for (int i = 0; i < 1000; ++i) broadcast(few);
  const std::size_t after = resident_bytes();
  context.expect(before == 0 || (most >= before + (std::size_t{32} << 20) && after < before + (std::size_t{16} << 20)),
                 "%zu KiB after a long message, %zu after many short ones", (most - before) >> 10,
                 (after - before) >> 10);
  MPI_Type_free(&apart);
}

}  // namespace

int main(int argc, char** argv) {
  // Otherwise malloc learns from what is freed, and keeps more or less by chance.
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  MPI_Init(&argc, &argv);
  int status = 0;
  {
    Context context(nullptr, 0);
    const std::vector<Test> tests{
#define TEST(name) {#name, &name}
        TEST(what_has_long_been_too_much_is_given_back),
        TEST(vectors_are_packed_in_memory_that_stays),
        TEST(subarrays_are_packed_in_memory_that_stays),
        TEST(indexed_blocks_are_packed_in_memory_that_stays),
        TEST(reductions_of_packed_elements_keep_their_memory),
        TEST(reductions_of_elements_with_padding_keep_their_memory)};
    status = run_tests(context, tests, argc, argv);
  }
  MPI_Finalize();
  return status;
}
