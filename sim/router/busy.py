"""Busy thresholds: workers that get no request, and requests that are refused (Dynamo 1.5.0 and 1.6.1).

A worker is busy if one of the thresholds that are set is passed by what its load reports say. One that is
busy is no candidate; a request all of whose candidates are busy is refused at once, it does not wait.
"""

from collections import deque
from collections.abc import Sequence
from math import inf
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field

from sim.base.bounds import LARGEST_WEIGHT, CountOrZero
from sim.base.settings import Settings
from sim.base.units import Seconds
from sim.router.report import WorkerReport

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class BusySettings(Settings):
    """Above which load a worker is left out, and how old what is known of loads is.

    Thresholds have Dynamo's names (`--active-decode-blocks-threshold` and so on: no `--router-`).
    """

    active_decode_blocks_threshold: Share | None = None
    """Share of a worker's KV blocks above which it is busy, by what workers report: what the router has
    booked does not count. Unset: no limit."""
    active_prefill_tokens_threshold: CountOrZero | None = None
    """Prompt tokens booked on a worker and not computed yet above which it is busy. Unset: no limit."""
    active_prefill_tokens_threshold_frac: (
        Annotated[float, Field(ge=0, le=LARGEST_WEIGHT, allow_inf_nan=False)] | None
    ) = None
    """The same as a multiple of `engine.max_num_batched_tokens`. Unset: no limit."""
    overload_status_code: Literal[529, 503] = 529
    """HTTP status of a refusal (DYN_HTTP_OVERLOAD_STATUS_CODE): clients try both again."""
    report_interval_s: Seconds = 0.0
    """Time from one look at a worker's report to the next, for routers that scrape: llm-d's end-point picker
    every 0.05 s, vLLM's production stack every 30 s. 0: as the policy's source has it (`llm-d` and `vllm-dp`
    do); with any other, workers publish every step, as Dynamo's do."""
    report_delay_s: Seconds = 0.0002
    """How long a load report is on its way, of a worker or of the router's own bookings: 0.1 to 0.3 ms were
    measured on Dynamo 1.5.0 in one process."""

    @property
    def has_thresholds(self) -> bool:
        """Whether workers may be left out."""
        return self.limits_prefill or self.active_decode_blocks_threshold is not None

    @property
    def limits_prefill(self) -> bool:
        """Whether booked prompt tokens may make a worker busy."""
        tokens, share = self.active_prefill_tokens_threshold, self.active_prefill_tokens_threshold_frac
        return tokens is not None or share is not None


class Limits(NamedTuple):
    """The thresholds as numbers; infinity where one is not set."""

    kv_share: float
    """Of a worker's KV blocks."""
    prefill_tokens: float

    @classmethod
    def of(cls, settings: BusySettings, max_num_batched_tokens: int) -> Self:
        """Return what the settings say, of workers whose steps have at most so many tokens."""
        kv_share = settings.active_decode_blocks_threshold
        tokens = settings.active_prefill_tokens_threshold
        frac = settings.active_prefill_tokens_threshold_frac
        return cls(
            inf if kv_share is None else kv_share,
            min(inf if tokens is None else tokens, inf if frac is None else frac * max_num_batched_tokens),
        )

    def passed(self, prefill_tokens: int, report: WorkerReport | None) -> bool:
        """Whether a worker is busy, by its booked prompt tokens and its report, as far as they are known."""
        if prefill_tokens > self.prefill_tokens:
            return True
        return report is not None and report.used_kv_blocks > self.kv_share * report.total_kv_blocks


class ReportedPrefill:
    """Booked prompt tokens of the ranks of one router, as old as its load reports are.

    Args:
        ranks: how many there are.
        delay_s: how long a report is on its way.
    """

    def __init__(self, ranks: int, delay_s: float) -> None:
        self._delay_s = delay_s
        self._booked = [0] * ranks
        self._sent = [0] * ranks
        self._known = [0] * ranks
        self._on_the_way: deque[tuple[float, int, int]] = deque()
        """(when sent, rank, tokens), in the order of sending."""

    def note(
        self, booked: Sequence[int], now_s: float, left: Sequence[int] | None = None, at: int | None = None
    ) -> None:
        """Report each rank whose booked tokens have changed: what is `left` of them, if they fade.

        Fading alone is not reported, but where something happens, at rank `at`.
        """
        for rank, tokens in enumerate(booked):
            counting = tokens if left is None else left[rank]
            if tokens != self._booked[rank] or (rank == at and counting != self._sent[rank]):
                self._booked[rank], self._sent[rank] = tokens, counting
                self._on_the_way.append((now_s, rank, counting))

    def known(self, now_s: float) -> Sequence[int]:
        """Return the booked tokens by rank of which reports have arrived before now."""
        on_the_way = self._on_the_way
        while on_the_way and on_the_way[0][0] < now_s - self._delay_s:
            _, rank, self._known[rank] = on_the_way.popleft()
        return self._known
