"""`tutti report`: what was measured of a machine and an MPI, as one page."""
