// What programs call: for each function of the list a jump to where its entry points. The arguments stay where they
// are, so that one stub serves every ABI. At first an entry points to the function's first call, which asks
// tutti_resolve() (entries.cpp) where to go.
//
// By their second names (PMPI_) the MPI itself calls functions, too. Those calls go to its own function, past the
// entry. Where a call comes from is told by the page that it returns to, which tutti_resolve() is asked about once.
#include "preload/callers.h"
#include "preload/functions.h"
#include "preload/instructions.h"

        .macro  stub name
        .globl  \name
        begin   \name
        jump_by .Lentry_\name, \name
        end     \name
        entry   \name
        .endm

        // What is at the page's place in tutti_callers is 2 * page for calls of the program, 2 * page + 1 for those of
        // the MPI.
        .macro  second_stub name
        .globl  \name
        begin   \name
        jump_by_caller \name
        end     \name
        .bss
.Lhost_\name:
        .zero   8
        entry   \name
        .endm

        .macro  entry name
        begin   .Lfirst_\name
        resolve_entry .Lentry_\name, .Lfirst_\name
        end     .Lfirst_\name
        .data
.Lentry_\name:
        .quad   .Lfirst_\name
        .section .data.rel.ro, "aw", %progbits
        .quad   .Lfirst_\name
        .endm

// Two tables in the order of the list: the entries, and what they are at first. One of those that have second names:
// the MPI's own functions.
        .data
        .p2align 6
        .globl  tutti_entries
        .hidden tutti_entries
tutti_entries:
        .section .data.rel.ro, "aw", %progbits
        .p2align 3
        .globl  tutti_first_calls
        .hidden tutti_first_calls
tutti_first_calls:
        .bss
        .p2align 6
        .globl  tutti_callers
        .hidden tutti_callers
tutti_callers:
        .zero   8 * TUTTI_CALLERS
        .globl  tutti_host_functions
        .hidden tutti_host_functions
tutti_host_functions:

#define MPI_STUB(name) stub MPI_##name ;
#define PMPI_STUB(name) second_stub PMPI_##name ;
#define MPIX_STUB(name) stub MPIX_##name ;
#define PMPIX_STUB(name) second_stub PMPIX_##name ;
#define OWN_STUB(name) stub tutti_##name ;
        TUTTI_INTERPOSED(MPI_STUB)
        TUTTI_INTERPOSED_EXTENSIONS(MPIX_STUB)
        TUTTI_INTERPOSED_INITS(MPIX_STUB)
        TUTTI_INTERPOSED(PMPI_STUB)
        TUTTI_INTERPOSED_EXTENSIONS(PMPIX_STUB)
        TUTTI_INTERPOSED_INITS(PMPIX_STUB)
        TUTTI_OWN_FUNCTIONS(OWN_STUB)

// Calls tutti_resolve(entry, return address) and jumps to what it gives, with all registers that may hold arguments as
// they came.
        begin   .Lresolve
        resolve
        end     .Lresolve

// dlopen notes that it was called, and by which thread, and is a jump apart from that: the C library looks for libraries
// in the folders of who calls it, which it tells from the address that it returns to.
        .globl  dlopen
        begin   dlopen
        note_opener
        jump_to_next_dlopen
        end     dlopen

        .bss
        .p2align 3
.Lnext_dlopen:
        .zero   8

        .section .note.GNU-stack, "", %progbits
