"""`tutti bench`: an MPI's collectives timed against Tutti's."""
