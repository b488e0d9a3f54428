"""A replay part after part: what warms the caches, then what is measured."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from math import inf, nan
from typing import NamedTuple

from sim.cluster.clients.client import Act, Client
from sim.cluster.clients.lanes import Cut
from sim.cluster.clients.make import make_client, slots
from sim.cluster.left_out import LeftOut
from sim.events.clock import Clock, Phase
from sim.workload.answers import answers_of
from sim.workload.request import Answer, Request, Trace
from sim.workload.settings import ReplaySettings
from sim.workload.warm_start import warm_parts

REST_S = 10.0
"""From the end of what warms caches to the beginning of what follows: copies to other tiers end meanwhile."""


class Part(NamedTuple):
    """Requests that one client sends; all have ended when the next part begins."""

    trace: Trace
    settings: ReplaySettings
    client: Client
    slots: float
    """How many may be in flight at once."""
    spread: bool = False
    """Whether each goes to the next worker of the first stage, instead of where the router sends it."""
    says: str = ""
    """What it is, of a part that warms caches."""

    @property
    def indices(self) -> range:
        """Those of its requests."""
        return range(self.trace.first_index, self.trace.first_index + len(self.trace.requests))


class Replay:
    """All that is sent in a run, by whom, and what of it counts."""

    def __init__(
        self,
        clock: Clock,
        trace: Trace,
        settings: ReplaySettings,
        send: Act,
        cut: Cut,
        *,
        expect_answers: Callable[[Mapping[int, Answer]], None] = lambda _: None,
    ) -> None:
        """Make the clients; `send` is called for each request, `cut` for one that is to be given up.

        `expect_answers` is told of answers that prompts hold of requests that begin anew.

        Raises:
            InputError: the trace cannot be sent so.

        """
        warm = warm_parts(trace, settings)
        count = len(trace.requests) + sum(len(part.trace.requests) for part in warm)
        self.due_s = array("d", [nan]) * count
        """When each request wanted to leave, by its index; nan until then."""
        self.answers = dict(answers_of(trace, settings.answers))
        """Which answer prompts hold, by index of their request; of requests that begin anew once they do."""
        for part in warm:
            self.answers.update(answers_of(part.trace, settings.answers))
        self._expect_answers = expect_answers
        self.left_out = LeftOut(settings)
        self.settings = settings
        self.measured = Part(
            trace,
            settings,
            make_client(
                clock, trace, settings, send, self.due_s, recycled_from=count, cut=cut, anew=self._anew
            ),
            slots(trace, settings),
        )
        self.warm = [
            Part(
                part.trace,
                part.settings,
                make_client(clock, part.trace, part.settings, send, self.due_s),
                slots(part.trace, part.settings),
                part.spread,
                part.says,
            )
            for part in warm
        ]
        self.client = self.measured.client
        """Of the part that is being played."""
        self._clock = clock
        self._begins: Callable[[Part], None] = lambda _: None
        self._number = 0
        """Of the part that is being played."""
        self._left = 0
        """Its requests that have not ended, if it warms caches."""

    @property
    def parts(self) -> Sequence[Part]:
        """All parts, in order."""
        return [*self.warm, self.measured]

    @property
    def total(self) -> int:
        """Requests that have been sent and will be, as far as is known by now."""
        return sum(part.client.total for part in self.parts)

    @property
    def unsent(self) -> Sequence[Request]:
        """Requests, sent or not, that ought to have been sent when nothing can happen any more."""
        return [*chain.from_iterable(part.client.unsent for part in (self.measured, *self.warm))]

    @property
    def looks_only(self) -> bool:
        """Whether levels are looked at from some time on, or until some."""
        return bool(self.warm) or self.settings.warm_up_s is not None or self.settings.duration_s is not None

    @property
    def leaves_out(self) -> bool:
        """Whether requests or times may be left out of the numbers."""
        return self.looks_only or self.settings.warm_up_requests is not None

    def tags(self, indices: Sequence[int]) -> Sequence[str | None] | None:
        """Return the tags of requests; None for those that warm caches; None if the trace has none."""
        requests = self.measured.trace.requests
        if not self.measured.trace.has_tags:
            return None
        tags, anew = [request.tag for request in requests], sum(len(part.indices) for part in self.parts)
        places = (index if index < anew else (index - anew) % len(tags) for index in indices)
        return [tags[place] if place < len(tags) else None for place in places]

    def start(self, begins: Callable[[Part], None]) -> None:
        """Play all parts, the first from now on; `begins` is told of each right before."""
        self._begins = begins
        self._play(0)

    def ended(self, request: Request) -> None:
        """Note that a request was answered, rejected, failed, or given up."""
        self.client.ended(request)
        if self.left_out.measuring:
            return
        self._left -= 1
        if not self._left:
            next_s = self._clock.now_s + REST_S
            self._clock.at(next_s, Phase.FAULT, 0, partial(self._play, self._number + 1))

    def _play(self, number: int) -> None:
        """Let a part begin; one without requests is over at once."""
        part = self.parts[number]
        measured = number == len(self.warm)
        self._number, self._left = number, len(part.indices)
        if not measured and not self._left:
            self._play(number + 1)
            return
        self.client = part.client
        if measured:
            self.left_out.begin(self._clock.now_s)
        self._begins(part)
        part.client.start()

    def _anew(self, first: int, shift: int, places: Sequence[int]) -> None:
        """Requests at these places behind `first` begin anew, each as the one so many behind it."""
        found: dict[int, Answer] = {}
        for place in places:
            answer = self.answers.get(first + place)
            if answer is not None:
                found[first + place + shift] = answer._replace(request=answer.request + shift)
        if found:
            self.answers.update(found)
            self._expect_answers(found)

    def window(self, end_s: float) -> tuple[float, float]:
        """Return between which times rates are counted in a run that ended so."""
        left_out, settings = self.left_out, self.settings
        from_s = left_out.begun_s + (settings.warm_up_s or 0.0)
        if settings.warm_up_requests:
            from_s = max(from_s, end_s if left_out.counts_since_s is None else left_out.counts_since_s)
        until_s = end_s
        if settings.duration_s is not None:
            until_s = left_out.begun_s + settings.duration_s
        return from_s, max(from_s, until_s)

    def levels_window(self, now_s: float) -> tuple[float, float]:
        """Return between which times levels are looked at, if the measured part begins now."""
        until_s = inf if self.settings.duration_s is None else now_s + self.settings.duration_s
        return now_s + (self.settings.warm_up_s or 0.0), until_s

    def seen(self, end_s: float) -> tuple[float, float]:
        """Return between which times levels were looked at in a run that ended so."""
        if not self.looks_only or not self.left_out.measuring:
            return 0.0, end_s
        from_s, until_s = self.levels_window(self.left_out.begun_s)
        return from_s, max(end_s, from_s) if until_s == inf else until_s

    @property
    def notes(self) -> list[str]:
        """What a reader must know of how it was sent, a sentence each."""
        before = [f"warm start: {part.says}" for part in self.warm]
        return [*before, *self.measured.client.notes, *self._without_effect()]

    def _without_effect(self) -> list[str]:
        found = [key for key in ("think_factor", "max_think_s") if getattr(self.settings, key) is not None]
        if not found or self.settings.client == "turn-dependent":
            return []
        keys = ", ".join(f"replay.{key}" for key in found)
        return [f'without effect on replay.client = "{self.settings.client}": {keys}']
