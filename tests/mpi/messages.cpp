// Messages between two ranks, in all forms that MPI has, by chance; and one by one what is easily done wrong.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "support.h"

using namespace tutti::tests;

namespace {

using Random = std::mt19937_64;

int below(Random& random, int end) {
  return static_cast<int>(random() % static_cast<unsigned>(end));
}

enum class Way { send, isend, issend, irsend, bsend, persistent, sendrecv };
enum class Get { irecv, persistent, recv, probe_recv, mprobe_mrecv, improbe_imrecv };

struct Message {
  int index, source, destination, tag;
  std::size_t doubles;
  Way way;
  Get get;
  bool gaps_there, gaps_here;  ///< in the sender's and in the receiver's buffer
  Place place_there, place_here;
  bool posted_first;

  std::size_t bytes() const { return doubles * sizeof(double); }
  double value(std::size_t i, std::uint64_t seed) const {
    return static_cast<double>(seed % 1000) * 1e6 + index * 1e4 + static_cast<double>(i % 9973);
  }
};

/// Doubles, one behind the other or with gaps.
class Doubles {
 public:
  Doubles(Context& context, Place place, std::size_t count, bool gaps, int slot)
      : count_(count),
        step_(gaps ? 2 : 1),
        memory_(context, place, std::max<std::size_t>(count * step_ * sizeof(double), 8), slot) {
    for (std::size_t i = 0; i < count_ * step_; ++i) at()[i] = -1;
    if (!gaps) return;
    MPI_Type_vector(static_cast<int>(count), 1, 2, MPI_DOUBLE, &type_);
    MPI_Type_commit(&type_);
  }
  ~Doubles() {
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
  }
  Doubles(const Doubles&) = delete;
  Doubles& operator=(const Doubles&) = delete;

  void* data() { return memory_.data(); }
  int count() const { return type_ == MPI_DATATYPE_NULL ? static_cast<int>(count_) : 1; }
  MPI_Datatype type() const { return type_ == MPI_DATATYPE_NULL ? MPI_DOUBLE : type_; }
  double& operator[](std::size_t i) { return at()[i * step_]; }
  /// What lies between has been left alone.
  bool gaps_are_whole() {
    for (std::size_t i = 1; step_ == 2 && i < count_ * 2; i += 2)
      if (at()[i] != -1) return false;
    return true;
  }

 private:
  double* at() { return reinterpret_cast<double*>(memory_.data()); }
  std::size_t count_, step_;
  Memory memory_;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

std::vector<Message> draw(Random& random, int ranks, bool crowded) {
  constexpr std::size_t sizes[] = {0,   1,    59,   60,   61,   127,    128,    129,
                                   512, 2047, 2048, 2049, 8192, 20'000, 40'000, 140'000};
  const Place places[] = {Place::kHeap, Place::kHeap, Place::kInsideHeap, Place::kMmap, Place::kAllocMem};
  std::vector<Message> all(static_cast<std::size_t>(1 + below(random, crowded ? 5 : 12)));
  for (std::size_t i = 0; i < all.size(); ++i) {
    Message& each = all[i];
    each.index = static_cast<int>(i);
    each.source = below(random, ranks);
    each.destination = below(random, ranks);
    each.tag = below(random, 3);
    each.doubles = sizes[static_cast<std::size_t>(below(random, 16))];
    each.way = static_cast<Way>(below(random, 7));
    each.get = static_cast<Get>(below(random, 6));
    each.gaps_there = below(random, 4) == 0;
    each.gaps_here = below(random, 4) == 0;
    each.place_there = places[below(random, 5)];
    each.place_here = places[below(random, 5)];
    each.posted_first = each.get == Get::irecv || each.get == Get::persistent;
    // To oneself nobody waits before it has sent, nor sends before it has received.
    if (each.source == each.destination) each.way = Way::isend;
    if (each.way == Way::sendrecv || each.way == Way::send || each.way == Way::irsend) {
      // Only where the receiver is certain to come.
      each.get = below(random, 2) ? Get::irecv : Get::persistent;
      each.posted_first = true;
    }
  }
  // The n-th receive gets the n-th message: of a queue of which some are received later, none may be waited for.
  for (Message& each : all)
    for (const Message& other : all)
      if (each.source == other.source && each.destination == other.destination && each.tag == other.tag &&
          !other.posted_first && (each.way == Way::send || each.way == Way::sendrecv || each.way == Way::irsend))
        each.way = Way::isend;
  return all;
}

/// One receive: of the next message of its source and tag, so that there is room for the longest of these.
struct Receive {
  const Message* posted;  ///< for which it was drawn
  const Message* comes;   ///< which comes
  std::unique_ptr<Doubles> into;
  MPI_Request request = MPI_REQUEST_NULL;
  bool is_persistent = false;
};

/// The messages of a round. Those with wildcards have a tag of their own, and say who they are.
void round_of(Context& context, MPI_Comm communicator, std::uint64_t seed) {
  Random alike(seed), own(seed * 31 + static_cast<std::uint64_t>(context.rank()));
  const std::vector<Message> all = draw(alike, context.size(), context.crowded());
  const bool with_barrier = below(alike, 2) == 0, any_tag = below(alike, 4) == 0;
  const bool by_wildcard = any_tag || below(alike, 4) == 0;
  const int me = context.rank();

  using Queue = std::tuple<int, int>;  // source and tag
  std::map<Queue, std::vector<const Message*>> expected;
  std::size_t longest = 0;
  for (const Message& each : all)
    if (each.destination == me) {
      expected[{each.source, each.tag}].push_back(&each);
      longest = std::max(longest, each.doubles);
    }
  std::map<Queue, std::size_t> next;
  std::vector<std::unique_ptr<Receive>> receives;
  std::vector<const Message*> in_order;  // posted first, then the others
  for (const bool first : {true, false})
    for (const Message& each : all)
      if (each.destination == me && each.posted_first == first) in_order.push_back(&each);

  const auto check = [&](Receive& receive, const MPI_Status& status) {
    const Queue from{status.MPI_SOURCE, status.MPI_TAG};
    const auto found = expected.find(from);
    if (!context.expect(found != expected.end() && next[from] < found->second.size(),
                        "a message of rank %d with tag %d has come that nobody sent (seed %llu)", status.MPI_SOURCE,
                        status.MPI_TAG, static_cast<unsigned long long>(seed)))
      return;
    const Message& comes = by_wildcard ? *found->second[next[from]++] : *receive.comes;
    int count = -1;
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    context.expect(
        count == static_cast<int>(comes.doubles) && status.MPI_SOURCE == comes.source && status.MPI_TAG == comes.tag,
        "%d doubles of rank %d with tag %d instead of %zu of rank %d with tag %d (seed %llu)", count, status.MPI_SOURCE,
        status.MPI_TAG, comes.doubles, comes.source, comes.tag, static_cast<unsigned long long>(seed));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < comes.doubles; ++i) wrong += (*receive.into)[i] != comes.value(i, seed);
    context.expect(wrong == 0 && receive.into->gaps_are_whole(),
                   "%zu of %zu doubles of message %d from rank %d are wrong (way %d, got by %d, gaps %d %d, seed %llu)",
                   wrong, comes.doubles, comes.index, comes.source, static_cast<int>(comes.way),
                   static_cast<int>(receive.posted->get), comes.gaps_there, receive.posted->gaps_here,
                   static_cast<unsigned long long>(seed));
  };
  std::map<Queue, std::size_t> posted_of;
  const auto prepare = [&](const Message& drawn) {
    auto receive = std::make_unique<Receive>();
    const Queue queue{drawn.source, drawn.tag};
    receive->posted = &drawn;
    receive->comes = expected[queue][posted_of[queue]++];
    std::size_t room = longest;
    if (!by_wildcard) {
      room = 0;
      for (const Message* each : expected[queue]) room = std::max(room, each->doubles);
    }
    receive->into = std::make_unique<Doubles>(context, drawn.place_here, room, drawn.gaps_here && room > 0, 0);
    receives.push_back(std::move(receive));
    return receives.back().get();
  };
  const auto source_of = [&](const Message& drawn) { return by_wildcard ? MPI_ANY_SOURCE : drawn.source; };
  const auto tag_of = [&](const Message& drawn) { return any_tag ? MPI_ANY_TAG : drawn.tag; };

  std::vector<Receive*> pending;
  // With wildcards the order in which receives are completed is not that in which they were matched: one at a time then.
  const bool one_at_a_time = by_wildcard;
  const auto post = [&](const Message& drawn) {
    Receive* const receive = prepare(drawn);
    Doubles& into = *receive->into;
    if (drawn.get == Get::persistent) {
      receive->is_persistent = true;
      MPI_Recv_init(into.data(), into.count(), into.type(), source_of(drawn), tag_of(drawn), communicator,
                    &receive->request);
      MPI_Start(&receive->request);
    } else {
      MPI_Irecv(into.data(), into.count(), into.type(), source_of(drawn), tag_of(drawn), communicator,
                &receive->request);
    }
    pending.push_back(receive);
  };
  for (const Message* each : in_order)
    if (each->posted_first && !one_at_a_time) post(*each);
  if (with_barrier) MPI_Barrier(communicator);
  dawdle(own(), 50);

  std::vector<std::unique_ptr<Doubles>> sent;
  std::vector<MPI_Request> sends;
  std::vector<char> attached;
  std::size_t to_attach = 0;
  for (const Message& each : all)
    if (each.source == me && each.way == Way::bsend) to_attach += each.bytes() + MPI_BSEND_OVERHEAD + 64;
  if (to_attach > 0) {
    attached.resize(to_attach);
    MPI_Buffer_attach(attached.data(), static_cast<int>(to_attach));
  }
  for (const Message& each : all) {
    if (each.source != me) continue;
    sent.push_back(
        std::make_unique<Doubles>(context, each.place_there, each.doubles, each.gaps_there && each.doubles > 0, 1));
    Doubles& from = *sent.back();
    for (std::size_t i = 0; i < each.doubles; ++i) from[i] = each.value(i, seed);
    MPI_Request request = MPI_REQUEST_NULL;
    Way way = each.way;
    if (one_at_a_time && (way == Way::send || way == Way::irsend || way == Way::sendrecv)) way = Way::isend;
    if (way == Way::irsend && !with_barrier) way = Way::isend;
    switch (way) {
      case Way::send:
        MPI_Send(from.data(), from.count(), from.type(), each.destination, each.tag, communicator);
        break;
      case Way::sendrecv: {
        MPI_Status status;
        MPI_Sendrecv(from.data(), from.count(), from.type(), each.destination, each.tag, nullptr, 0, MPI_INT,
                     MPI_PROC_NULL, 0, communicator, &status);
        break;
      }
      case Way::isend:
        MPI_Isend(from.data(), from.count(), from.type(), each.destination, each.tag, communicator, &request);
        break;
      case Way::issend:
        MPI_Issend(from.data(), from.count(), from.type(), each.destination, each.tag, communicator, &request);
        break;
      case Way::irsend:
        MPI_Irsend(from.data(), from.count(), from.type(), each.destination, each.tag, communicator, &request);
        break;
      case Way::bsend:
        MPI_Bsend(from.data(), from.count(), from.type(), each.destination, each.tag, communicator);
        break;
      case Way::persistent:
        MPI_Send_init(from.data(), from.count(), from.type(), each.destination, each.tag, communicator, &request);
        MPI_Start(&request);
        break;
    }
    if (request != MPI_REQUEST_NULL) sends.push_back(request);
  }

  for (const Message* each : in_order) {
    if (each->posted_first && !one_at_a_time) continue;
    MPI_Status status{}, probed{};
    int probed_count = -1;
    if (one_at_a_time && each->posted_first) {
      post(*each);
      MPI_Wait(&pending.back()->request, &status);
      check(*pending.back(), status);
      if (pending.back()->is_persistent) MPI_Request_free(&pending.back()->request);
      pending.pop_back();
      continue;
    }
    Receive* const receive = prepare(*each);
    Doubles& into = *receive->into;
    const int source = source_of(*each), tag = tag_of(*each);
    MPI_Message message = MPI_MESSAGE_NULL;
    if (each->get == Get::probe_recv) {
      MPI_Probe(source, tag, communicator, &probed);
      MPI_Get_count(&probed, MPI_DOUBLE, &probed_count);
      MPI_Recv(into.data(), into.count(), into.type(), probed.MPI_SOURCE, probed.MPI_TAG, communicator, &status);
    } else if (each->get == Get::mprobe_mrecv) {
      MPI_Mprobe(source, tag, communicator, &message, &probed);
      MPI_Get_count(&probed, MPI_DOUBLE, &probed_count);
      MPI_Mrecv(into.data(), into.count(), into.type(), &message, &status);
    } else if (each->get == Get::improbe_imrecv) {
      for (int flag = 0; !flag;) MPI_Improbe(source, tag, communicator, &flag, &message, &probed);
      MPI_Get_count(&probed, MPI_DOUBLE, &probed_count);
      MPI_Imrecv(into.data(), into.count(), into.type(), &message, &receive->request);
      MPI_Wait(&receive->request, &status);
    } else {
      MPI_Recv(into.data(), into.count(), into.type(), source, tag, communicator, &status);
    }
    check(*receive, status);
    int count = -1;
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    context.expect(probed_count < 0 || probed_count == count, "%d doubles were found, and %d received (seed %llu)",
                   probed_count, count, static_cast<unsigned long long>(seed));
  }

  // What was posted first.
  std::vector<MPI_Request> open;
  for (Receive* each : pending) open.push_back(each->request);
  std::vector<MPI_Status> statuses(open.size());
  const int count = static_cast<int>(open.size()), way = below(own, 5);
  std::vector<bool> told(open.size());
  const auto tell = [&](int i, const MPI_Status& status) {
    context.expect(!told[static_cast<std::size_t>(i)], "a request was completed twice (seed %llu)",
                   static_cast<unsigned long long>(seed));
    told[static_cast<std::size_t>(i)] = true;
    check(*pending[static_cast<std::size_t>(i)], status);
  };
  if (way == 0) {
    MPI_Waitall(count, open.data(), statuses.data());
    for (int i = 0; i < count; ++i) tell(i, statuses[static_cast<std::size_t>(i)]);
  } else if (way == 1) {
    for (int done = 0; done < count; ++done) {
      int index = -1;
      MPI_Status status;
      MPI_Waitany(count, open.data(), &index, &status);
      tell(index, status);
    }
  } else if (way == 2) {
    for (int flag = 0; !flag;) MPI_Testall(count, open.data(), &flag, statuses.data());
    for (int i = 0; i < count; ++i) tell(i, statuses[static_cast<std::size_t>(i)]);
  } else if (way == 3) {
    std::vector<int> indices(open.size());
    for (int done = 0, some = 0; done < count; done += some) {
      MPI_Waitsome(count, open.data(), &some, indices.data(), statuses.data());
      for (int i = 0; i < some; ++i) tell(indices[static_cast<std::size_t>(i)], statuses[static_cast<std::size_t>(i)]);
    }
  } else {
    for (int i = 0; i < count; ++i) {
      MPI_Status status;
      // MPICH forgets what it has told of a persistent one.
      int flag = pending[static_cast<std::size_t>(i)]->is_persistent;
      while (!flag) MPI_Request_get_status(open[static_cast<std::size_t>(i)], &flag, &status);
      MPI_Wait(&open[static_cast<std::size_t>(i)], &status);
      tell(i, status);
    }
  }
  for (MPI_Request& each : open)
    if (each != MPI_REQUEST_NULL) MPI_Request_free(&each);
  MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE);
  for (MPI_Request& each : sends)
    if (each != MPI_REQUEST_NULL) MPI_Request_free(&each);
  if (to_attach > 0) {
    void* begin = nullptr;
    int bytes = 0;
    MPI_Buffer_detach(&begin, &bytes);
  }
}

void messages_by_chance(Context& context) {
  const char* const seconds = std::getenv("TUTTI_TEST_SECONDS");
  const char* const first = std::getenv("TUTTI_TEST_SEED");
  const double end = MPI_Wtime() + (seconds ? std::atof(seconds) : 2);
  auto seed = static_cast<std::uint64_t>(first ? std::atoll(first) : static_cast<long long>(MPI_Wtime() * 1e3));
  MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  for (int goes_on = 1; goes_on; ++seed) {
    round_of(context, seed % 2 ? other : MPI_COMM_WORLD, seed);
    // A receive that takes anything must not take what belongs to the next round.
    MPI_Barrier(MPI_COMM_WORLD);
    goes_on = MPI_Wtime() < end;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  MPI_Comm_free(&other);
}

/// Each with its neighbour in a pair; the last one of an odd number has none.
int partner_in(const Context& context) {
  const int other = context.rank() ^ 1;
  return other < context.size() ? other : MPI_PROC_NULL;
}

bool is_intel_mpi() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  return std::strstr(version, "Intel");
}

/// The receiver has less room than the message needs: an error of the class that MPI has for it, and what there is room for.
void long_messages_are_truncated(Context& context) {
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  const int other = partner_in(context);
  std::vector<double> sent(40'000), received(40'000);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<double>(i);
  const bool is_intel = is_intel_mpi();
  for (const int room : {10'000, 39'999}) {
    for (const bool blocking : {true, false}) {
      // Intel MPI ends the job in MPI_Wait, whatever the communicator's error handler.
      if (is_intel && !blocking) continue;
      if (context.rank() % 2 == 0) {
        if (other == MPI_PROC_NULL) continue;
        MPI_Send(sent.data(), 40'000, MPI_DOUBLE, other, 5, communicator);
        continue;
      }
      MPI_Status status{};
      status.MPI_SOURCE = -7;
      MPI_Request request = MPI_REQUEST_NULL;
      std::fill(received.begin(), received.end(), -1.0);
      int code = MPI_SUCCESS, error = MPI_SUCCESS;
      if (blocking) {
        code = MPI_Recv(received.data(), room, MPI_DOUBLE, other, 5, communicator, &status);
      } else {
        MPI_Irecv(received.data(), room, MPI_DOUBLE, other, 5, communicator, &request);
        code = MPI_Wait(&request, &status);
      }
      MPI_Error_class(code, &error);
      context.expect(error == MPI_ERR_TRUNCATE, "%d of 40000 doubles, blocking %d: class %d", room, blocking, error);
      context.expect(received[static_cast<std::size_t>(room)] == -1, "%d of 40000 doubles: one too many", room);
    }
  }
  MPI_Comm_free(&communicator);
}

/// The same of two out of three that end in one call: each status has what became of its own, and the third message is there.
void truncated_messages_end_beside_others(Context& context) {
  if (is_intel_mpi()) return;  // it ends the job, see above
  constexpr int room = 100, brief = 60, tags = 3;
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  const int other = partner_in(context);
  const std::vector<double> sent(40'000, 7);
  if (context.rank() % 2 == 0) {
    for (int tag = 0; other != MPI_PROC_NULL && tag < tags; ++tag)
      MPI_Send(sent.data(), tag == 1 ? brief : 40'000, MPI_DOUBLE, other, tag, communicator);
  } else {
    std::vector<double> received(tags * room, -1.0);
    MPI_Request requests[tags];
    MPI_Status statuses[tags];
    for (int tag = 0; tag < tags; ++tag)
      MPI_Irecv(&received[static_cast<std::size_t>(tag * room)], room, MPI_DOUBLE, other, tag, communicator,
                &requests[tag]);
    // Where hosts say that some are under way still, they are asked again.
    int errors[tags] = {MPI_ERR_PENDING, MPI_ERR_PENDING, MPI_ERR_PENDING};
    for (int asked = 0; asked < tags && std::count(errors, errors + tags, MPI_ERR_PENDING) > 0; ++asked) {
      const int code = MPI_Waitall(tags, requests, statuses);
      for (int tag = 0; tag < tags; ++tag)
        if (errors[tag] == MPI_ERR_PENDING)
          MPI_Error_class(code == MPI_ERR_IN_STATUS ? statuses[tag].MPI_ERROR : code, &errors[tag]);
    }
    for (int tag = 0; tag < tags; ++tag)
      context.expect(errors[tag] == (tag == 1 ? MPI_SUCCESS : MPI_ERR_TRUNCATE), "message %d: class %d", tag,
                     errors[tag]);
    context.expect(received[room] == 7 && received[room + brief - 1] == 7 && received[room + brief] == -1,
                   "the message between them");
  }
  MPI_Comm_free(&communicator);
}

/// All send, of every length up to what the MPI buffers without Tutti, before anybody receives.
void programs_may_lean_on_buffers(Context& context) {
  const int other = partner_in(context);
  for (const int doubles : {1, 60, 128, 256, 400}) {
    std::vector<double> sent(static_cast<std::size_t>(doubles), context.rank()), received(sent.size());
    for (int i = 0; i < 20; ++i) {
      MPI_Send(sent.data(), doubles, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
      MPI_Recv(received.data(), doubles, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (other != MPI_PROC_NULL) {
        context.expect(received.back() == other, "%d doubles: %g", doubles, received.back());
      }
    }
  }
}

/// As benchmarks do, which do not care what comes: many at a time into one buffer, and out of one.
void many_come_into_one_buffer(Context& context) {
  constexpr int count = 64;
  const int other = partner_in(context);
  for (const int doubles : {60, 128, 2000, 20'000}) {
    std::vector<double> sent(static_cast<std::size_t>(doubles), context.rank()), received(sent.size(), -1);
    std::vector<MPI_Request> receives(count), sends(count);
    for (int i = 0; i < 5; ++i) {
      for (MPI_Request& each : receives)
        MPI_Irecv(received.data(), doubles, MPI_DOUBLE, other, 10, MPI_COMM_WORLD, &each);
      for (MPI_Request& each : sends) MPI_Isend(sent.data(), doubles, MPI_DOUBLE, other, 10, MPI_COMM_WORLD, &each);
      MPI_Waitall(count, i % 2 ? sends.data() : receives.data(), MPI_STATUSES_IGNORE);
      MPI_Waitall(count, i % 2 ? receives.data() : sends.data(), MPI_STATUSES_IGNORE);
      if (other == MPI_PROC_NULL) continue;
      const auto wrong = std::count_if(received.begin(), received.end(), [&](double each) { return each != other; });
      context.expect(wrong == 0, "%d doubles: %d wrong", doubles, static_cast<int>(wrong));
    }
  }
}

void receives_are_cancelled(Context& context) {
  std::vector<double> buffer(40'000);
  for (const int source : {partner_in(context), static_cast<int>(MPI_ANY_SOURCE)}) {
    if (source == MPI_PROC_NULL) continue;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(buffer.data(), 40'000, MPI_DOUBLE, source, 77, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Status status;
    MPI_Wait(&request, &status);
    int cancelled = 0;
    MPI_Test_cancelled(&status, &cancelled);
    context.expect(cancelled == 1, "a receive that was cancelled was not");
  }
}

/// What is freed while it is under way comes to its end.
void requests_are_freed(Context& context) {
  const int other = partner_in(context);
  if (other == MPI_PROC_NULL) return;
  std::vector<double> sent(40'000, 1 + context.rank()), received(40'000);
  for (int i = 0; i < 10; ++i) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(received.data(), 40'000, MPI_DOUBLE, other, 3, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Isend(sent.data(), 40'000, MPI_DOUBLE, other, 3, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    // Nobody tells that it has come; it comes in any order.
    const double end = MPI_Wtime() + 60;
    const auto has_come = [&] {
      return std::all_of(received.begin(), received.end(),
                         [&](const volatile double& each) { return each == 1 + other; });
    };
    for (int flag = 0; !has_come() && MPI_Wtime() < end;)
      MPI_Iprobe(other, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    context.expect(has_come(), "what was freed has not come");
    std::fill(received.begin(), received.end(), 0.0);
    int token = 0;
    MPI_Sendrecv(&token, 1, MPI_INT, other, 4, &token, 1, MPI_INT, other, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

void messages_are_exchanged(Context& context) {
  const int right = (context.rank() + 1) % context.size();
  const int left = (context.rank() + context.size() - 1) % context.size();
  for (const int doubles : {0, 60, 2'048, 40'000, 300'000}) {
    const auto count = static_cast<std::size_t>(doubles);
    for (int way = 0; way < 4; ++way) {
#if MPI_VERSION < 4
      if (way > 1) break;
#endif
      std::vector<double> sent(count, context.rank()), received(count, -1);
      double* const buffer = way % 2 ? sent.data() : received.data();
      MPI_Status status{};
      MPI_Request request = MPI_REQUEST_NULL;
      if (way == 0)
        MPI_Sendrecv(sent.data(), doubles, MPI_DOUBLE, right, 1, received.data(), doubles, MPI_DOUBLE, left, 1,
                     MPI_COMM_WORLD, &status);
      if (way == 1) MPI_Sendrecv_replace(sent.data(), doubles, MPI_DOUBLE, right, 1, left, 1, MPI_COMM_WORLD, &status);
#if MPI_VERSION >= 4
      if (way == 2)
        MPI_Isendrecv(sent.data(), doubles, MPI_DOUBLE, right, 1, received.data(), doubles, MPI_DOUBLE, left, 1,
                      MPI_COMM_WORLD, &request);
      if (way == 3)
        MPI_Isendrecv_replace(sent.data(), doubles, MPI_DOUBLE, right, 1, left, 1, MPI_COMM_WORLD, &request);
#endif
      if (way > 1) MPI_Wait(&request, &status);
      int got = -1;
      MPI_Get_count(&status, MPI_DOUBLE, &got);
      bool right_ones = true;
      for (std::size_t i = 0; i < count; ++i) right_ones = right_ones && buffer[i] == left;
      context.expect(right_ones && got == doubles && status.MPI_SOURCE == left, "%d doubles, way %d: wrong", doubles,
                     way);
    }
  }
}

/// Each thread talks to the one with its tag, in all ways at once.
void threads_send_and_receive(Context& context) {
  const int other = partner_in(context);
  constexpr int threads = 3, rounds = 60;
  std::vector<int> wrong(threads);
  const auto talk = [&](int tag) {
    Random random(static_cast<std::uint64_t>(tag));  // the same on both sides
    for (int round = 0; round < rounds && other != MPI_PROC_NULL; ++round) {
      constexpr std::size_t sizes[] = {1, 60, 600, 3'000, 20'000, 140'000};
      const std::size_t count = sizes[static_cast<std::size_t>(below(random, 6))];
      const int way = below(random, 4), doubles = static_cast<int>(count);
      std::vector<double> sent(count, context.rank() * 1000 + round), received(count, -1);
      MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
      MPI_Status status{};
      int got = doubles;
      if (way == 0) MPI_Irecv(received.data(), doubles, MPI_DOUBLE, other, tag, MPI_COMM_WORLD, &requests[0]);
      if (way == 3) {
        MPI_Sendrecv(sent.data(), doubles, MPI_DOUBLE, other, tag, received.data(), doubles, MPI_DOUBLE, other, tag,
                     MPI_COMM_WORLD, &status);
      } else {
        MPI_Isend(sent.data(), doubles, MPI_DOUBLE, other, tag, MPI_COMM_WORLD, &requests[1]);
      }
      if (way == 1) MPI_Recv(received.data(), doubles, MPI_DOUBLE, other, tag, MPI_COMM_WORLD, &status);
      if (way == 2) {
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Mprobe(other, tag, MPI_COMM_WORLD, &message, &status);
        MPI_Get_count(&status, MPI_DOUBLE, &got);
        MPI_Mrecv(received.data(), doubles, MPI_DOUBLE, &message, &status);
      }
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      const bool right =
          std::all_of(received.begin(), received.end(), [&](double each) { return each == other * 1000 + round; });
      wrong[static_cast<std::size_t>(tag)] += !right || got != doubles;
    }
  };
  std::vector<std::thread> others;
  for (int tag = 1; tag < threads; ++tag) others.emplace_back(talk, tag);
  talk(0);
  for (std::thread& each : others) each.join();
  for (int tag = 0; tag < threads; ++tag)
    context.expect(wrong[static_cast<std::size_t>(tag)] == 0, "%d messages of thread %d are wrong",
                   wrong[static_cast<std::size_t>(tag)], tag);
}

}  // namespace

/// With TUTTI_TEST_THREADS threads may call MPI at the same time, and one test is more.
int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, std::getenv("TUTTI_TEST_THREADS") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  int status = 0;
  {
    Context context(nullptr, 0);
    std::vector<Test> tests{
#define TEST(name) {#name, &name}
        TEST(messages_are_exchanged),      TEST(programs_may_lean_on_buffers),
        TEST(long_messages_are_truncated), TEST(truncated_messages_end_beside_others),
        TEST(receives_are_cancelled),      TEST(requests_are_freed),
        TEST(many_come_into_one_buffer),   TEST(messages_by_chance),
    };
    if (provided == MPI_THREAD_MULTIPLE) tests.push_back(TEST(threads_send_and_receive));
    status = run_tests(context, tests, argc, argv);
  }
  MPI_Finalize();
  return status;
}
