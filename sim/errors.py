"""What goes wrong because of the input, not because of the program."""

import re

_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class InputError(ValueError):
    """A scenario, trace or option that cannot be used; the message says where, what, and what is allowed.

    The command line prints it and exits with status 2.
    """


def escaped(message: str) -> str:
    """Return a message as it can be shown anywhere: characters that steer a terminal become escapes."""
    return _STEERING.sub(lambda found: ascii(found[0])[1:-1], message)


def shown(value: object, most: int = 60) -> str:
    """Return a value as messages have it: escaped, quoted, and cut where it is long."""
    found = repr(value)
    return found if len(found) <= most else found[: most - 3] + "..."
