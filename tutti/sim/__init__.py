"""`tutti sim`: what collectives take on a machine that is described, simulated by the library's own code."""
