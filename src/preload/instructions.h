// The assembler's part of what differs between processors: macros for stubs.S and the like, in processor/. There is no C++
// here, nor there.
//
//   begin name, end name          around a function that other libraries call, or that is jumped to by its address
//   begin_hidden name             the same for one that its own object calls, too
//   jump_by word, name            in the function `name`: goes where the word points
//   jump_by_caller name           the same by .Lentry_name, or .Lhost_name, or to .Lresolve, as tutti_callers tells
//   resolve_entry word, name      in the function `name`: to .Lresolve, with the word's address
//   resolve                       calls tutti_resolve()
//   note_opener                   tutti_opener: nobody becomes this thread, another one becomes several. Then
//                                 tutti_libraries: there is something to look at
//   jump_to_next_dlopen           by .Lnext_dlopen, which tutti_next_dlopen() tells at the first call
//
// Who has seen a word that another thread has set sees what that thread did before: the word is loaded as std::atomic does
// it with memory_order_acquire. The registers that are used are ones in which no function gets arguments.
#pragma once

#if defined(__ASSEMBLER__)
#if defined(__x86_64__)
#include "preload/processor/x86_64.inc"
#elif defined(__aarch64__)
#include "preload/processor/aarch64.inc"
#elif defined(__powerpc64__)
#include "preload/processor/ppc64le.inc"
#endif
#endif
