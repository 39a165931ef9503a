"""Pages to look at in a browser: one file each, with all that it shows inside (tutti/page/shell.py)."""
