"""`tutti run`: a program started under Tutti; the MPIs, launchers and libraries there are."""
