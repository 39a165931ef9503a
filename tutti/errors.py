"""The one exception whose text is meant for the user."""


class UserError(Exception):
    """Something the user can put right; printed as one line, exit status 2."""
