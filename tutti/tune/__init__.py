"""`tutti tune`: the fastest algorithms, measured, as a table."""
