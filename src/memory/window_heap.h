// mimalloc over one range of memory that we give it: the only surface between the library and mimalloc.
//
// mimalloc's heaps belong to threads. Here a heap belongs to a range, and the caller serialises: every call
// for one heap must be made under that heap's lock (window_heap_usable_size alone needs none for a live
// block). In return a block may be released by any thread, nothing has to be done when a thread ends, and
// what one thread releases is at once there for another. Nothing here touches thread-local storage, calls
// malloc, prints, or reads the environment.
#ifndef TUTTI_MEMORY_WINDOW_HEAP_H
#define TUTTI_MEMORY_WINDOW_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tutti_window_heap tutti_window_heap;

/// Base and size of a range must be multiples of this (mimalloc's segment: 32 MiB).
enum { TUTTI_WINDOW_HEAP_UNIT = 32 << 20 };
/// The largest alignment that can be asked for.
enum { TUTTI_WINDOW_HEAP_ALIGNMENT = 16 << 20 };
/// At the beginning of each unit that holds the beginning of a block: what usable_size looks at.
enum { TUTTI_WINDOW_HEAP_HEAD = 64 << 10 };
/// How many classes of sizes there are: any block of one serves any request of it.
enum { TUTTI_WINDOW_HEAP_CLASSES = 73 };

/// What the owner of the range does for the heap, always under its lock. All ranges are whole pages.
typedef struct {
  /// Makes memory accessible before it is used; it may be already. False if it cannot be done: then the request for
  /// which it was needed is refused.
  bool (*open)(void* address, size_t bytes, void* context);
  /// Gives free memory back where that can be done: then the range occupies nothing. It stays accessible.
  void (*purge)(void* address, size_t bytes, void* context);
  /// As purge, for what will be opened before it is used again. Parts may never have been opened.
  void (*close)(void* address, size_t bytes, void* context);
  void* context;
} tutti_window_heap_memory;

/// A heap over `bytes` zero bytes at `base`, of which nothing needs to be accessible yet. NULL if mimalloc has no room
/// for another one (64 at a time) or the system has no memory for the bookkeeping.
tutti_window_heap* tutti_window_heap_create(void* base, size_t bytes, tutti_window_heap_memory memory);
/// Forgets the heap; the range is the caller's again, with whatever is in it.
void tutti_window_heap_destroy(tutti_window_heap* heap);

/// NULL when there is no room. `alignment` is a power of two; the block begins `beyond` bytes, less than that, behind a
/// multiple of it (0 for alignments up to 16).
void* tutti_window_heap_allocate(tutti_window_heap* heap, size_t bytes, size_t alignment, size_t beyond);
/// keep: the memory is kept as it is for later blocks; otherwise that of a block of more than 16 MiB is closed.
void tutti_window_heap_release(tutti_window_heap* heap, void* block, bool keep);
/// Bytes from `block` to the end of its block. Reads only what does not change while the block is live, and follows no
/// pointer: another process may ask about a block, where it has mapped the range at a multiple of the unit.
size_t tutti_window_heap_usable_size(const void* block);
/// The class of a request; -1: too large for one.
int tutti_window_heap_class_of(size_t bytes);
/// The class of a block; -1: it is too large for one, or holds less than others since its alignment was asked for.
int tutti_window_heap_class_of_block(const void* block);
/// Bytes from the beginning of the block's room to the block, which lies behind it for its alignment.
size_t tutti_window_heap_moved_by(const void* block);
/// Calls `visit` for the room of every live block of more than 16 MiB, without the bookkeeping in front of
/// it.
void tutti_window_heap_visit_large(tutti_window_heap* heap, void (*visit)(void* begin, size_t bytes, void* context),
                                   void* context);
/// Calls `visit` for memory of the range before `end` that no live block needs, in ascending order, in stretches of at
/// least `least` bytes.
void tutti_window_heap_visit_free(tutti_window_heap* heap, size_t end, size_t least,
                                  void (*visit)(void* begin, size_t bytes, void* context), void* context);
/// Bytes from the base beyond which nothing is in use.
size_t tutti_window_heap_end_of_use(const tutti_window_heap* heap);
/// Purges all memory of the range that no live block needs, and closes what of it is large.
void tutti_window_heap_trim(tutti_window_heap* heap);

#ifdef __cplusplus
}
#endif

#endif
