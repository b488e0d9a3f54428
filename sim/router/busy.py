"""Busy thresholds: workers that get no request, and requests that are refused (Dynamo 1.5.0 and 1.6.1).

A worker is busy if one of the thresholds that are set is passed by what its load reports say. One that is
busy is no candidate; a request all of whose candidates are busy is refused at once, it does not wait.
"""

from typing import Annotated, Literal

from pydantic import Field

from sim.base.bounds import LARGEST_WEIGHT, CountOrZero
from sim.base.settings import Settings
from sim.base.units import Seconds

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
    every 0.05 s, vLLM's production stack every 30 s. 0: workers publish every step, as Dynamo's do."""
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
