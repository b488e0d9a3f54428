"""`sim validate published --all` and `--stored`: all published clusters in one table, and which there are."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.base.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from sim.published.cluster import PublishedCluster
    from sim.published.overview import Standing
    from sim.published.result import Result

Answer = tuple[dict[str, Any], "RenderableType"]
"""The same for JSON and for a terminal."""
Validated = Callable[["PublishedCluster", Path | None], "Result"]
"""Makes the runs of a cluster, and keeps them in a folder if one is given."""


def listed() -> Answer:
    """Return which clusters are shipped."""
    from sim.published.overview import list_to_dict, render_list

    clusters = _shipped()
    return list_to_dict(clusters), render_list(clusters)


def overview(validated: Validated, out: Path | None) -> Answer:
    """Return the table of all shipped clusters, their runs made now, each with a folder of its own."""
    from sim.published.overview import Standing
    from sim.published.study import GENERATED

    standings, notes = [], []
    for cluster in _shipped():
        name = cluster.folder.name
        found = validated(cluster, out and out / name)
        standings.append(Standing(cluster, found.static, found.dynamic[GENERATED]))
        notes += [f"{name}: {note}" for note in found.notes]
    return _answer(standings, notes)


def stored_overview(name: str | None) -> Answer:
    """Return the table of what is stored of a cluster, or of all that are shipped; no run is made.

    Raises:
        InputError: nothing is stored, or not of today's rows and variants.

    """
    from sim.published.cluster import read_cluster
    from sim.published.overview import Standing
    from sim.published.stored import read_stored, stored_file

    asked = _shipped() if name is None else [read_cluster(name)]
    standings, notes = [], []
    for cluster in asked:
        if name is None and stored_file(cluster) is None:
            notes.append(f"{cluster.folder.name}: no results are stored")
            continue
        found = read_stored(cluster)
        if found.differing:
            raise InputError(f"{found.path}: {found.differing[0]}; make it again with --out")
        standings.append(Standing(cluster, found.static, found.dynamic))
    return _answer(standings, notes)


def _answer(standings: list["Standing"], notes: list[str]) -> Answer:
    from sim.published.overview import render, to_dict

    return to_dict(standings, notes), render(standings, notes)


def _shipped() -> list["PublishedCluster"]:
    from sim.base.shipped import published_names
    from sim.published.cluster import read_cluster

    return [read_cluster(name) for name in published_names()]
