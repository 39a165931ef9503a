"""`tutti study`: the figures of the papers that Tutti is made from, measured here or simulated."""
