// Buffers that no peer can reach as they are, or that only seem to be where peers look: pages that a handler of SIGSEGV
// opens when their owner touches them, and blocks of malloc over which the program has mapped something else. Each rank
// has another kind of buffer in each call.
//
//     pages ROUNDS
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "support.h"

using namespace tutti::tests;

namespace {

constexpr std::size_t page = 4096;

/// What the handler opens; a few at a time.
struct Guarded {
  std::atomic<std::uintptr_t> begin{0}, end{0};
};
Guarded guarded[4];
std::atomic<long> opened{0};

void open_page(int, siginfo_t* info, void*) {
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (const Guarded& range : guarded) {
    if (at < range.begin || at >= range.end) continue;
    ++opened;
    mprotect(reinterpret_cast<void*>(at / page * page), page, PROT_READ | PROT_WRITE);
    return;
  }
  _exit(98);
}

enum Kind {
  plain,
  mapped_closed,    ///< mmap, closed until it is touched
  mapped_readable,  ///< mmap, to be written when the handler has seen it
  block_closed,     ///< the same of malloc
  block_readable,
  anonymous_over_block,
  file_over_block,
  moved_onto_block,
  kinds,
};

class Buffer {
 public:
  Buffer(Kind kind, std::size_t count) : kind_(kind), bytes_((count * sizeof(int) + 2 * page) / page * page) {
    const bool mapped = kind == mapped_closed || kind == mapped_readable;
    if (mapped)
      begin_ = static_cast<char*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    else if (void* block = nullptr; posix_memalign(&block, page, bytes_) == 0)
      begin_ = static_cast<char*>(block);
    std::memset(begin_, 0x55, bytes_);
    if (kind == anonymous_over_block)
      map_over(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    else if (kind == file_over_block)
      map_over_file();
    else if (kind == moved_onto_block)
      move_onto();
  }
  ~Buffer() {
    guard(PROT_READ | PROT_WRITE);
    if (kind_ == mapped_closed || kind_ == mapped_readable)
      munmap(begin_, bytes_);
    else
      std::free(begin_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  /// Not at the beginning of a page.
  int* data() const { return reinterpret_cast<int*>(begin_) + 3; }
  /// The contents are complete; what is to be closed is closed.
  void close() {
    if (kind_ == mapped_closed || kind_ == block_closed) guard(PROT_NONE);
    if (kind_ == mapped_readable || kind_ == block_readable) guard(PROT_READ);
  }

 private:
  void map_over(int flags, int file) {
    if (mmap(begin_, bytes_, PROT_READ | PROT_WRITE, flags | MAP_FIXED, file, 0) != begin_) std::abort();
  }
  void map_over_file() {
    char name[] = "/tmp/tutti-test-XXXXXX";
    const int file = mkstemp(name);
    if (file < 0 || unlink(name) != 0 || ftruncate(file, static_cast<off_t>(bytes_)) != 0) std::abort();
    map_over(MAP_SHARED, file);
    ::close(file);
  }
  void move_onto() {
    void* const other = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mremap(other, bytes_, bytes_, MREMAP_MAYMOVE | MREMAP_FIXED, begin_) != begin_) std::abort();
  }
  /// Where the handler finds this buffer; null if it does not.
  Guarded* known(std::uintptr_t begin) const {
    for (Guarded& range : guarded)
      if (range.begin == begin) return &range;
    return nullptr;
  }
  void guard(int protection) {
    const auto begin = reinterpret_cast<std::uintptr_t>(begin_);
    Guarded* range = known(begin);
    if (protection == (PROT_READ | PROT_WRITE)) {
      if (!range) return;
      mprotect(begin_, bytes_, protection);
      range->begin = range->end = 0;
      return;
    }
    if (!range) range = known(0);
    if (!range) std::abort();
    range->end = begin + bytes_;
    range->begin = begin;
    mprotect(begin_, bytes_, protection);
  }

  Kind kind_;
  std::size_t bytes_;
  char* begin_ = nullptr;
};

/// One call: `count` ints a block, and which kind of buffer each rank has.
class Call {
 public:
  Call(Context& context, int count, int seed) : context_(context), count_(count), seed_(seed) {}

  void all() {
    bcast();
    reductions();
    gathers();
    alltoall();
  }

 private:
  int rank() const { return context_.rank(); }
  int size() const { return context_.size(); }
  int root() const { return seed_ % size(); }
  Kind kind(int salt) const { return static_cast<Kind>((seed_ + 3 * rank() + salt) % kinds); }
  /// Of rank `of` for rank `to`, element i.
  int value(int of, int to, int i) const { return of * 1'000'003 + to * 1009 + i % 911 + seed_; }
  void fill(Buffer& buffer, int blocks) const {
    for (int to = 0; to < blocks; ++to)
      for (int i = 0; i < count_; ++i) buffer.data()[to * count_ + i] = value(rank(), to, i);
    buffer.close();
  }
  template <class Expected>
  void check(const char* what, const Buffer& buffer, int blocks, Expected expected) {
    for (int block = 0; block < blocks; ++block)
      for (int i = 0; i < count_; ++i) {
        const int found = buffer.data()[block * count_ + i];
        if (!context_.expect(found == expected(block, i), "%s of %d ints, seed %d: block %d, element %d is %d, not %d",
                             what, count_, seed_, block, i, found, expected(block, i)))
          return;
      }
  }
  int sum(int to, int i, int ranks) const {
    int total = 0;
    for (int of = 0; of < ranks; ++of) total += value(of, to, i);
    return total;
  }

  void bcast() {
    Buffer buffer(kind(0), static_cast<std::size_t>(count_));
    if (rank() == root())
      fill(buffer, 1);
    else
      buffer.close();
    MPI_Bcast(buffer.data(), count_, MPI_INT, root(), MPI_COMM_WORLD);
    check("Bcast", buffer, 1, [&](int, int i) { return value(root(), 0, i); });
  }
  void reductions() {
    const auto count = static_cast<std::size_t>(count_);
    Buffer send(kind(1), count * static_cast<std::size_t>(size()));
    fill(send, size());
    Buffer result(kind(2), count);
    result.close();
    MPI_Allreduce(send.data(), result.data(), count_, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check("Allreduce", result, 1, [&](int, int i) { return sum(0, i, size()); });
    MPI_Reduce(send.data(), result.data(), count_, MPI_INT, MPI_SUM, root(), MPI_COMM_WORLD);
    if (rank() == root()) check("Reduce", result, 1, [&](int, int i) { return sum(0, i, size()); });
    result.close();
    MPI_Scan(send.data(), result.data(), count_, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check("Scan", result, 1, [&](int, int i) { return sum(0, i, rank() + 1); });
    MPI_Reduce_scatter_block(send.data(), result.data(), count_, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check("Reduce_scatter_block", result, 1, [&](int, int i) { return sum(rank(), i, size()); });
  }
  void gathers() {
    const auto count = static_cast<std::size_t>(count_);
    Buffer one(kind(3), count);
    fill(one, 1);
    Buffer all(kind(4), count * static_cast<std::size_t>(size()));
    all.close();
    MPI_Gather(one.data(), count_, MPI_INT, all.data(), count_, MPI_INT, root(), MPI_COMM_WORLD);
    if (rank() == root()) check("Gather", all, size(), [&](int of, int i) { return value(of, 0, i); });
    all.close();
    MPI_Allgather(one.data(), count_, MPI_INT, all.data(), count_, MPI_INT, MPI_COMM_WORLD);
    check("Allgather", all, size(), [&](int of, int i) { return value(of, 0, i); });
    fill(all, size());
    one.close();
    MPI_Scatter(all.data(), count_, MPI_INT, one.data(), count_, MPI_INT, root(), MPI_COMM_WORLD);
    check("Scatter", one, 1, [&](int, int i) { return value(root(), rank(), i); });
  }
  void alltoall() {
    const std::size_t count = static_cast<std::size_t>(count_) * static_cast<std::size_t>(size());
    Buffer send(kind(5), count), receive(kind(6), count);
    fill(send, size());
    receive.close();
    MPI_Alltoall(send.data(), count_, MPI_INT, receive.data(), count_, MPI_INT, MPI_COMM_WORLD);
    check("Alltoall", receive, size(), [&](int of, int i) { return value(of, rank(), i); });
    receive.close();
    std::vector<int> counts(static_cast<std::size_t>(size()), count_), places(counts.size());
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int>(i) * count_;
    MPI_Alltoallv(send.data(), counts.data(), places.data(), MPI_INT, receive.data(), counts.data(), places.data(),
                  MPI_INT, MPI_COMM_WORLD);
    check("Alltoallv", receive, size(), [&](int of, int i) { return value(of, rank(), i); });
  }

  Context& context_;
  int count_;
  int seed_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  struct sigaction action {};
  action.sa_sigaction = open_page;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
  bool good = true;
  {
    Context context(nullptr, 0);
    context.set_test("pages");
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 8;
    for (int seed = 0; seed < rounds; ++seed)
      for (const int count : {1, 700, 20'000, 150'001}) Call(context, count, seed).all();
    context.expect(opened > 0 || rounds < kinds, "no page was ever opened by the handler");
    long checks = 0;
    good = context.finish_test(checks);
    if (context.rank() == 0) std::printf("%s pages, %ld checks\n", good ? "PASS" : "FAIL", checks);
  }
  MPI_Finalize();
  return good ? 0 : 1;
}
