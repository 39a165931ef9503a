// Functions that copy and delete the attributes of communicators, and that communicate.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "inits.h"
#include "semantics.h"

namespace tutti::tests {

namespace {

using Free = int (*)(MPI_Comm*);

/// What the functions of this file have found wrong; MPI hands them nothing else of the test's.
int wrong = 0;
int copied = 0;
int deleted = 0;

int ranks_of(MPI_Comm communicator) {
  int ranks = 0;
  MPI_Comm_size(communicator, &ranks);
  return ranks;
}

/// Small and large, of one kind and another.
void communicate(MPI_Comm communicator) {
  const int ranks = ranks_of(communicator);
  const int one = 1;
  int sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, communicator);
  wrong += sum != ranks;
  MPI_Barrier(communicator);
  static int many[20'000];
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  for (int& each : many) each = rank == ranks - 1 ? 7 : 0;
  MPI_Bcast(many, 20'000, MPI_INT, ranks - 1, communicator);
  wrong += many[0] != 7 || many[19'999] != 7;
}

int copy(MPI_Comm old, int, void*, void* from, void* to, int* is_copied) {
  communicate(old);
  ++copied;
  std::memcpy(to, &from, sizeof from);
  *is_copied = 1;
  return MPI_SUCCESS;
}

int remove(MPI_Comm communicator, int, void*, void*) {
  communicate(communicator);
  ++deleted;
  return MPI_SUCCESS;
}

/// Frees another communicator first, as libraries do that keep one of their own in an attribute.
int remove_with_inner(MPI_Comm communicator, int, void* value, void*) {
  auto* const inner = static_cast<MPI_Comm*>(value);
  communicate(*inner);
  MPI_Comm_free(inner);
  communicate(communicator);
  ++deleted;
  return MPI_SUCCESS;
}

/// In MPI_Finalize nothing can be reported any more but by the exit status.
int remove_at_the_end(MPI_Comm communicator, int, void*, void*) {
  communicate(communicator);
  if (wrong == 0) return MPI_SUCCESS;
  std::fprintf(stderr, "a collective in MPI_Finalize has gone wrong\n");
  std::_Exit(1);
}

/// As libraries end that keep a collective ready. value: the request.
int start_once_more(MPI_Comm communicator, int key, void* value, void* extra) {
  auto* const request = static_cast<MPI_Request*>(value);
  for (int i = 0; i < 2; ++i) {
    MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(request);
  return remove_at_the_end(communicator, key, value, extra);
}

/// Two keys, so that there are functions before and behind those of whoever else has attributes.
class Keys {
 public:
  Keys() {
    for (int& key : keys_) MPI_Comm_create_keyval(&copy, &remove, &key, nullptr);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &remove_with_inner, &inner_, nullptr);
    wrong = copied = deleted = 0;
  }
  ~Keys() {
    for (int& key : keys_) MPI_Comm_free_keyval(&key);
    MPI_Comm_free_keyval(&inner_);
  }
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  void set(MPI_Comm communicator, int which) { MPI_Comm_set_attr(communicator, keys_[which], &keys_[which]); }
  void set_inner(MPI_Comm communicator, MPI_Comm* inner) { MPI_Comm_set_attr(communicator, inner_, inner); }

 private:
  int keys_[2] = {};
  int inner_ = 0;
};

/// The host's own function, which nobody who is loaded in front of it sees.
Free free_of_the_host() {
  Dl_info info{};
  if (!dladdr(dlsym(RTLD_DEFAULT, "PMPI_Wtime"), &info)) return nullptr;
  void* const library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  void* const found = library ? dlsym(library, "PMPI_Comm_free") : nullptr;
  Free function = nullptr;
  std::memcpy(&function, &found, sizeof found);
  return function;
}

/// As bindings of other languages and profilers get it.
Free by_second_name(const char* name) {
  void* const found = dlsym(RTLD_DEFAULT, name);
  Free function = nullptr;
  std::memcpy(&function, &found, sizeof found);
  return function;
}

/// Whether the host has carried out this thread's last collective.
bool was_by_host() {
  int (*last_choice)(char*, int, char*, int) = nullptr;
  void* const found = dlsym(RTLD_DEFAULT, "tutti_last_choice");
  if (!found) return false;
  std::memcpy(&last_choice, &found, sizeof found);
  char algorithm[64] = "";
  last_choice(algorithm, sizeof algorithm, nullptr, 0);
  return std::strcmp(algorithm, "host") == 0;
}

void idup(MPI_Comm* duplicate) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_idup(MPI_COMM_WORLD, duplicate, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

}  // namespace

void attributes_communicate_when_they_are_copied_and_deleted(Context& context) {
  Keys keys;
  int expected = 0;
  const Free ways[] = {&MPI_Comm_free, &MPI_Comm_disconnect, by_second_name("PMPI_Comm_free"),
                       by_second_name("PMPI_Comm_disconnect")};
  const int rounds = context.crowded() ? 12 : 60;
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm first = MPI_COMM_NULL;
    MPI_Comm second = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    keys.set(first, 0);
    if (round % 2) keys.set(first, 1);
    if (round % 3) MPI_Barrier(first);
    MPI_Comm_dup(first, &second);
    if (round % 5) exercise(context, second, "a duplicate with attributes", 50);
    expected += 2 * (1 + round % 2);
    const Free free = ways[round % 4];
    free(round % 3 ? &first : &second);
    free(round % 3 ? &second : &first);
    context.expect(first == MPI_COMM_NULL && second == MPI_COMM_NULL, "round %d: a handle is left", round);
  }
  context.expect(wrong == 0, "%d collectives of attribute functions went wrong", wrong);
  context.expect(copied == expected / 2 && deleted == expected, "%d attributes copied, %d deleted, of %d", copied,
                 deleted, expected);
  exercise(context, MPI_COMM_WORLD, "MPI_COMM_WORLD after that");
}

void attributes_of_communicators_without_a_collective_communicate(Context& context) {
  // The first collective is one in a function of an attribute, and ranks have set the attribute at other times.
  Keys keys;
  for (int round = 0; round < 6; ++round) {
    MPI_Comm first = MPI_COMM_NULL;
    MPI_Comm second = MPI_COMM_NULL;
    idup(&first);
    const bool early = (round + context.rank()) % 2 == 0;
    if (early) keys.set(first, 0);
    if (round % 3) MPI_Barrier(first);
    if (!early) keys.set(first, 0);
    if (round > 2) {
      MPI_Comm_dup(first, &second);
      MPI_Comm_free(&second);
    }
    MPI_Comm_free(&first);
  }
  context.expect(wrong == 0 && deleted == 9, "%d collectives went wrong, %d attributes deleted of 9", wrong, deleted);
}

void attributes_free_communicators(Context& context) {
  Keys keys;
  for (int round = 0; round < 8; ++round) {
    MPI_Comm outer = MPI_COMM_NULL;
    MPI_Comm inner = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &outer);
    MPI_Comm_dup(outer, &inner);
    exercise(context, inner, "a communicator in an attribute", 10);
    if (round % 2) keys.set(outer, 0);
    keys.set_inner(outer, &inner);
    if (round % 4 > 1) keys.set(outer, 1);
    MPI_Comm_free(&outer);
  }
  context.expect(wrong == 0 && deleted == 16, "%d collectives went wrong, %d attributes deleted of 16", wrong, deleted);
}

void communicators_may_be_freed_behind_everybodys_back(Context& context) {
  const Free free = free_of_the_host();
  if (!context.expect(free, "the host has no PMPI_Comm_free")) return;
  Keys keys;
  for (int round = 0; round < 6; ++round) {
    MPI_Comm first = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    keys.set(first, 0);
    MPI_Barrier(first);
    free(&first);
    // The same handle, most likely, for another communicator.
    if (round % 2)
      idup(&first);
    else
      MPI_Comm_dup(MPI_COMM_WORLD, &first);
    exercise(context, first, "a communicator with the handle of another", 50);
    if (context.size() > 1) context.expect(!was_by_host(), "its collectives are the host's");
    MPI_Comm_free(&first);
  }
  context.expect(wrong == 0 && deleted == 6, "%d collectives went wrong, %d attributes deleted of 6", wrong, deleted);
  // Only some ranks have seen how the communicator went, and nobody sees how the next one comes.
  for (int round = 0; round < 6; ++round) {
    MPI_Comm first = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Barrier(first);
    if ((context.rank() + round) % 3 == 0)
      free(&first);
    else
      MPI_Comm_free(&first);
    PMPI_Comm_dup(MPI_COMM_WORLD, &first);
    exercise(context, first, "a communicator that some ranks take for one that goes", 50);
    MPI_Comm_free(&first);
  }
  // Nobody has seen either.
  MPI_Comm first = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &first);
  MPI_Barrier(first);
  free(&first);
  PMPI_Comm_dup(MPI_COMM_WORLD, &first);
  exercise(context, first, "a communicator that all ranks take for one that goes", 50);
  MPI_Comm_free(&first);
  exercise(context, MPI_COMM_WORLD, "MPI_COMM_WORLD after that");
}

void attributes_communicate_in_finalize(Context& context) {
  // What goes wrong there is seen at the end of the program.
  int key = 0;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &remove_at_the_end, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_WORLD, key, nullptr);
  MPI_Comm_free_keyval(&key);
  static MPI_Request barrier;
  inits.Barrier(MPI_COMM_WORLD, MPI_INFO_NULL, &barrier);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &start_once_more, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, &barrier);
  MPI_Comm_free_keyval(&key);
  wrong = 0;
  communicate(MPI_COMM_WORLD);
  context.expect(wrong == 0, "collectives before the end");
}

}  // namespace tutti::tests
