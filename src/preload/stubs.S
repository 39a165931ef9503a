// What programs call: for each function of the list a jump to where its entry points. The arguments stay where they
// are, so that one stub serves every ABI. At first an entry points to the function's first call, which asks
// tutti_resolve() (entries.cpp) where to go.
//
// By their second names (PMPI_) the MPI itself calls functions, too. Those calls go to its own function, past the
// entry. Where a call comes from is told by the page that it returns to, which tutti_resolve() is asked about once.
#include "preload/callers.h"
#include "preload/functions.h"

        .macro  stub name
        define  \name, \name
        .endm

// A stub that programs get which are linked with the function, and not those that look for its name (dlsym): so they
// see whether their MPI has it. A symbol of the first version that is not the default one has this effect.
        .macro  newer_stub name
        define  \name, \name\()_by_linking
        .symver \name\()_by_linking, \name\()@TUTTI
        .endm

        .macro  second_stub name
        define_second \name, \name
        .endm

        .macro  newer_second_stub name
        define_second \name, \name\()_by_linking
        .symver \name\()_by_linking, \name\()@TUTTI
        .endm

        .macro  begin symbol
        .text
        .p2align 4
        .globl  \symbol
        .type   \symbol, @function
\symbol:
        .cfi_startproc
        endbr64
        .endm

        .macro  define name symbol
        begin   \symbol
        jmp     *.Lentry_\name(%rip)
        .cfi_endproc
        .size   \symbol, .-\symbol
        entry   \name
        .endm

        // What is at the page's place in tutti_callers is 2 * page for calls of the program, 2 * page + 1 for those of
        // the MPI. The registers are ones that no function gets arguments in.
        .macro  define_second name symbol
        begin   \symbol
        movq    (%rsp), %r11
        shrq    $TUTTI_PAGE_BITS, %r11
        movl    %r11d, %r10d
        andl    $(TUTTI_CALLERS - 1), %r10d
        leaq    tutti_callers(%rip), %rax
        addq    %r11, %r11
        xorq    (%rax, %r10, 8), %r11
        jnz     1f
        jmp     *.Lentry_\name(%rip)
1:      cmpq    $1, %r11
        jne     2f
        jmp     *.Lhost_\name(%rip)
2:      leaq    .Lentry_\name(%rip), %r11
        jmp     .Lresolve
        .cfi_endproc
        .size   \symbol, .-\symbol
        .bss
.Lhost_\name:
        .zero   8
        entry   \name
        .endm

        .macro  entry name
        .text
        .p2align 4
        .type   .Lfirst_\name, @function
.Lfirst_\name:
        .cfi_startproc
        endbr64
        leaq    .Lentry_\name(%rip), %r11
        jmp     .Lresolve
        .cfi_endproc

        .data
.Lentry_\name:
        .quad   .Lfirst_\name
        .section .data.rel.ro, "aw", @progbits
        .quad   .Lfirst_\name
        .endm

// Two tables in the order of the list: the entries, and what they are at first. One of those that have second names:
// the MPI's own functions.
        .data
        .p2align 6
        .globl  tutti_entries
        .hidden tutti_entries
tutti_entries:
        .section .data.rel.ro, "aw", @progbits
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
#define NEWER_STUB(name) newer_stub MPI_##name ;
#define PMPI_STUB(name) second_stub PMPI_##name ;
#define NEWER_PMPI_STUB(name) newer_second_stub PMPI_##name ;
// Of those that programs look up by name (dlsym), too; and of one that only some hosts have.
#define stub_of_Comm_revoke stub
#define stub_of_Request_is_complete newer_stub
#define MPIX_STUB(name) stub_of_##name MPIX_##name ;
#define NEWER_MPIX_STUB(name) newer_stub MPIX_##name ;
#define PMPIX_STUB(name) newer_second_stub PMPIX_##name ;
#define OWN_STUB(name) stub tutti_##name ;
        TUTTI_INTERPOSED_FUNCTIONS(MPI_STUB)
        TUTTI_INTERPOSED_BLOCKS(MPI_STUB)
        TUTTI_INTERPOSED_NEWER(NEWER_STUB)
        TUTTI_INTERPOSED_OLD_STARTS(MPI_STUB)
        TUTTI_INTERPOSED_NEWER_STARTS(NEWER_STUB)
        TUTTI_INTERPOSED_INITS(NEWER_STUB)
        TUTTI_INTERPOSED_LARGE_INITS(NEWER_STUB)
        TUTTI_INTERPOSED_EXTENSIONS(MPIX_STUB)
        TUTTI_INTERPOSED_INITS(NEWER_MPIX_STUB)
        TUTTI_INTERPOSED_FUNCTIONS(PMPI_STUB)
        TUTTI_INTERPOSED_BLOCKS(PMPI_STUB)
        TUTTI_INTERPOSED_NEWER(NEWER_PMPI_STUB)
        TUTTI_INTERPOSED_OLD_STARTS(PMPI_STUB)
        TUTTI_INTERPOSED_NEWER_STARTS(NEWER_PMPI_STUB)
        TUTTI_INTERPOSED_INITS(NEWER_PMPI_STUB)
        TUTTI_INTERPOSED_LARGE_INITS(NEWER_PMPI_STUB)
        TUTTI_INTERPOSED_EXTENSIONS(PMPIX_STUB)
        TUTTI_INTERPOSED_INITS(PMPIX_STUB)
        TUTTI_OWN_FUNCTIONS(OWN_STUB)

// Calls tutti_resolve(entry in %r11, return address) and jumps to what it gives, with all registers that may hold
// arguments as they came.
        .text
        .p2align 4
        .type   .Lresolve, @function
.Lresolve:
        .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        subq    $192, %rsp
        movq    %rdi, (%rsp)
        movq    %rsi, 8(%rsp)
        movq    %rdx, 16(%rsp)
        movq    %rcx, 24(%rsp)
        movq    %r8, 32(%rsp)
        movq    %r9, 40(%rsp)
        movq    %rax, 48(%rsp)
        movq    %r10, 56(%rsp)
        movaps  %xmm0, 64(%rsp)
        movaps  %xmm1, 80(%rsp)
        movaps  %xmm2, 96(%rsp)
        movaps  %xmm3, 112(%rsp)
        movaps  %xmm4, 128(%rsp)
        movaps  %xmm5, 144(%rsp)
        movaps  %xmm6, 160(%rsp)
        movaps  %xmm7, 176(%rsp)
        movq    %r11, %rdi
        movq    8(%rbp), %rsi
        call    tutti_resolve
        movq    %rax, %r11
        movq    (%rsp), %rdi
        movq    8(%rsp), %rsi
        movq    16(%rsp), %rdx
        movq    24(%rsp), %rcx
        movq    32(%rsp), %r8
        movq    40(%rsp), %r9
        movq    48(%rsp), %rax
        movq    56(%rsp), %r10
        movaps  64(%rsp), %xmm0
        movaps  80(%rsp), %xmm1
        movaps  96(%rsp), %xmm2
        movaps  112(%rsp), %xmm3
        movaps  128(%rsp), %xmm4
        movaps  144(%rsp), %xmm5
        movaps  160(%rsp), %xmm6
        movaps  176(%rsp), %xmm7
        leave
        .cfi_def_cfa %rsp, 8
        jmp     *%r11
        .cfi_endproc
        .size   .Lresolve, .-.Lresolve

        .section .note.GNU-stack, "", @progbits
