"""The one exception whose text is meant for the user, and how a command says how it ended."""

#: Exit status of a mistake of the user.
MISTAKE = 2
#: Exit status after Ctrl-C, as shells have it for a program that it ended.
INTERRUPTED = 130


class UserError(Exception):
    """Something the user can put right; printed as one line, exit status 2."""
