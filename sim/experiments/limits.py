"""Limits on what runs come to: that there are such numbers, and that runs are asked for them."""

import json
from collections.abc import Sequence

from sim.base.errors import InputError
from sim.base.limits import Limit
from sim.results.quantities import check_number
from sim.results.within import Within
from sim.runs.run import Run
from sim.scenario.scenario import Scenario


def asked_for(base: Scenario, limits: Sequence[Limit]) -> list[str]:
    """Return the `key=value` that have summaries say what limits and bindings are told from."""
    shares = [limit.within for limit in limits if limit.within is not None]
    within = json.dumps([*dict.fromkeys([*(base.output.within or ()), *shares])])
    return ["output.time_spent=true", *([f"output.within={within}"] if shares else [])]


def check_limits(limits: Sequence[Limit], known: Sequence[str], option: str) -> None:
    """Refuse limits on what no run measures.

    Raises:
        InputError: names the number, and near ones.

    """
    for limit in limits:
        if limit.within is not None:
            Within.read(limit.within, option)
        else:
            check_number(limit.metric, known, option)


def check_measured(limits: Sequence[Limit], runs: Sequence[Run], option: str) -> None:
    """Refuse a share of a part of the requests that has none.

    Raises:
        InputError: names the part.

    """
    for limit in limits:
        part = limit.within and Within.read(limit.within, option).part
        measured = [run for run in runs if run.summary is not None]
        if part and measured and all(run.numbers.get(limit.metric) is None for run in measured):
            raise InputError(f"{option} {limit.text}: no request of the workload is of {part}")
