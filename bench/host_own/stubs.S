// In programs that compare Tutti with the host: PMPI_X is the host's own function, past libtutti.so, which would take it
// for a call of the program. Hidden, so that it is so for the program's own code alone.
#include "preload/functions.h"

        .macro  host_own name
        .text
        .p2align 4
        .globl  PMPI_\name
        .hidden PMPI_\name
        .type   PMPI_\name, @function
PMPI_\name:
        .cfi_startproc
        endbr64
        jmp     *.Lown_\name(%rip)
        .cfi_endproc
        .size   PMPI_\name, .-PMPI_\name
        .bss
.Lown_\name:
        .zero   8
        .endm

        .bss
        .p2align 6
        .globl  tutti_host_own
        .hidden tutti_host_own
tutti_host_own:

#define HOST_OWN(name) host_own name ;
        TUTTI_INTERPOSED(HOST_OWN)

        .section .note.GNU-stack, "", @progbits
