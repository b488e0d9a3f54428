"""What one request did with the keys of a tier: vLLM 0.33.0 orders keys by requests, not by touches."""

from collections.abc import Iterable, Mapping
from operator import itemgetter

from sim.kv.key_runs import Key


class Access:
    """The keys that a request loaded, or offered and found absent or ready, each once."""

    __slots__ = ("_positions", "inserted", "missed", "rank", "reused")

    def __init__(self) -> None:
        self.rank = 0
        """Its number among the requests of the tier, in order of first access; 0: it has none yet."""
        self.missed: set[Key] = set()
        """Offered and absent at some time."""
        self.inserted: set[Key] = set()
        """Absent, and stored for it."""
        self.reused: set[Key] = set()
        """Loaded, or offered and ready; not what it stored itself."""
        self._positions: dict[Key, int] = {}

    def position(self, key: Key) -> int:
        """Return the end of a key's block in the prompt, in tokens."""
        return self._positions[key]

    def unseen(self, keys: Iterable[Key]) -> list[Key]:
        """Return those of the keys that are new to the request."""
        return [key for key in keys if key not in self._positions]

    def see(self, ends: Mapping[Key, int]) -> None:
        """Note keys by the end of their blocks."""
        self._positions.update(ends)

    def reuse(self, keys: Iterable[Key]) -> None:
        """Note that these were loaded, or ready when they were offered."""
        self.reused.update([key for key in keys if key not in self.inserted])

    def from_the_end(self) -> list[Key]:
        """Return the keys seen, the deepest first, of one place the highest group."""
        ordered = sorted([(end, key[1], key) for key, end in self._positions.items()], key=itemgetter(0, 1))
        return [key for _, _, key in reversed(ordered)]
