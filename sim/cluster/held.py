"""What a prompt has of an earlier request's prompt and answer."""

from typing import Final, NamedTuple


class Held(NamedTuple):
    """What of a prompt is an earlier request's prompt and answer, from its beginning on."""

    tokens: int = 0
    """Up to here it had been computed, or sent as a prompt, when this one was sent."""
    end: int = 0
    """Up to here it may yet be found in caches, made while this one was on its way."""


NOTHING: Final = Held()
