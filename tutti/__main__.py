"""`python -m tutti`: the same as the `tutti` command."""

from tutti.main import main

main()
