/* Blocks that change their owner.
 *
 * Each is an ordinary message with the communicator and tag of the program, so that the MPI matches it and keeps the order:
 * a Note that says where the block lies, or, where the taker does not see it, the Note and all bytes. Who takes looks for a
 * message first (MPI_Improbe), since its length tells which it is.
 *
 * Blocks that are taken without waiting are looked for when somebody tests or waits for one: for all of them, in the order
 * in which they were started. What is found for a later one goes to the earliest that it matches, as MPI would have it.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common.h"
#include "library.h"
#include "request.h"

enum { nothing, copied, where_it_lies };

struct note {
  uint64_t word; /* "tutti: a block", so to speak */
  int64_t bytes;
  uint64_t how;
  struct place place;
};
static const uint64_t note_word = UINT64_C(0x6b636f6c62747475);

/* A Note and the bytes behind it as one message, each where it is. */
static int make_type(struct note* note, void* block, MPI_Aint bytes, MPI_Datatype* type) {
  const MPI_Aint piece = 1 << 30; /* counts are ints */
  MPI_Datatype pieces;
  const int lengths[] = {(int)sizeof *note, (int)(bytes / piece), (int)(bytes % piece)};
  MPI_Aint places[3];
  int code = MPI_Type_contiguous((int)piece, MPI_BYTE, &pieces);
  if (code != MPI_SUCCESS) return code;
  MPI_Get_address(note, &places[0]);
  MPI_Get_address(block, &places[1]);
  MPI_Get_address((char*)block + bytes / piece * piece, &places[2]);
  const MPI_Datatype types[] = {MPI_BYTE, pieces, MPI_BYTE};
  code = MPI_Type_create_struct(3, lengths, places, types, type);
  MPI_Type_free(&pieces);
  return code == MPI_SUCCESS ? MPI_Type_commit(type) : code;
}

/* What is written before a block is given is there for whoever takes it, also what was stored past the caches. */
static void order(void) {
#ifndef __SANITIZE_THREAD__ /* which knows no fences */
  atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* Where blocks are copied, ranks that give and take by turns free one and allocate one each time, whose pages the system
 * makes anew. So the last one that was copied is kept for the next that comes: its bytes are in its first word. */
static _Atomic(void*) spare;
static const int64_t kept_at_most = 16 << 20;

static void let_go(void* block, int64_t bytes) {
  if (bytes >= (int64_t)sizeof bytes && bytes <= kept_at_most) {
    *(int64_t*)block = bytes;
    block = atomic_exchange_explicit(&spare, block, memory_order_acq_rel);
  }
  TUTTI_Free(block);
}

static int make_room(int64_t bytes, void** room) {
  *room = atomic_exchange_explicit(&spare, NULL, memory_order_acq_rel);
  if (*room && *(int64_t*)*room >= bytes && *(int64_t*)*room / 2 <= bytes) return MPI_SUCCESS;
  TUTTI_Free(*room);
  return TUTTI_Alloc((MPI_Aint)bytes, room);
}

/* ---- giving ---- */

struct gift {
  struct TUTTI_Request_s request;
  struct note note;
  void* block; /* that is to be freed when it has been copied */
  MPI_Request message;
};

/* Fills the note; 1 if the bytes are to go with it. */
static int write_note(struct note* note, void* block, MPI_Aint bytes, int rank, int tag, MPI_Comm comm) {
  const struct note empty = {note_word, bytes, nothing, {0, 0, 0, 0}};
  *note = empty;
  if (!block) return 0;
  order();
  note->how = tutti_library_give(comm, rank, tag, block, &note->place) ? where_it_lies : copied;
  return note->how == copied;
}

/* Sends it; `started`: without waiting. */
static int send(struct note* note, void* block, int rank, int tag, MPI_Comm comm, MPI_Request* started) {
  int code;
  if (note->how != copied) {
    code = started ? MPI_Isend(note, (int)sizeof *note, MPI_BYTE, rank, tag, comm, started)
                   : MPI_Send(note, (int)sizeof *note, MPI_BYTE, rank, tag, comm);
    if (code != MPI_SUCCESS && note->how == where_it_lies) tutti_library_give_not(block);
    return code;
  }
  MPI_Datatype type;
  code = make_type(note, block, (MPI_Aint)note->bytes, &type);
  if (code != MPI_SUCCESS) return code;
  code = started ? MPI_Isend(MPI_BOTTOM, 1, type, rank, tag, comm, started)
                 : MPI_Send(MPI_BOTTOM, 1, type, rank, tag, comm);
  MPI_Type_free(&type);
  return code;
}

/* What is wrong with the block itself; what the MPI sees of the other arguments it says. */
static int check(const char* name, const void* block, MPI_Aint bytes, MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return failed_on(comm, name, MPI_ERR_COMM, "");
  if (bytes < 0 || (!block && bytes > 0)) return failed_on(comm, name, MPI_ERR_COUNT, "no block has so many bytes");
  return MPI_SUCCESS;
}

int TUTTI_Give(void* block, MPI_Aint bytes, int rank, int tag, MPI_Comm comm) {
  struct note note;
  int code = check("TUTTI_Give", block, bytes, comm);
  if (code != MPI_SUCCESS) return code;
  if (rank == MPI_PROC_NULL) return TUTTI_Free(block);
  const int goes_along = write_note(&note, block, bytes, rank, tag, comm);
  code = send(&note, block, rank, tag, comm, NULL);
  if (goes_along && code == MPI_SUCCESS) let_go(block, note.bytes);
  return code;
}

static int test_gift(struct TUTTI_Request_s* request, int* flag, MPI_Status* status) {
  struct gift* const gift = (struct gift*)request;
  const int code = MPI_Test(&gift->message, flag, status);
  if (!*flag && code == MPI_SUCCESS) return code;
  if (code == MPI_SUCCESS && gift->block) let_go(gift->block, gift->note.bytes);
  free(gift);
  return code;
}

int TUTTI_Igive(void* block, MPI_Aint bytes, int rank, int tag, MPI_Comm comm, TUTTI_Request* request) {
  static const char name[] = "TUTTI_Igive";
  int code = check(name, block, bytes, comm);
  if (code != MPI_SUCCESS) return code;
  struct gift* const gift = malloc(sizeof *gift);
  if (!gift) return failed_on(comm, name, MPI_ERR_NO_MEM, "there is no memory");
  gift->request.test = test_gift;
  gift->message = MPI_REQUEST_NULL;
  gift->block = block;
  gift->note.bytes = 0;
  if (rank != MPI_PROC_NULL) {
    if (!write_note(&gift->note, block, bytes, rank, tag, comm)) gift->block = NULL;
    code = send(&gift->note, block, rank, tag, comm, &gift->message);
  }
  if (code != MPI_SUCCESS) {
    free(gift);
    return code;
  }
  *request = &gift->request;
  return MPI_SUCCESS;
}

/* ---- taking ---- */

enum { looked_for, found, coming };

struct wish {
  struct TUTTI_Request_s request;
  int rank, tag;
  MPI_Comm comm;
  void** block;
  MPI_Aint* bytes;
  const char* name; /* of the function */
  int is_fixed;     /* it is not to be freed: it is its caller's */
  int code;
  atomic_int state; /* whoever looks finds it, perhaps another thread */
  MPI_Message message;
  MPI_Status status;
  struct note note;
  void* room;          /* for a copy */
  MPI_Request receive; /* of it */
  struct wish* next;
};

/* Those that nothing was found for, in the order in which they were started. */
static struct wish* wishes;
static struct wish** last_wish = &wishes;
static atomic_flag in_use = ATOMIC_FLAG_INIT; /* of these two */

static void lock(void) {
  while (atomic_flag_test_and_set_explicit(&in_use, memory_order_acquire)) sched_yield();
}

static void unlock(void) {
  atomic_flag_clear_explicit(&in_use, memory_order_release);
}

static void add(struct wish* wish) {
  wish->next = NULL;
  lock();
  *last_wish = wish;
  last_wish = &wish->next;
  unlock();
}

/* Of which `place` points to it. */
static void take_out(struct wish** place) {
  struct wish* const wish = *place;
  *place = wish->next;
  if (last_wish == &wish->next) last_wish = place;
  atomic_store_explicit(&wish->state, found, memory_order_release);
}

static int matches(const struct wish* wish, MPI_Comm comm, const MPI_Status* status) {
  return wish->comm == comm && (wish->rank == MPI_ANY_SOURCE || wish->rank == status->MPI_SOURCE) &&
         (wish->tag == MPI_ANY_TAG || wish->tag == status->MPI_TAG);
}

/* Looks for a message for each. */
static void look(void) {
  lock();
  for (struct wish** place = &wishes; *place;) {
    struct wish* const wish = *place;
    int flag = 0;
    MPI_Message message;
    MPI_Status status;
    const int code = MPI_Improbe(wish->rank, wish->tag, wish->comm, &flag, &message, &status);
    if (code == MPI_SUCCESS && !flag) {
      place = &wish->next;
      continue;
    }
    struct wish** first = place;
    if (code == MPI_SUCCESS)
      for (first = &wishes; !matches(*first, wish->comm, &status);) first = &(*first)->next;
    struct wish* const whose = *first;
    whose->code = code;
    whose->message = message;
    whose->status = status;
    /* If it was another's, this one is looked for again. */
    if (place == &whose->next) place = first;
    take_out(first);
  }
  unlock();
}

static int state_of(struct wish* wish) {
  return atomic_load_explicit(&wish->state, memory_order_acquire);
}

/* Begins to receive what was found. */
static int receive(struct wish* wish) {
  MPI_Count bytes = 0;
  MPI_Datatype type;
  MPI_Get_elements_x(&wish->status, MPI_BYTE, &bytes);
  atomic_store_explicit(&wish->state, coming, memory_order_relaxed);
  if (bytes <= (MPI_Count)sizeof wish->note)
    return MPI_Mrecv(&wish->note, (int)bytes, MPI_BYTE, &wish->message, &wish->status);
  bytes -= (MPI_Count)sizeof wish->note;
  int code = make_room(bytes, &wish->room);
  if (code == MPI_SUCCESS) code = make_type(&wish->note, wish->room, (MPI_Aint)bytes, &type);
  if (code != MPI_SUCCESS) return code;
  code = MPI_Imrecv(MPI_BOTTOM, 1, type, &wish->message, &wish->receive);
  MPI_Type_free(&type);
  return code;
}

/* The note has come, and what comes with it: the block is the caller's. */
static int get(struct wish* wish, MPI_Status* status) {
  void* block = wish->room;
  if (wish->note.word != note_word) {
    TUTTI_Free(block);
    return failed_on(wish->comm, wish->name, MPI_ERR_OTHER, "there is a message that TUTTI_Give has not sent");
  }
  if (wish->note.how == where_it_lies && !tutti_library_take(&wish->note.place, &block))
    return failed_on(wish->comm, wish->name, MPI_ERR_NO_MEM, "the system does not map the block here");
  order();
  *wish->block = block;
  if (wish->bytes) *wish->bytes = (MPI_Aint)wish->note.bytes;
  if (status == MPI_STATUS_IGNORE) return MPI_SUCCESS;
  *status = wish->status;
  return MPI_Status_set_elements_x(status, MPI_BYTE, (MPI_Count)wish->note.bytes);
}

static int go_on(struct wish* wish, int* flag, MPI_Status* status) {
  if (state_of(wish) == looked_for) look();
  if (state_of(wish) == looked_for) return MPI_SUCCESS;
  if (wish->code == MPI_SUCCESS && state_of(wish) == found) wish->code = receive(wish);
  if (wish->code != MPI_SUCCESS) return wish->code;
  if (wish->receive != MPI_REQUEST_NULL) {
    wish->code = MPI_Test(&wish->receive, flag, &wish->status);
    if (!*flag || wish->code != MPI_SUCCESS) return wish->code;
  }
  *flag = 1;
  return get(wish, status);
}

static int test_wish(struct TUTTI_Request_s* request, int* flag, MPI_Status* status) {
  struct wish* const wish = (struct wish*)request;
  *flag = 0;
  const int code = go_on(wish, flag, status);
  if ((*flag || code != MPI_SUCCESS) && !wish->is_fixed) free(wish);
  return code;
}

/* Nobody gives anything. */
static int test_from_nobody(struct TUTTI_Request_s* request, int* flag, MPI_Status* status) {
  struct wish* const wish = (struct wish*)request;
  *flag = 1;
  *wish->block = NULL;
  if (wish->bytes) *wish->bytes = 0;
  const int code = MPI_Recv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, wish->tag, wish->comm, status);
  if (!wish->is_fixed) free(wish);
  return code;
}

/* Starts to look for what is wanted. */
static int start(struct wish* wish, void* block, MPI_Aint* bytes) {
  if (wish->comm == MPI_COMM_NULL) return failed_on(wish->comm, wish->name, MPI_ERR_COMM, "");
  if (!block) return failed_on(wish->comm, wish->name, MPI_ERR_ARG, "there is no room for the block");
  wish->block = block;
  wish->bytes = bytes;
  wish->code = MPI_SUCCESS;
  atomic_init(&wish->state, looked_for);
  wish->room = NULL;
  wish->receive = MPI_REQUEST_NULL;
  wish->note.word = 0;
  wish->request.test = wish->rank == MPI_PROC_NULL ? test_from_nobody : test_wish;
  if (wish->rank != MPI_PROC_NULL) add(wish);
  return MPI_SUCCESS;
}

int TUTTI_Take(void* block, MPI_Aint* bytes, int rank, int tag, MPI_Comm comm, MPI_Status* status) {
  struct wish wish = {.rank = rank, .tag = tag, .comm = comm, .name = "TUTTI_Take", .is_fixed = 1};
  const int code = start(&wish, block, bytes);
  return code == MPI_SUCCESS ? tutti_wait_for(&wish.request, status) : code;
}

int TUTTI_Itake(void* block, MPI_Aint* bytes, int rank, int tag, MPI_Comm comm, TUTTI_Request* request) {
  struct wish* const wish = malloc(sizeof *wish);
  if (!wish) return failed_on(comm, "TUTTI_Itake", MPI_ERR_NO_MEM, "there is no memory");
  wish->rank = rank;
  wish->tag = tag;
  wish->comm = comm;
  wish->name = "TUTTI_Itake";
  wish->is_fixed = 0;
  const int code = start(wish, block, bytes);
  if (code != MPI_SUCCESS) {
    free(wish);
    return code;
  }
  *request = &wish->request;
  return MPI_SUCCESS;
}
