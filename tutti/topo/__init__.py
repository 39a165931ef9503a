"""`tutti topo`: the machine as the collectives see it."""
