/* Communicators that follow the hardware, for programs in C and C++.
 *
 * What stands here is of two kinds. The constants of MPI_Comm_split_type that the MPI's own header lacks: they mean
 * something where Tutti is loaded, and are refused by the MPI where it is not. And the functions of libtutti-comm, which
 * are made of MPI calls alone: a program that uses them runs with Tutti and without (docs/hardware.md).
 *
 * All functions return MPI_SUCCESS or the error class of what went wrong, after the error handler has been called.
 */
#ifndef TUTTI_H
#define TUTTI_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Split types, the same numbers for each MPI; each means what the type of MPI's with this name does (MPI 4.1,
 * MPI_COMM_SPLIT_TYPE). No MPI has types with such numbers. */
#define TUTTI_COMM_TYPE_HW_GUIDED 0x54555401
#define TUTTI_COMM_TYPE_HW_UNGUIDED 0x54555402
#define TUTTI_COMM_TYPE_RESOURCE_GUIDED 0x54555403

/* Open MPI has the first two as enumerators since 5.0, others as macros since MPI 4.0 and 4.1. */
#if defined(OPEN_MPI)
#if OMPI_MAJOR_VERSION < 5
#define MPI_COMM_TYPE_HW_GUIDED TUTTI_COMM_TYPE_HW_GUIDED
#define MPI_COMM_TYPE_HW_UNGUIDED TUTTI_COMM_TYPE_HW_UNGUIDED
#endif
#if MPI_VERSION < 4 || (MPI_VERSION == 4 && MPI_SUBVERSION < 1)
#define MPI_COMM_TYPE_RESOURCE_GUIDED TUTTI_COMM_TYPE_RESOURCE_GUIDED
#endif
#elif MPI_VERSION < 5
#ifndef MPI_COMM_TYPE_HW_GUIDED
#define MPI_COMM_TYPE_HW_GUIDED TUTTI_COMM_TYPE_HW_GUIDED
#endif
#ifndef MPI_COMM_TYPE_HW_UNGUIDED
#define MPI_COMM_TYPE_HW_UNGUIDED TUTTI_COMM_TYPE_HW_UNGUIDED
#endif
#ifndef MPI_COMM_TYPE_RESOURCE_GUIDED
#define MPI_COMM_TYPE_RESOURCE_GUIDED TUTTI_COMM_TYPE_RESOURCE_GUIDED
#endif
#endif

/* Whether split types by hardware are served by Tutti in this process: 1 or 0. */
int TUTTI_Loaded(void);

/* MPI_Get_hw_resource_info of MPI 4.1, also with an MPI that has none. Where neither Tutti nor the MPI knows anything,
 * the info is empty. To be freed with MPI_Info_free. */
int TUTTI_Get_hw_resource_info(MPI_Info* hw_info);

/* The ranks of a communicator, cut by the machine, level upon level. Everything has `levels` entries, the outermost
 * level first. What belongs to it is freed by TUTTI_Comm_hierarchy_free. */
typedef struct TUTTI_Hierarchy {
  int levels;         /* at least 1, the same on all ranks */
  MPI_Comm* groups;   /* who shares an object of this level with this rank, within the group one level further out;
                         MPI_COMM_NULL if this rank may run in several of its objects. Its leader is its rank 0. */
  MPI_Comm* conduits; /* the leaders of this level's groups within the group one level further out (for level 0: within
                         the communicator), and those of its ranks that are in no group, each for itself; MPI_COMM_NULL
                         on all others. Whoever leads there is rank 0. */
  char** names;       /* what the levels are called; "" for those that were found unguided */
} TUTTI_Hierarchy;

/* Collective over `comm`, an intracommunicator. Makes the groups and conduits of each level (MPC, section 8).
 *
 * levels: values for mpi_hw_resource_type, separated by commas, the outermost first: "node,Package,L3Cache". NULL or
 *   "auto": all levels that part the ranks, by the unguided split; one group of all ranks if none does.
 * info: MPI_INFO_NULL, or with the key "tutti_leader": "lowest" (the default), the lowest rank leads; "network", the one
 *   nearest to a network card, of equals the lowest rank; or a rank of `comm`, which leads every group that it is in,
 *   beside which the lowest ranks lead. Who leads a group leads all its groups further in, too.
 *
 * levels and info must be the same on all ranks; otherwise the error is MPI_ERR_ARG on all of them.
 */
int TUTTI_Comm_hierarchy(MPI_Comm comm, const char* levels, MPI_Info info, TUTTI_Hierarchy* hierarchy);

/* Collective over the communicator that it was made of: frees the communicators and all that belongs to it. */
int TUTTI_Comm_hierarchy_free(TUTTI_Hierarchy* hierarchy);

#ifdef __cplusplus
}
#endif

#endif
