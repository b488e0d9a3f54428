"""Session affinity: later requests of a session go where its first one went (Dynamo 1.5.0 and 1.6.1).

The first request of a session that is dispatched binds the session to its rank, and others of the session
wait for that. A binding is kept as long as one of the session's requests is under way, and for a time after
the last of them. Each pool has bindings of its own. `SelectionService` has them from 1.6 on: there a
reservation binds.
"""

from math import floor
from typing import Annotated, Final, Literal

from pydantic import Field

from sim.base.settings import Settings

MOST_SESSIONS: Final = 65_536
"""Sessions that a pool has bindings of; a request of one more is refused."""
REAPED_EVERY_S: Final = 30.0
"""Bindings that are past their time count until they are cleared away, so often or once a `ttl`."""


class AffinitySettings(Settings):
    """Whether and how a session stays with its worker (`--router-session-affinity-...`)."""

    session_affinity_ttl_secs: Annotated[int, Field(ge=1, le=31_536_000)] | None = None
    """Seconds for which a session stays bound to its worker after the last of its requests has ended. Unset:
    it is bound to none."""
    session_affinity_mode: Literal["hard", "soft"] = "hard"
    """What a binding means. "hard": a request goes there, and is refused while that worker is busy. "soft":
    it goes there unless that worker is busy, else to another one; the binding stays."""


class SessionLimitError(Exception):
    """There are as many bindings as a pool may have."""


class _Binding:
    """Of one session."""

    __slots__ = ("active", "idle_until_s", "rank")

    def __init__(self) -> None:
        self.rank: int | None = None
        """None: its first request has not been dispatched yet."""
        self.active = 0
        """Its requests under way."""
        self.idle_until_s = 0.0
        """How long it lasts if there are none."""

    def is_over(self, now_s: float) -> bool:
        """Whether its time is past."""
        return self.rank is not None and not self.active and self.idle_until_s <= now_s


class Hold:
    """What keeps a session's binding while one of its requests is under way."""

    __slots__ = ("_binding", "session")

    def __init__(self, session: str, binding: _Binding) -> None:
        self.session = session
        self._binding = binding

    @property
    def rank(self) -> int | None:
        """Where the session is bound to; None: this is its first request, which will bind it."""
        return self._binding.rank

    @property
    def binding(self) -> _Binding:
        """What it keeps."""
        return self._binding


class Affinity:
    """The bindings of one pool. Times must not decrease from call to call.

    Args:
        ttl_s: how long a binding lasts after the session's last request.
        most_sessions: how many there may be.
    """

    def __init__(self, ttl_s: float, most_sessions: int = MOST_SESSIONS) -> None:
        self._ttl_s = ttl_s
        self._most_sessions = most_sessions
        self._bindings: dict[str, _Binding] = {}

    def __len__(self) -> int:
        """How many bindings there are, those past their time included that nobody has cleared away."""
        return len(self._bindings)

    def rank(self, session: str, now_s: float) -> int | None:
        """Return where a session is bound to, None if it is not, without keeping it."""
        binding = self._bindings.get(session)
        return None if binding is None or binding.is_over(now_s) else binding.rank

    def take(self, session: str, now_s: float) -> Hold | None:
        """Keep a session's binding for a request, or begin one; None: an earlier request is about to bind it.

        Whoever gets a hold has to `bind` and to `release` it.

        Raises:
            SessionLimitError: it would be one binding too many.
        """
        binding = self._bindings.get(session)
        if binding is None:
            self._make_room(now_s)
        elif not binding.is_over(now_s):
            if binding.rank is None:
                return None
            binding.active += 1
            return Hold(session, binding)
        binding = self._bindings[session] = _Binding()
        return Hold(session, binding)

    def bind(self, hold: Hold, rank: int, now_s: float) -> None:
        """A request was dispatched to a rank: binds its session if it is the first; else nothing changes."""
        binding = hold.binding
        if binding.rank is None:
            binding.rank, binding.active = rank, 1
            binding.idle_until_s = now_s + self._ttl_s

    def release(self, hold: Hold, now_s: float) -> None:
        """A request has ended, or was not dispatched: if it would have been the first, nothing is bound."""
        binding = hold.binding
        if binding.rank is None:
            self._drop(hold)
        else:
            binding.active -= 1
            binding.idle_until_s = now_s + self._ttl_s

    def forget(self, rank: int) -> None:
        """A rank is gone, and so are the bindings to it."""
        gone = [session for session, binding in self._bindings.items() if binding.rank == rank]
        for session in gone:
            del self._bindings[session]

    def clear(self) -> None:
        """The front end starts anew: no session is bound."""
        self._bindings.clear()

    def _drop(self, hold: Hold) -> None:
        if self._bindings.get(hold.session) is hold.binding:
            del self._bindings[hold.session]

    def _make_room(self, now_s: float) -> None:
        """If there is no room for one more, clear away what was past its time at the last look."""
        if len(self._bindings) < self._most_sessions:
            return
        period_s = min(self._ttl_s, REAPED_EVERY_S)
        looked_s = floor(now_s / period_s) * period_s
        for session in [name for name, binding in self._bindings.items() if binding.is_over(looked_s)]:
            del self._bindings[session]
        if len(self._bindings) >= self._most_sessions:
            raise SessionLimitError
