"""What goes wrong because of the input, not because of the program."""


class InputError(ValueError):
    """A scenario, trace or option that cannot be used; the message says where, what, and what is allowed.

    The command line prints it and exits with status 2.
    """
