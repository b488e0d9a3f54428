"""The counts that a response carries."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sim.workload.formats.logged import MOST_TOKENS


class Usage(NamedTuple):
    """Tokens of a response; the three parts of its prompt do not overlap."""

    input: int
    """Behind the last breakpoint of the provider's cache."""
    created: int
    """Written to the cache."""
    read: int
    """Read from the cache."""
    output: int
    """Thinking included."""
    one_hour: bool
    """Whether the entry that it wrote lives for an hour, not five minutes."""
    several_calls: bool
    """Whether tools of the server ran inside, so that the counts may be sums over several prompts."""

    @property
    def total(self) -> int:
        """The whole prompt."""
        return self.input + self.created + self.read

    @property
    def cached_after(self) -> int:
        """What of the prompt is in the cache once it has run: what the next prompt finds."""
        return self.read + self.created


def usage_of(value: object) -> Usage | None:
    """Return the counts of a row; None where there are none, all are 0, or one is no number of tokens."""
    if not isinstance(value, Mapping):
        return None
    keys = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    counts = [value.get(key) or 0 for key in keys]
    if not all(type(count) is int and 0 <= count <= MOST_TOKENS for count in counts) or not any(counts):
        return None
    created = value.get("cache_creation")
    hour = created.get("ephemeral_1h_input_tokens") if isinstance(created, Mapping) else None
    one_hour = type(hour) is int and hour > 0
    return Usage(counts[0], counts[1], counts[2], counts[3], one_hour, _several_calls(value))


def _several_calls(value: Mapping[str, Any]) -> bool:
    tools, iterations = value.get("server_tool_use"), value.get("iterations")
    used = isinstance(tools, Mapping) and any(type(n) is int and n > 0 for n in tools.values())
    return used or (isinstance(iterations, list) and len(iterations) > 1)
