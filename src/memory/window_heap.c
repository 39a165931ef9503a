// mimalloc 2.0.9 compiled as one unit with the few functions of window_heap.h, which need its internals.
//
// What is changed, all of it by macros before its sources are included:
// - one "thread" for all: calls for a heap are serialised by the caller, so that every release is a local
// one;
// - no constructor, no exit handler, no thread key, no environment: nothing of it runs before the first heap
// is made;
// - no symbol is visible outside the library it is linked into, so that a program's own mimalloc is left
// alone;
// - memory is opened as it is handed out, by the caller (tutti_window_heap_memory), who may refuse.
//
// mimalloc itself never gives memory of the range back (it believes the range cannot be decommitted): giving
// back means punching a hole in a file, which costs more than its decommit; the caller decides when, see
// tutti_window_heap_trim. Then it is closed as well, and mimalloc told that it has to be opened again.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "window_heap.h"

// Everything from the system that mimalloc includes comes first, untouched by the macros below.
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#define visibility(ignored) unused
#define constructor unused
#define atexit(function) ((void)(function))
#define pthread_key_create(key, destructor) ((void)(key), (void)(destructor))
#define pthread_setspecific(key, value) ((void)(key), (void)(value))
#define environ tutti_no_environment
static char* no_variables[1] = {NULL};
__attribute__((visibility("hidden"))) char** tutti_no_environment = no_variables;

// The order matters.
// clang-format off
#include "mimalloc.h"
#include "mimalloc-internal.h"
// clang-format on

// The one identity under which all calls are made; not 0, which means "abandoned", and no odd value is a
// thread's.
#define _mi_thread_id() ((mi_threadid_t)1)
#define mi_get_default_heap() (_mi_heap_main_get())

// As its static.c, which is the list of its sources, but for what is put in between.
static int open_for_mimalloc(void* address, size_t bytes);
#define mprotect(address, bytes, protection) open_for_mimalloc(address, bytes)
// clang-format off
#include "stats.c"
#include "random.c"
#include "os.c"
#include "bitmap.c"
#include "arena.c"
#undef mprotect

static void* allocate_segment(size_t size, size_t alignment, size_t align_offset, bool* commit, bool* large,
                              bool* is_pinned, bool* is_zero, mi_arena_id_t arena, size_t* memid, mi_os_tld_t* tld);
static uintptr_t align_up_in_segment(uintptr_t bytes, size_t alignment);
#define _mi_arena_alloc_aligned allocate_segment
#include "segment-cache.c"
#define _mi_align_up align_up_in_segment
#include "segment.c"
#undef _mi_align_up
#undef _mi_arena_alloc_aligned
#include "page.c"
#include "heap.c"
#include "alloc.c"
#include "alloc-aligned.c"
#include "alloc-posix.c"
#include "init.c"
#include "options.c"
// clang-format on

#undef environ

struct tutti_window_heap {
  mi_heap_t heap;
  mi_tld_t tld;
  mi_arena_t* arena;
  size_t arena_index;
  size_t arena_bytes;  // of the arena's bookkeeping
  tutti_window_heap_memory memory;
  bool refused;  // memory could not be opened in this call: no other segment is tried
};

_Static_assert(MI_SEGMENT_SIZE == TUTTI_WINDOW_HEAP_UNIT, "the header states mimalloc's segment size");
_Static_assert(MI_BIN_HUGE == TUTTI_WINDOW_HEAP_CLASSES, "the header states the number of mimalloc's bins");
_Static_assert(sizeof(mi_segment_t) <= TUTTI_WINDOW_HEAP_HEAD, "the header states where mimalloc's bookkeeping ends");
_Static_assert(MI_ALIGNMENT_MAX == TUTTI_WINDOW_HEAP_ALIGNMENT, "the header states mimalloc's largest alignment");

// Guards the table of arenas, which mimalloc itself only ever appends to.
static pthread_mutex_t arenas_lock = PTHREAD_MUTEX_INITIALIZER;
// By the index of the arena.
static _Atomic(tutti_window_heap*) heaps[MI_MAX_ARENAS];

static bool open_memory(tutti_window_heap* heap, void* address, size_t bytes) {
  if (heap->refused || !heap->memory.open(address, bytes, heap->memory.context)) heap->refused = true;
  return !heap->refused;
}

static int open_for_mimalloc(void* address, size_t bytes) {
  for (size_t i = 0; i < MI_MAX_ARENAS; i++) {
    tutti_window_heap* const heap = atomic_load_explicit(&heaps[i], memory_order_acquire);
    if (heap == NULL) continue;
    const uint8_t* const start = heap->arena->start;
    if ((size_t)((uint8_t*)address - start) >= heap->arena->block_count * MI_ARENA_BLOCK_SIZE) continue;
    if (open_memory(heap, address, bytes)) return 0;
    break;
  }
  errno = ENOMEM;
  return -1;
}

// A segment from the lowest blocks of the arena that are free, so that the range is used from its beginning. What it
// is to begin with is opened here, since mimalloc does not expect a refusal for the whole of a segment, nor gives back
// the blocks after one for a part.
static void* allocate_segment(size_t size, size_t alignment, size_t align_offset, bool* commit, bool* large,
                              bool* is_pinned, bool* is_zero, mi_arena_id_t arena, size_t* memid, mi_os_tld_t* tld) {
  tutti_window_heap* const heap = atomic_load_explicit(&heaps[mi_arena_id_index(arena)], memory_order_acquire);
  mi_atomic_store_relaxed(&heap->arena->search_idx, (size_t)0);
  const bool whole = *commit;
  *commit = false;
  void* const segment =
      _mi_arena_alloc_aligned(size, alignment, align_offset, commit, large, is_pinned, is_zero, arena, memid, tld);
  if (segment == NULL) return NULL;
  if (open_memory(heap, segment, whole ? size : MI_MINIMAL_COMMIT_SIZE)) {
    *commit = whole;
    return segment;
  }
  _mi_arena_free(segment, size, alignment, align_offset, *memid, true, tld->stats);
  return NULL;
}

// Blocks of more than 512 KiB take whole slices, and not multiples of 512 KiB: one of 1 MiB and a little would take half as
// much again, which is memory where that is in huge pages.
static uintptr_t align_up_in_segment(uintptr_t bytes, size_t alignment) {
  return _mi_align_up(bytes, alignment == MI_MEDIUM_PAGE_SIZE ? MI_SEGMENT_SLICE_SIZE : alignment);
}

static void start_mimalloc(void) {
  if (_mi_process_is_initialized) return;
  mi_option_set(mi_option_use_numa_nodes, 1);  // no look at /sys: the pages are placed by first touch anyway
  mi_option_set(mi_option_allow_decommit, 0);
  mi_option_set(mi_option_eager_commit, 0);  // memory is opened as pages are made
  mi_option_set(mi_option_limit_os_alloc, 0);
  os_preloading = false;
  mi_process_init();
}

// mi_manage_os_memory_ex, but over a slot that a destroyed heap has left when there is one.
static mi_arena_t* add_arena(void* base, size_t bytes, size_t* bookkeeping, size_t* index) {
  const size_t blocks = bytes / MI_ARENA_BLOCK_SIZE;
  const size_t fields = _mi_divide_up(blocks, MI_BITMAP_FIELD_BITS);
  const size_t size = sizeof(mi_arena_t) + 3 * fields * sizeof(mi_bitmap_field_t);
  mi_arena_t* arena = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (arena == MAP_FAILED) return NULL;
  arena->exclusive = true;
  arena->block_count = blocks;
  arena->field_count = fields;
  arena->start = base;
  arena->numa_node = -1;
  arena->is_zero_init = true;
  arena->allow_decommit = false;
  arena->blocks_dirty = &arena->blocks_inuse[fields];
  arena->blocks_committed = &arena->blocks_inuse[2 * fields];  // none, ever: opening what is open is cheap
  const size_t beyond = fields * MI_BITMAP_FIELD_BITS - blocks;
  if (beyond > 0)
    _mi_bitmap_claim(arena->blocks_inuse, fields, beyond,
                     mi_bitmap_index_create(fields - 1, MI_BITMAP_FIELD_BITS - beyond), NULL);
  const size_t count = mi_atomic_load_acquire(&mi_arena_count);
  size_t slot = 0;
  while (slot < count && mi_atomic_load_ptr_acquire(mi_arena_t, &mi_arenas[slot]) != NULL) slot++;
  if (slot == MI_MAX_ARENAS) {
    munmap(arena, size);
    return NULL;
  }
  arena->id = mi_arena_id_create(slot);
  mi_atomic_store_ptr_release(mi_arena_t, &mi_arenas[slot], arena);
  if (slot == count) mi_atomic_increment_acq_rel(&mi_arena_count);
  *bookkeeping = size;
  *index = slot;
  return arena;
}

tutti_window_heap* tutti_window_heap_create(void* base, size_t bytes, tutti_window_heap_memory memory) {
  tutti_window_heap* heap = mmap(NULL, sizeof *heap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (heap == MAP_FAILED) return NULL;
  pthread_mutex_lock(&arenas_lock);
  start_mimalloc();
  heap->arena = add_arena(base, bytes, &heap->arena_bytes, &heap->arena_index);
  pthread_mutex_unlock(&arenas_lock);
  if (heap->arena == NULL) {
    munmap(heap, sizeof *heap);
    return NULL;
  }
  // As _mi_heap_init does for a thread's heap.
  memcpy(&heap->heap, &_mi_heap_empty, sizeof heap->heap);
  memcpy(&heap->tld, &tld_empty, sizeof heap->tld);
  heap->tld.segments.stats = &heap->tld.stats;
  heap->tld.segments.os = &heap->tld.os;
  heap->tld.os.stats = &heap->tld.stats;
  heap->tld.heaps = &heap->heap;
  heap->heap.tld = &heap->tld;
  heap->heap.thread_id = _mi_thread_id();
  heap->heap.arena_id = heap->arena->id;
  heap->heap.cookie = 1;
  heap->heap.no_reclaim = true;  // nothing is ever abandoned, and other heaps' memory is not ours
  heap->memory = memory;
  atomic_store_explicit(&heaps[heap->arena_index], heap, memory_order_release);
  return heap;
}

void tutti_window_heap_destroy(tutti_window_heap* heap) {
  pthread_mutex_lock(&arenas_lock);
  // Segments of ours that wait in mimalloc's cache must not be handed to a later heap in our slot.
  for (;;) {
    mi_commit_mask_t committed, decommitted;
    bool large = false, pinned = false, zero = false;
    size_t memid = 0;
    if (_mi_segment_cache_pop(MI_SEGMENT_SIZE, &committed, &decommitted, &large, &pinned, &zero, heap->arena->id,
                              &memid, &heap->tld.os) == NULL)
      break;
  }
  for (size_t block = 0; block < heap->arena->block_count; block++)
    _mi_segment_map_freed_at((mi_segment_t*)((uint8_t*)heap->arena->start + block * MI_SEGMENT_SIZE));
  atomic_store_explicit(&heaps[heap->arena_index], NULL, memory_order_release);
  mi_atomic_store_ptr_release(mi_arena_t, &mi_arenas[heap->arena_index], NULL);
  pthread_mutex_unlock(&arenas_lock);
  munmap(heap->arena, heap->arena_bytes);
  munmap(heap, sizeof *heap);
}

static void purge(const tutti_window_heap* heap, uint8_t* begin, uint8_t* end) {
  if (begin < end) heap->memory.purge(begin, (size_t)(end - begin), heap->memory.context);
}

// Purges what has to be opened before it is used again.
static void purge_and_close(const tutti_window_heap* heap, uint8_t* begin, uint8_t* end) {
  if (begin < end) heap->memory.close(begin, (size_t)(end - begin), heap->memory.context);
}

void* tutti_window_heap_allocate(tutti_window_heap* heap, size_t bytes, size_t alignment, size_t beyond) {
  if (bytes > PTRDIFF_MAX / 2 || alignment > MI_ALIGNMENT_MAX) return NULL;
  heap->refused = false;
  if (alignment <= MI_MAX_ALIGN_SIZE) return mi_heap_malloc(&heap->heap, bytes);
  // Mimalloc wants to know what to add for a multiple of the alignment.
  return mi_heap_malloc_aligned_at(&heap->heap, bytes, alignment, beyond ? alignment - beyond : 0);
}

size_t tutti_window_heap_usable_size(const void* block) {
  return mi_usable_size(block);
}

int tutti_window_heap_class_of(size_t bytes) {
  return bytes <= MI_MEDIUM_OBJ_SIZE_MAX ? mi_bin(bytes) : -1;
}

int tutti_window_heap_class_of_block(const void* block) {
  const size_t bytes = mi_usable_size(block);
  return bytes <= MI_MEDIUM_OBJ_SIZE_MAX && mi_good_size(bytes) == bytes ? mi_bin(bytes) : -1;
}

size_t tutti_window_heap_moved_by(const void* block) {
  const mi_segment_t* const segment = _mi_ptr_segment(block);
  const mi_page_t* const page = _mi_segment_page_of(segment, block);
  return (size_t)((const uint8_t*)block - (const uint8_t*)_mi_page_ptr_unalign(segment, page, block));
}

static bool in_use(const mi_arena_t* arena, size_t block) {
  const mi_bitmap_field_t* field = &arena->blocks_inuse[block / MI_BITMAP_FIELD_BITS];
  return (mi_atomic_load_relaxed(field) >> (block % MI_BITMAP_FIELD_BITS)) & 1;
}

void tutti_window_heap_release(tutti_window_heap* heap, void* block, bool keep) {
  mi_segment_t* const segment = _mi_ptr_segment(block);
  const bool close = !keep && segment->kind == MI_SEGMENT_HUGE;
  const size_t bytes = mi_segment_size(segment);
  mi_free(block);
  if (!close) return;
  uint8_t* const begin = (uint8_t*)segment;
  purge_and_close(heap, begin, begin + mi_block_count_of_size(bytes) * MI_ARENA_BLOCK_SIZE);
}

// Free spans of a segment whose other spans hold live blocks. Short ones stay open: each that is closed is a mapping of
// its own for the kernel, of which a process may have 65530.
static void trim_segment(const tutti_window_heap* heap, mi_segment_t* segment) {
  const size_t worth_closing = ((size_t)4 << 20) / MI_SEGMENT_SLICE_SIZE;
  const mi_slice_t* const end = mi_segment_slices_end(segment);
  for (mi_slice_t* slice = segment->slices + segment->segment_info_slices; slice < end; slice += slice->slice_count) {
    if (slice->xblock_size != 0) continue;
    uint8_t* const begin = mi_slice_start(slice);
    uint8_t* const behind = begin + slice->slice_count * MI_SEGMENT_SLICE_SIZE;
    if (slice->slice_count < worth_closing) {
      purge(heap, begin, behind);
      continue;
    }
    purge_and_close(heap, begin, behind);
    mi_commit_mask_t closed;
    mi_commit_mask_create((size_t)(begin - (uint8_t*)segment) / MI_COMMIT_SIZE,
                          (size_t)(behind - begin) / MI_COMMIT_SIZE, &closed);
    mi_commit_mask_clear(&segment->commit_mask, &closed);
  }
}

size_t tutti_window_heap_end_of_use(const tutti_window_heap* heap) {
  size_t blocks = heap->arena->block_count;
  while (blocks > 0 && !in_use(heap->arena, blocks - 1)) blocks--;
  return blocks * MI_ARENA_BLOCK_SIZE;
}

void tutti_window_heap_trim(tutti_window_heap* heap) {
  // Empties retired pages and mimalloc's cache of segments: what is in use after it has live blocks.
  mi_heap_collect(&heap->heap, true);
  const mi_arena_t* const arena = heap->arena;
  uint8_t* const start = arena->start;
  for (size_t block = 0; block < arena->block_count;) {
    size_t next = block;
    while (next < arena->block_count && !in_use(arena, next)) next++;
    purge_and_close(heap, start + block * MI_SEGMENT_SIZE, start + next * MI_SEGMENT_SIZE);
    if (next == arena->block_count) break;
    mi_segment_t* const segment = (mi_segment_t*)(start + next * MI_SEGMENT_SIZE);
    if (segment->kind == MI_SEGMENT_NORMAL) trim_segment(heap, segment);
    block = next + mi_block_count_of_size(mi_segment_size(segment));
  }
}

void tutti_window_heap_visit_free(tutti_window_heap* heap, size_t end, size_t least,
                                  void (*visit)(void* begin, size_t bytes, void* context), void* context) {
  mi_heap_collect(&heap->heap, true);
  const mi_arena_t* const arena = heap->arena;
  uint8_t* const start = arena->start;
  for (size_t block = 0; block < arena->block_count && block * MI_ARENA_BLOCK_SIZE < end;) {
    size_t next = block;
    while (next < arena->block_count && !in_use(arena, next)) next++;
    if (next > block && (next - block) * MI_ARENA_BLOCK_SIZE >= least)
      visit(start + block * MI_ARENA_BLOCK_SIZE, (next - block) * MI_ARENA_BLOCK_SIZE, context);
    if (next == arena->block_count || next * MI_ARENA_BLOCK_SIZE >= end) break;
    mi_segment_t* const segment = (mi_segment_t*)(start + next * MI_SEGMENT_SIZE);
    block = next + mi_block_count_of_size(mi_segment_size(segment));
    if (segment->kind != MI_SEGMENT_NORMAL) continue;
    const mi_slice_t* const last = mi_segment_slices_end(segment);
    for (mi_slice_t* slice = segment->slices + segment->segment_info_slices; slice < last;
         slice += slice->slice_count) {
      const size_t bytes = slice->slice_count * MI_SEGMENT_SLICE_SIZE;
      if (slice->xblock_size == 0 && bytes >= least) visit(mi_slice_start(slice), bytes, context);
    }
  }
}

void tutti_window_heap_visit_large(tutti_window_heap* heap, void (*visit)(void* begin, size_t bytes, void* context),
                                   void* context) {
  // Mimalloc's cached segments have no contents, but are in use as far as the arena knows: they are of the
  // normal kind.
  const mi_arena_t* const arena = heap->arena;
  for (size_t block = 0; block < arena->block_count;) {
    mi_segment_t* const segment = (mi_segment_t*)((uint8_t*)arena->start + block * MI_SEGMENT_SIZE);
    block++;
    if (!in_use(arena, block - 1) || segment->kind != MI_SEGMENT_HUGE) continue;
    const size_t bytes = mi_segment_size(segment);
    const size_t info = mi_segment_info_size(segment);
    if (segment->used > 0) visit((uint8_t*)segment + info, bytes - info, context);
    block += mi_block_count_of_size(bytes) - 1;
  }
}
