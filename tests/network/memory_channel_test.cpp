#include "network/memory_channel.h"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <thread>

#include "network/counted_channel.h"

namespace tutti::network {
namespace {

using Bytes = std::array<std::byte, 4>;
constexpr Bytes one{std::byte{1}, std::byte{1}, std::byte{1}, std::byte{1}};
constexpr Bytes two{std::byte{2}, std::byte{2}, std::byte{2}, std::byte{2}};

TEST(MemoryChannel, ASendIsOverOnceItWasReceived) {
  MemoryNetwork network(2);
  MemoryChannel sender(network, 0), receiver(network, 1);
  Ticket sent = sender.post_send({1, 5, 0, 0}, one.data(), one.size());
  EXPECT_FALSE(sender.test(sent));
  Bytes here{};
  Ticket received = receiver.post_receive({0, 5, 0, 0}, here.data(), here.size());
  EXPECT_TRUE(receiver.test(received));
  EXPECT_EQ(received, 0u);
  EXPECT_TRUE(receiver.test(received));
  EXPECT_TRUE(sender.test(sent));
  EXPECT_EQ(here, one);
  EXPECT_EQ(network.unmatched(), 0u);
}

TEST(MemoryChannel, MatchesByOperationWhateverComesFirst) {
  MemoryNetwork network(2);
  MemoryChannel sender(network, 0), receiver(network, 1);
  Bytes first{}, second{};
  Ticket later = receiver.post_receive({0, 2, 0, 0}, second.data(), second.size());
  Ticket earlier = receiver.post_receive({0, 1, 0, 0}, first.data(), first.size());
  Ticket a = sender.post_send({1, 1, 0, 0}, one.data(), one.size());
  EXPECT_FALSE(receiver.test(later));
  Ticket b = sender.post_send({1, 2, 0, 0}, two.data(), two.size());
  EXPECT_TRUE(receiver.test(later) && receiver.test(earlier) && sender.test(a) && sender.test(b));
  EXPECT_EQ(first, one);
  EXPECT_EQ(second, two);
}

TEST(MemoryChannel, TellsLanesOfOneStepApart) {
  MemoryNetwork network(2);
  MemoryChannel sender(network, 0), receiver(network, 1);
  Bytes here{};
  Ticket sent = sender.post_send({1, 1, 0, 0}, one.data(), one.size());
  Ticket other = sender.post_send({1, 1, 0, 1}, two.data(), two.size());
  Ticket received = receiver.post_receive({0, 1, 0, 0}, here.data(), here.size());
  EXPECT_TRUE(receiver.test(received) && sender.test(sent));
  EXPECT_FALSE(sender.test(other));
  EXPECT_EQ(here, one);
}

TEST(MemoryChannel, RefusesAnotherOrderOfAnOperationAtItsOtherEnd) {
  MemoryNetwork network(2);
  MemoryChannel sender(network, 0), receiver(network, 1);
  Bytes here{};
  sender.post_send({1, 1, 0, 0}, one.data(), one.size());
  sender.post_send({1, 1, 1, 0}, two.data(), two.size());
  EXPECT_THROW(receiver.post_receive({0, 1, 1, 0}, here.data(), here.size()), std::logic_error);
  // What is ahead may be the receiver.
  receiver.post_receive({0, 2, 0, 1}, here.data(), here.size());
  EXPECT_THROW(sender.post_send({1, 2, 0, 0}, one.data(), one.size()), std::logic_error);
}

TEST(MemoryChannel, RefusesEndsThatDoNotFit) {
  MemoryNetwork network(2);
  MemoryChannel sender(network, 0), receiver(network, 1);
  Bytes here{};
  sender.post_send({1, 1, 0, 0}, one.data(), one.size());
  EXPECT_THROW(receiver.post_receive({0, 1, 0, 0}, here.data(), 3), std::logic_error);
  EXPECT_THROW(sender.post_send({1, 1, 0, 0}, one.data(), one.size()), std::logic_error);
}

TEST(MemoryChannel, WithdrawsWhatHasNoOtherEnd) {
  MemoryNetwork network(2);
  MemoryChannel sender(network, 0), receiver(network, 1);
  Bytes here{};
  Ticket received = receiver.post_receive({0, 1, 0, 0}, here.data(), here.size());
  receiver.withdraw(received);
  EXPECT_EQ(received, 0u);
  EXPECT_EQ(network.unmatched(), 0u);
  Ticket sent = sender.post_send({1, 1, 0, 0}, one.data(), one.size());
  EXPECT_FALSE(sender.test(sent));
  EXPECT_EQ(here, Bytes{});
}

TEST(MemoryChannel, CarriesBetweenThreads) {
  MemoryNetwork network(2);
  constexpr int messages = 2000;
  std::thread other([&] {
    MemoryChannel channel(network, 1);
    for (int i = 0; i < messages; ++i) {
      int value = 0;
      Ticket ticket = channel.post_receive({0, 1, i, 0}, reinterpret_cast<std::byte*>(&value), sizeof value);
      while (!channel.test(ticket)) std::this_thread::yield();
      EXPECT_EQ(value, i);
    }
  });
  MemoryChannel channel(network, 0);
  for (int i = 0; i < messages; ++i) {
    Ticket ticket = channel.post_send({1, 1, i, 0}, reinterpret_cast<const std::byte*>(&i), sizeof i);
    while (!channel.test(ticket)) std::this_thread::yield();
  }
  other.join();
}

TEST(CountedChannel, CountsMessagesBytesAndRounds) {
  MemoryNetwork network(3);
  MemoryChannel bare(network, 0);
  CountedChannel channel(bare);
  Bytes here{};
  channel.post_send({1, 1, 0, 0}, one.data(), one.size());
  channel.post_send({2, 1, 0, 0}, one.data(), 1);
  channel.post_receive({1, 1, 2, 0}, here.data(), 3);
  channel.post_send({1, 2, 0, 0}, one.data(), one.size());
  EXPECT_EQ(channel.traffic().sent, 3u);
  EXPECT_EQ(channel.traffic().sent_bytes, 9u);
  EXPECT_EQ(channel.traffic().received, 1u);
  EXPECT_EQ(channel.traffic().received_bytes, 3u);
  EXPECT_EQ(channel.traffic().rounds, 4u) << "three of the first operation, one of the second";
}

}  // namespace
}  // namespace tutti::network
