// Messages between ranks that are threads, of MPI_COMM_WORLD alone. What is sent without waiting is read where it lies, when
// it is received; so a sender that lets go of it too early is seen.
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "comm/mpi.h"

/// Pieces of memory: their places, from the buffer on, and bytes.
struct ThreadType {
  std::vector<std::pair<MPI_Aint, std::size_t>> pieces;
  MPI_Aint extent = 0;
};

struct ThreadMessage {
  int source = 0, tag = 0;
  std::vector<std::pair<char*, std::size_t>> pieces;  ///< of the sender
  std::vector<char> copy;                             ///< in place of these
  ThreadRequest* sent = nullptr;
};

struct ThreadRequest {
  bool over = false;
  MPI_Status status{};
};

namespace {

struct Post {
  std::mutex mutex;
  std::map<int, std::deque<ThreadMessage*>> of;  ///< by rank
};
Post post;

std::vector<std::pair<char*, std::size_t>> pieces_of(const void* buffer, int count, MPI_Datatype type) {
  std::vector<std::pair<char*, std::size_t>> pieces;
  for (int i = 0; i < count; ++i)
    for (const auto& [place, bytes] : type->pieces)
      if (bytes)
        pieces.emplace_back(reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(buffer) +
                                                    static_cast<std::uintptr_t>(i * type->extent + place)),
                            bytes);
  return pieces;
}

std::vector<char> bytes_in(const std::vector<std::pair<char*, std::size_t>>& pieces) {
  std::vector<char> bytes;
  for (const auto& [begin, count] : pieces) bytes.insert(bytes.end(), begin, begin + count);
  return bytes;
}

int send(const void* buffer, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request* request) {
  int own = 0, ranks = 0;
  MPI_Comm_rank(comm, &own);
  MPI_Comm_size(comm, &ranks);
  if (rank < 0 || rank >= ranks) return MPI_ERR_RANK;
  auto* const message = new ThreadMessage{own, tag, pieces_of(buffer, count, type), {}, nullptr};
  if (request)
    *request = message->sent = new ThreadRequest;
  else
    message->copy = bytes_in(message->pieces);
  const std::lock_guard lock(post.mutex);
  post.of[rank].push_back(message);
  return MPI_SUCCESS;
}

}  // namespace

extern "C" {

MPI_Datatype thread_type(int bytes) {
  static ThreadType one{{{0, 1}}, 1}, word{{{0, sizeof(int)}}, sizeof(int)};
  return bytes == 1 ? &one : &word;
}

int MPI_Comm_test_inter(MPI_Comm, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

int MPI_Comm_remote_size(MPI_Comm, int* size) {
  *size = 0;
  return MPI_SUCCESS;
}

int MPI_Get_address(const void* location, MPI_Aint* address) {
  *address = static_cast<MPI_Aint>(reinterpret_cast<std::uintptr_t>(location));
  return MPI_SUCCESS;
}

int MPI_Type_contiguous(int count, MPI_Datatype type, MPI_Datatype* made) {
  *made = new ThreadType{{{0, static_cast<std::size_t>(count * type->extent)}}, count * type->extent};
  return MPI_SUCCESS;
}

int MPI_Type_create_struct(int count, const int lengths[], const MPI_Aint places[], const MPI_Datatype types[],
                           MPI_Datatype* made) {
  auto* const type = new ThreadType;
  for (int i = 0; i < count; ++i)
    type->pieces.emplace_back(places[i], static_cast<std::size_t>(lengths[i] * types[i]->extent));
  *made = type;
  return MPI_SUCCESS;
}

int MPI_Type_commit(MPI_Datatype*) {
  return MPI_SUCCESS;
}

int MPI_Type_free(MPI_Datatype* type) {
  delete *type;
  *type = nullptr;
  return MPI_SUCCESS;
}

int MPI_Send(const void* buffer, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm) {
  return send(buffer, count, type, rank, tag, comm, nullptr);
}

int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return send(buffer, count, type, rank, tag, comm, request);
}

int MPI_Recv(void*, int, MPI_Datatype, int rank, int, MPI_Comm, MPI_Status* status) {
  // From MPI_PROC_NULL alone.
  if (status) *status = {rank, MPI_ANY_TAG, MPI_SUCCESS, 0};
  return MPI_SUCCESS;
}

int MPI_Improbe(int rank, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
  int own = 0, ranks = 0;
  MPI_Comm_rank(comm, &own);
  MPI_Comm_size(comm, &ranks);
  if (rank >= ranks) return MPI_ERR_RANK;
  const std::lock_guard lock(post.mutex);
  auto& there = post.of[own];
  const auto found = std::find_if(there.begin(), there.end(), [&](const ThreadMessage* each) {
    return (rank == MPI_ANY_SOURCE || rank == each->source) && (tag == MPI_ANY_TAG || tag == each->tag);
  });
  *flag = found != there.end();
  if (!*flag) return MPI_SUCCESS;
  *message = *found;
  there.erase(found);
  std::size_t bytes = 0;
  for (const auto& piece : (*message)->pieces) bytes += piece.second;
  *status = {(*message)->source, (*message)->tag, MPI_SUCCESS, static_cast<MPI_Count>(bytes)};
  return MPI_SUCCESS;
}

int MPI_Mrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  ThreadMessage* const what = *message;
  const std::vector<char> bytes = what->sent ? bytes_in(what->pieces) : what->copy;
  std::size_t done = 0;
  for (const auto& [begin, room] : pieces_of(buffer, count, type)) {
    const std::size_t now = std::min(room, bytes.size() - done);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(done), now, begin);
    done += now;
  }
  if (status) *status = {what->source, what->tag, MPI_SUCCESS, static_cast<MPI_Count>(done)};
  if (what->sent) {
    const std::lock_guard lock(post.mutex);
    what->sent->over = true;
  }
  delete what;
  return MPI_SUCCESS;
}

int MPI_Imrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message, MPI_Request* request) {
  *request = new ThreadRequest{true, {}};
  return MPI_Mrecv(buffer, count, type, message, &(*request)->status);
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  *flag = 1;
  if (!*request) {
    if (status) *status = {MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_SUCCESS, 0};
    return MPI_SUCCESS;
  }
  {
    const std::lock_guard lock(post.mutex);
    *flag = (*request)->over;
  }
  if (!*flag) return MPI_SUCCESS;
  if (status) *status = (*request)->status;
  delete *request;
  *request = nullptr;
  return MPI_SUCCESS;
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  int flag = 0;
  while (!flag) MPI_Test(request, &flag, status);
  return MPI_SUCCESS;
}

int MPI_Get_elements_x(const MPI_Status* status, MPI_Datatype, MPI_Count* count) {
  *count = status->bytes;
  return MPI_SUCCESS;
}

int MPI_Status_set_elements_x(MPI_Status* status, MPI_Datatype, MPI_Count count) {
  status->bytes = count;
  return MPI_SUCCESS;
}

}  // extern "C"
