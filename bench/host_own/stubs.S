// In programs that compare Tutti with the host: PMPI_X and PMPIX_X are the host's own functions, past libtutti.so, which
// would take them for calls of the program. Hidden, so that it is so for the program's own code alone.
#include "preload/functions.h"
#include "preload/instructions.h"

        .macro  host_own name
        .globl  \name
        .hidden \name
        begin_hidden \name
        jump_by .Lown_\name, \name
        end     \name
        .bss
.Lown_\name:
        .zero   8
        .endm

        .bss
        .p2align 6
        .globl  tutti_host_own
        .hidden tutti_host_own
tutti_host_own:

#define HOST_OWN(name) host_own PMPI_##name ;
        TUTTI_INTERPOSED(HOST_OWN)
#undef HOST_OWN
#define HOST_OWN(name) host_own PMPIX_##name ;
        TUTTI_INTERPOSED_INITS(HOST_OWN)

        .section .note.GNU-stack, "", %progbits
