"""`tutti explain`: which algorithm a collective takes, and why."""
