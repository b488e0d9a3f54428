"""Trace formats: one file each, and the choice between them."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from sim.base.errors import InputError
from sim.workload.formats import mooncake
from sim.workload.formats.row import RowFormat
from sim.workload.formats.timed_trace import timed_trace

FormatName = Literal["auto", "mooncake", "mooncake-delta", "timed_trace"]


def choose(name: FormatName, sec_multiplier: float | None, sample: Iterable[Mapping[str, Any]]) -> RowFormat:
    """Return the format of that name; for "auto", the one whose rows the sample looks like.

    Both formats share their main keys. What tells them apart is a key that only Mooncake's extensions have,
    or the timestamps: milliseconds are written as whole numbers, seconds with a fraction. A `sec_multiplier`
    is vLLM's, so it settles the question too.

    Raises:
        InputError: `sec_multiplier` with a format whose unit is fixed.

    """
    if name == "timed_trace" or sec_multiplier is not None:
        if name in ("mooncake", "mooncake-delta"):
            raise InputError(f"sec_multiplier = {sec_multiplier}: mooncake timestamps are milliseconds")
        return timed_trace(1.0 if sec_multiplier is None else sec_multiplier)
    if name == "mooncake-delta":
        return mooncake.DELTA
    return mooncake.FORMAT if name == "mooncake" or mooncake.recognises(sample) else timed_trace()
