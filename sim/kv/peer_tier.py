"""Host memory of other engines, asked like a tier below one's own (vLLM 0.28.0's p2p tier).

It keeps nothing and is not written to: what a peer has there is read, and held by that peer until the read
has ended. One request is given by one peer, the one that has most of what it lacks.
"""

from collections.abc import Callable, Collection, Iterable, Sequence

from sim.kv.key_runs import Key
from sim.kv.offload import IDLE, OffloadTier


class PeerTier(OffloadTier):
    """`peers` are the tiers that may be read, always in the same order."""

    def __init__(self, name: str, peers: Callable[[], Sequence[OffloadTier]]) -> None:
        super().__init__(0, name)
        self.source = 0
        """The number of the peer that is asked."""
        self._peers = peers
        self._asked: OffloadTier | None = None
        self._lenders: dict[Key, OffloadTier] = {}
        """Who holds a key that is read."""
        self.state = self._state_of

    def aim(self, keys: Sequence[Key]) -> None:
        """Ask the peer that has most of these keys, one after another; of several the first."""
        self._asked = None
        best = self._best(keys)
        if best is not None:
            self.source, self._asked = best

    def most_of(self, keys: Sequence[Key]) -> OffloadTier | None:
        """Return the peer that `aim` would ask; None if nobody has the first key."""
        best = self._best(keys)
        return None if best is None else best[1]

    def _best(self, keys: Sequence[Key]) -> tuple[int, OffloadTier] | None:
        most, best = 0, None
        for number, peer in enumerate(self._peers()):
            run = _run(peer, keys)
            if run > most:
                most, best = run, (number, peer)
        return best

    def _state_of(self, key: Key) -> int | None:
        """Return IDLE for what can be read, None for all else."""
        state = self._asked.state(key) if self._asked is not None else None
        return IDLE if state is not None and state >= IDLE else None

    @property
    def peer_changes(self) -> int:
        """Changes of what the peers hold."""
        return sum([peer.changes for peer in self._peers()])

    def store(self, keys: Sequence[Key]) -> tuple[list[Key], list[Key]] | None:
        """There is no room."""
        return None

    def pin(self, keys: Iterable[Key]) -> None:
        """Begin to read from the peer that is asked."""
        assert self._asked is not None
        for key in keys:
            self._lenders[key] = self._asked
            self._asked.pin((key,))

    def unpin(self, keys: Iterable[Key]) -> None:
        """A read has ended."""
        for key in keys:
            self._lenders.pop(key).unpin((key,))

    def touch(self, keys: Sequence[Key]) -> None:
        """Peers touch what is read, when that has ended."""

    def _victims(self, count: int, spared: Collection[Key]) -> list[Key] | None:
        return None

    def _inserted(self, keys: Sequence[Key]) -> None:
        """Nothing is written here."""

    def _idle(self, keys: Sequence[Key]) -> None:
        """Nothing is kept here."""

    def _busy(self, keys: Sequence[Key]) -> None:
        """Nothing is kept here."""


def _run(peer: OffloadTier, keys: Sequence[Key]) -> int:
    """Return how many of the first keys a peer has ready."""
    state, count = peer.state, 0
    for key in keys:
        found = state(key)
        if found is None or found < IDLE:
            break
        count += 1
    return count
