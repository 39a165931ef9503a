// The channel over the messages of a host that ends them, or fails, as a test wants it to.
#include "mpi/network_channel.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

namespace {

std::size_t allocations = 0;

}  // namespace

// Whatever is allocated in this program is counted. Some GCC take what comes out of this for memory of the default operator.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* const made = std::malloc(bytes)) return made;
  throw std::bad_alloc();
}
void operator delete(void* made) noexcept {
  std::free(made);
}
void operator delete(void* made, std::size_t) noexcept {
  std::free(made);
}

namespace tutti::mpi {
namespace {

/// What the host has been given and has not ended: a number for each request.
struct Host {
  enum class State { under_way, over, failed };
  struct Piece {
    bool is_send = false;
    int count = 0;
    State state = State::under_way;
  };
  static constexpr int most = 64;
  Piece pieces[most];
  bool known[most] = {};
  int posted = 0;
  int fails_at = -1;  ///< the piece, counted from 0, that cannot be posted
  int cancelled = 0, freed = 0, waited = 0;

  int left() const {
    int count = 0;
    for (const bool each : known) count += each;
    return count;
  }
  void end(int request, State state) { pieces[request].state = state; }
};
Host* host = nullptr;

int post(bool is_send, int count, MPI_Request* request) {
  if (host->posted == host->fails_at) {
    *request = 77;  // whatever it leaves there
    return MPI_ERR_OTHER;
  }
  *request = ++host->posted;
  host->known[*request] = true;
  host->pieces[*request] = {is_send, count};
  return MPI_SUCCESS;
}

int isend(const void*, int count, MPI_Datatype, int, int, MPI_Comm, MPI_Request* request) {
  return post(true, count, request);
}
int irecv(void*, int count, MPI_Datatype, int, int, MPI_Comm, MPI_Request* request) {
  return post(false, count, request);
}

void end(MPI_Request* request) {
  host->known[*request] = false;
  *request = MPI_REQUEST_NULL;
}

/// As MPI has it: what has failed or is over is gone.
int test(MPI_Request* request, int* flag, MPI_Status*) {
  const Host::State is = host->pieces[*request].state;
  *flag = is == Host::State::over;
  if (is != Host::State::under_way) end(request);
  return is == Host::State::failed ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}
int error_class(int code, int* kind) {
  *kind = code;
  return MPI_SUCCESS;
}

int cancel(MPI_Request* request) {
  EXPECT_TRUE(host->known[*request]);
  ++host->cancelled;
  return MPI_SUCCESS;
}
int request_free(MPI_Request* request) {
  ++host->freed;
  end(request);
  return MPI_SUCCESS;
}
int wait(MPI_Request* request, MPI_Status*) {
  ++host->waited;
  end(request);
  return MPI_SUCCESS;
}

class NetworkChannelTest : public testing::Test {
 protected:
  NetworkChannelTest() { host = &host_; }
  ~NetworkChannelTest() override { host = nullptr; }

  NetworkChannel channel(std::size_t unasked_bytes, std::size_t pieces = 4) {
    return NetworkChannel(1, {isend, irecv, test, cancel, request_free, wait, error_class}, 1, Tags::all(32767),
                          {unasked_bytes, pieces});
  }
  /// The code of the error that `what` throws; 0: none.
  template <class What>
  static int error_of(const What& what) {
    try {
      what();
    } catch (const network::Failure& error) {
      return error.code;
    }
    return 0;
  }

  Host host_;
  std::byte data_[64] = {};
};

TEST_F(NetworkChannelTest, MessagesEndInAnyOrderAndTicketsAreTold) {
  NetworkChannel tested = channel(0);
  network::Ticket first = tested.post_send({1, 1, 0, 0}, data_, 8),
                  second = tested.post_receive({1, 1, 0, 0}, data_, 0);
  EXPECT_FALSE(tested.test(first));
  host_.end(2, Host::State::over);
  const network::Ticket old = second;
  EXPECT_TRUE(tested.test(second));
  EXPECT_EQ(second, 0u);
  network::Ticket third = tested.post_send({1, 1, 1, 0}, data_, 8);
  EXPECT_NE(third, old);
  network::Ticket gone = old;
  EXPECT_THROW(tested.test(gone), std::logic_error);
  tested.withdraw(gone);
  EXPECT_EQ(host_.left(), 2) << "a ticket that is over withdraws nothing";
  host_.end(1, Host::State::over);
  host_.end(3, Host::State::over);
  EXPECT_TRUE(tested.test(third) && tested.test(first));
  EXPECT_EQ(host_.left(), 0);
}

TEST_F(NetworkChannelTest, MessagesInOnePieceTakeNoMemoryOfTheirOwn) {
  NetworkChannel tested = channel(0);
  const auto round = [&] {
    network::Ticket tickets[20];
    host_.posted = 0;
    for (network::Ticket& ticket : tickets) ticket = tested.post_receive({1, 1, 0, 0}, data_, 8);
    for (int i = 1; i <= 20; ++i) host_.end(i, Host::State::over);
    for (network::Ticket& ticket : tickets) EXPECT_TRUE(tested.test(ticket));
  };
  round();
  const std::size_t before = allocations;
  round();
  EXPECT_EQ(allocations, before);
}

TEST_F(NetworkChannelTest, PiecesThatWereThereAreWithdrawnWhenTheNextCannotBePosted) {
  for (const bool is_send : {false, true}) {
    host_ = {};
    host_.fails_at = 2;
    NetworkChannel tested = channel(16);
    EXPECT_EQ(error_of([&] {
                if (is_send)
                  tested.post_send({1, 1, 0, 0}, data_, 64);
                else
                  tested.post_receive({1, 1, 0, 0}, data_, 64);
              }),
              MPI_ERR_OTHER);
    EXPECT_EQ(host_.posted, 2);
    EXPECT_EQ(host_.left(), 0);
    EXPECT_EQ(host_.cancelled, is_send ? 0 : 2);
    EXPECT_EQ(host_.waited, is_send ? 0 : 2);
    EXPECT_EQ(host_.freed, is_send ? 2 : 0);
    host_.fails_at = -1;
    network::Ticket next = tested.post_receive({1, 2, 0, 0}, data_, 8);
    host_.end(3, Host::State::over);
    EXPECT_TRUE(tested.test(next));
  }
}

TEST_F(NetworkChannelTest, PiecesThatArePendingAreWithdrawnWhenAnotherFails) {
  NetworkChannel tested = channel(16);
  network::Ticket ticket = tested.post_receive({1, 1, 0, 0}, data_, 64);
  ASSERT_EQ(host_.left(), 4);
  host_.end(1, Host::State::over);
  host_.end(3, Host::State::failed);
  EXPECT_EQ(error_of([&] { tested.test(ticket); }), MPI_ERR_TRUNCATE);
  EXPECT_EQ(ticket, 0u);
  EXPECT_EQ(host_.left(), 0);
  EXPECT_EQ(host_.cancelled, 2);
  EXPECT_EQ(host_.waited, 2);
}

TEST_F(NetworkChannelTest, MessagesGoInAsManyPiecesAsAreQuickerThanAsking) {
  for (const auto& [bytes, pieces] : {std::pair<std::size_t, int>{16, 1}, {17, 2}, {80, 5}, {81, 1}, {1000, 1}}) {
    host_ = {};
    NetworkChannel tested = channel(16, 5);
    network::Ticket ticket = tested.post_receive({1, 1, 0, 0}, data_, bytes);  // nobody stores there
    EXPECT_EQ(host_.posted, pieces) << bytes;
    tested.withdraw(ticket);
  }
}

/// Whatever a file says that hosts send unasked.
TEST_F(NetworkChannelTest, NoPieceIsLongerThanACountCanBe) {
  constexpr std::size_t bytes = (std::size_t{3} << 30) + 5;
  for (const std::size_t unasked : {std::size_t{0}, std::size_t{1'000'000'000'000}}) {
    host_ = {};
    NetworkChannel tested = channel(unasked);
    network::Ticket ticket = tested.post_receive({1, 1, 0, 0}, data_, bytes);  // nobody stores there
    std::size_t sum = 0;
    for (int i = 1; i <= host_.posted; ++i) {
      EXPECT_GT(host_.pieces[i].count, 0);
      sum += static_cast<std::size_t>(host_.pieces[i].count);
    }
    EXPECT_EQ(sum, bytes);
    tested.withdraw(ticket);
    EXPECT_EQ(host_.left(), 0);
  }
}

}  // namespace
}  // namespace tutti::mpi
