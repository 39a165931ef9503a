! The three bindings of MPI for Fortran, of which one is compiled for: TUTTI_MPIF (mpif.h), TUTTI_MPI (use mpi) or TUTTI_F08
! (use mpi_f08). In the last one handles have types, and ierror may be left out, which is done wherever IERR stands.
#ifdef TUTTI_F08
#define COMM_T type(MPI_Comm)
#define TYPE_T type(MPI_Datatype)
#define OP_T type(MPI_Op)
#define GROUP_T type(MPI_Group)
#define REQUEST_T type(MPI_Request)
#define IERR
#else
#define COMM_T integer
#define TYPE_T integer
#define OP_T integer
#define GROUP_T integer
#define REQUEST_T integer
#define IERR , ierror
#endif
