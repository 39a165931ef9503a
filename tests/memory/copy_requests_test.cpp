// Memory that the kernel does not reach, between ranks that are threads: pages that a handler of the program opens when
// their owner touches them, as programs do that fill pages when they are needed or note which ones change.
#include "memory/copy_requests.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "memory/arena.h"
#include "memory/transfers.h"
#include "system.h"

namespace tutti::memory {
namespace {

constexpr std::size_t page = 4096;

/// Pages that are closed until somebody loads or stores; then their contents are what the handler says.
class ClosedPages {
 public:
  explicit ClosedPages(std::size_t count) : bytes_(count * page) {
    void* const memory = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    begin_ = static_cast<std::byte*>(memory);
    opened = 0;
    current = this;
    struct sigaction action {};
    action.sa_sigaction = [](int, siginfo_t* info, void*) { current->open(info->si_addr); };
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before_);
  }
  ~ClosedPages() {
    sigaction(SIGSEGV, &before_, nullptr);
    munmap(begin_, bytes_);
  }
  std::byte* data() const { return begin_; }
  std::size_t bytes() const { return bytes_; }
  static std::byte content(std::size_t i) { return static_cast<std::byte>(i / page + i); }
  std::atomic<int> opened{0};

 private:
  void open(void* address) {
    const auto at = static_cast<std::size_t>(static_cast<std::byte*>(address) - begin_);
    if (at >= bytes_) _exit(99);
    std::byte* const first = begin_ + at / page * page;
    mprotect(first, page, PROT_READ | PROT_WRITE);
    for (std::size_t i = 0; i < page; ++i) first[i] = content(at / page * page + i);
    opened++;
  }
  std::byte* begin_ = nullptr;
  std::size_t bytes_;
  struct sigaction before_ {};
  static inline ClosedPages* current = nullptr;
};

/// Ranks that ask each other; who waits serves, as in a collective.
struct Ranks {
  explicit Ranks(int count, sync::WaitOptions::Mode mode = sync::WaitOptions::Mode::yield)
      : doorbells(static_cast<std::size_t>(count)) {
    std::string reason;
    std::vector<std::byte*> areas;
    for (int rank = 0; rank < count; ++rank) {
      arenas.push_back(Arena::create(std::size_t{32} << 20, reason));
      areas.push_back(arenas.back()->base() + *arenas.back()->allocate(CopyRequests::area_bytes(count)));
    }
    for (int rank = 0; rank < count; ++rank) {
      requests.push_back(std::make_unique<CopyRequests>(rank, areas, arenas.back()->capacity()));
      sync::WaitOptions options;
      options.mode = mode;
      options.spin = 1;
      options.rank = rank;
      for (auto& bell : doorbells) options.doorbells.push_back(&bell);
      options.serve = [asked = requests.back().get()] { return asked->serve(); };
      waiters.push_back(sync::make_waiter(std::move(options)));
      requests.back()->waiter = waiters.back().get();
    }
  }
  /// The memory of `owner` as `rank` reaches it.
  Peer peer(int rank, int owner) {
    Peer peer;
    peer.process = getpid();
    peer.rank = owner;
    peer.requests = requests[static_cast<std::size_t>(rank)].get();
    return peer;
  }
  /// Waits at `rank` as the owner of a buffer does, until `others` have said that they are done.
  void wait_for(int rank, int others) {
    const sync::WaitReason reason{"test", nullptr, 0, 0};
    sync::wait(*waiters[static_cast<std::size_t>(rank)], reason, [&] { return done.load() >= others; });
  }
  std::vector<sync::Doorbell> doorbells;
  std::vector<std::unique_ptr<Arena>> arenas;
  std::vector<std::unique_ptr<CopyRequests>> requests;
  std::vector<std::unique_ptr<sync::Waiter>> waiters;
  std::atomic<int> done{0};
};

Region region_of(const void* memory) {
  return {Kind::cma, reinterpret_cast<std::uintptr_t>(memory)};
}

class RequestsIn : public testing::TestWithParam<sync::WaitOptions::Mode> {};

TEST_P(RequestsIn, AHandlerOfTheOwnerFillsPagesThatAPeerReads) {
  Ranks ranks(2, GetParam());
  ClosedPages pages(60);
  std::vector<std::byte> read(pages.bytes() - 100);
  std::thread reader([&] {
    ranks.peer(1, 0).copy_from(region_of(pages.data()), 50, read.data(), read.size());
    ranks.done = 1;
    const int owner = 0;
    ranks.waiters[1]->wake(&owner, 1);
  });
  ranks.wait_for(0, 1);
  reader.join();
  EXPECT_EQ(pages.opened, 60);
  for (std::size_t i = 0; i < read.size(); ++i) ASSERT_EQ(read[i], ClosedPages::content(i + 50)) << i;
}

TEST_P(RequestsIn, AHandlerOfTheOwnerSeesThatAPeerWrites) {
  Ranks ranks(2, GetParam());
  ClosedPages pages(40);
  const std::vector<std::byte> written(pages.bytes() - 3 * page, std::byte{77});
  std::thread writer([&] {
    ranks.peer(1, 0).copy_to(region_of(pages.data()), page + 10, written.data(), written.size());
    ranks.done = 1;
  });
  ranks.wait_for(0, 1);
  writer.join();
  EXPECT_EQ(pages.opened, 38);  // of the 40 neither the first nor the last is touched
  EXPECT_EQ(pages.data()[page + 9], ClosedPages::content(page + 9));
  EXPECT_EQ(std::memcmp(pages.data() + page + 10, written.data(), written.size()), 0);
}

TEST(Transfers, GoOnWithoutWaitingWhenTheOwnerHasServed) {
  Ranks ranks(2);
  ranks.requests[1]->kernel_refuses = true;
  std::vector<std::byte> theirs(3 * CopyRequests::chunk_bytes + 5), read(theirs.size());
  for (std::size_t i = 0; i < theirs.size(); ++i) theirs[i] = ClosedPages::content(i);
  const Peer peer = ranks.peer(1, 0);
  Transfers transfers;
  PeerTransfers{peer, transfers}.copy_from(region_of(theirs.data()), 0, read.data(), read.size());
  // A chunk each time that the owner looks; nobody else does anything here.
  int looks = 0;
  while (!transfers.go_on()) {
    ASSERT_FALSE(transfers.go_on());
    EXPECT_TRUE(ranks.requests[0]->serve());
    ++looks;
  }
  EXPECT_EQ(looks, 4);
  EXPECT_EQ(read, theirs);
}

TEST(Transfers, OfAnyNumberComeToTheirEnd) {
  Ranks ranks(2);
  ranks.requests[1]->kernel_refuses = true;
  constexpr std::size_t count = 50, bytes = 100;
  std::vector<std::byte> theirs(count * bytes), ours(theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) ours[i] = ClosedPages::content(i);
  const Peer peer = ranks.peer(1, 0);
  Transfers transfers;
  for (std::size_t i = 0; i < count; ++i)
    PeerTransfers{peer, transfers}.copy_to(region_of(theirs.data()), i * bytes, ours.data() + i * bytes, bytes);
  while (!transfers.go_on()) ASSERT_TRUE(ranks.requests[0]->serve());
  EXPECT_EQ(theirs, ours);
}

TEST(Transfers, ThatAreGivenUpLeaveRoomForOthers) {
  Ranks ranks(2);
  ranks.requests[1]->kernel_refuses = true;
  std::vector<std::byte> theirs(1000, std::byte{7}), read(theirs.size());
  const Peer peer = ranks.peer(1, 0);
  for (int i = 0; i < 10; ++i) {
    Transfers transfers;
    PeerTransfers{peer, transfers}.copy_from(region_of(theirs.data()), 0, read.data(), read.size());
    EXPECT_FALSE(transfers.over());
  }
  EXPECT_EQ(read[0], std::byte{0});
  Transfers last;
  PeerTransfers{peer, last}.copy_from(region_of(theirs.data()), 0, read.data(), read.size());
  while (!last.go_on()) ASSERT_TRUE(ranks.requests[0]->serve());
  EXPECT_EQ(read, theirs);
}

INSTANTIATE_TEST_SUITE_P(Modes, RequestsIn,
                         testing::Values(sync::WaitOptions::Mode::spin, sync::WaitOptions::Mode::yield,
                                         sync::WaitOptions::Mode::sleep));

TEST(CopyRequests, RanksThatAskEachOtherAtOnceServeEachOther) {
  constexpr int count = 5;
  Ranks ranks(count);
  for (auto& each : ranks.requests) each->kernel_refuses = true;
  constexpr std::size_t bytes = 3 * CopyRequests::chunk_bytes + 5;
  std::vector<std::vector<int>> memory(count, std::vector<int>(bytes));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      auto& own = memory[static_cast<std::size_t>(rank)];
      for (std::size_t i = 0; i < own.size(); ++i) own[i] = rank * 1000 + static_cast<int>(i % 997);
      ranks.done++;
      ranks.wait_for(rank, count);
      for (int owner = 0; owner < count; ++owner) {
        std::vector<int> read(bytes);
        ranks.peer(rank, owner)
            .copy_from(region_of(memory[static_cast<std::size_t>(owner)].data()), 0, read.data(), bytes * sizeof(int));
        for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(read[i], owner * 1000 + static_cast<int>(i % 997));
      }
      ranks.done++;
      ranks.wait_for(rank, 2 * count);
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(CopyRequests, MoreThreadsOfOneRankMayAskThanThereAreLines) {
  Ranks ranks(2);
  ranks.requests[1]->kernel_refuses = true;
  std::vector<int> memory(100'000);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<int>(i);
  constexpr int count = 9;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < count; ++thread) {
    threads.emplace_back([&] {
      std::vector<int> read(memory.size());
      ranks.peer(1, 0).copy_from(region_of(memory.data()), 0, read.data(), read.size() * sizeof(int));
      EXPECT_EQ(read, memory);
      ranks.done++;
    });
  }
  ranks.wait_for(0, count);
  for (auto& thread : threads) thread.join();
}

TEST(CopyRequests, WhatHadToBeServedOnceIsNotedAndOnlyThat) {
  Ranks ranks(2);
  ClosedPages pages(3);
  std::vector<std::byte> read(page);
  std::thread reader([&] {
    ranks.peer(1, 0).copy_from(region_of(pages.data()), page, read.data(), page);
    ranks.done = 1;
  });
  ranks.wait_for(0, 1);
  reader.join();
  const CopyRequests& owner = *ranks.requests[0];
  EXPECT_EQ(owner.count(), 1u);
  EXPECT_FALSE(owner.were_needed_for(pages.data(), page));
  EXPECT_TRUE(owner.were_needed_for(pages.data(), page + 1));
  EXPECT_TRUE(owner.were_needed_for(pages.data() + page, 1));
  EXPECT_FALSE(owner.were_needed_for(pages.data() + 2 * page, page));
  // What would fill the arena if it were staged.
  EXPECT_FALSE(owner.were_needed_for(pages.data(), ranks.arenas[0]->capacity() / 2));
}

TEST(CopyRequests, OwnPagesThatAreClosedAreOpenedAndNobodyIsAsked) {
  if (!test::kernel_copies()) GTEST_SKIP() << "no process_vm_readv here";
  Ranks ranks(2);
  ClosedPages pages(20);
  std::vector<std::byte> theirs(18 * page, std::byte{5});
  ranks.peer(1, 0).copy_from(region_of(theirs.data()), 0, pages.data() + 100, 9 * page);
  EXPECT_EQ(pages.opened, 10);
  EXPECT_EQ(pages.data()[99], ClosedPages::content(99));
  EXPECT_EQ(std::memcmp(pages.data() + 100, theirs.data(), 9 * page), 0);
  ranks.peer(1, 0).copy_to(region_of(theirs.data()), 0, pages.data() + 12 * page, 3 * page);
  EXPECT_EQ(pages.opened, 13);
  EXPECT_EQ(theirs[page + 1], ClosedPages::content(13 * page + 1));
  EXPECT_EQ(ranks.requests[0]->count(), 0u);
}

TEST(CopyRequests, ThatThereIsNobodyToAskIsAnErrorAsBefore) {
  Peer peer;
  peer.process = getpid();
  std::byte byte{};
  EXPECT_THROW(peer.copy_from({Kind::cma, 4096}, 0, &byte, 1), std::runtime_error);
}

}  // namespace
}  // namespace tutti::memory
