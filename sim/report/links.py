"""The use of links: how long each direction had bytes under way, and what went over it."""

from typing import Any, NamedTuple

import pandas as pd

from sim.base import words
from sim.report.names import WorkerNames

MOST_LINKS = 24

_WIRES = {"pcie": "PCIe", "nvlink": "NVLink", "roce": "RoCE"}
_DIRECTIONS = {"to_host": "to host memory", "to_gpu": "to the GPU", "in": "in", "out": "out"}


class LinkUse(NamedTuple):
    """One direction of one link, in words."""

    name: str
    busy: float
    """Share of the run with bytes under way."""
    busy_share: str
    sent: str
    transfers: str
    bandwidth: str
    waiting: str
    """How much longer its transfers took than they would have alone, summed."""


class LinkUses(NamedTuple):
    """The links of a run."""

    shown: list[LinkUse]
    """Those that were busy longest, the busiest first."""
    more: int
    """Others that were used."""
    idle: int
    """Those that nothing went over."""


def link_uses(links: pd.DataFrame, names: WorkerNames) -> LinkUses:
    """Return what table `links` says."""
    used = links[links["transfers"] > 0].sort_values("utilisation", ascending=False, kind="stable")
    shown = [_use(row, names) for row in used.head(MOST_LINKS).to_dict("records")]
    return LinkUses(shown, len(used) - len(shown), len(links) - len(used))


def _direction(direction: str) -> str:
    return _DIRECTIONS.get(direction) or direction.replace("_", " ")


def _use(row: dict[Any, Any], names: WorkerNames) -> LinkUse:
    owner = f"node {row['owner']}" if row["kind"] == "roce" else names.long(row["owner"])
    return LinkUse(
        f"{_WIRES.get(row['kind'], row['kind'])} of {owner}, {_direction(row['direction'])}",
        row["utilisation"],
        words.percent(row["utilisation"]),
        words.data(row["n_bytes"]),
        words.count(row["transfers"]),
        f"{words.data(row['bandwidth_bytes_per_s'])}/s",
        words.seconds(row["waiting_s"]),
    )
