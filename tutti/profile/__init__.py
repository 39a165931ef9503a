"""`tutti profile`: what each call of MPI cost a program, out of what TUTTI_PROFILE has written
(src/mpi/report/profile.h)."""
