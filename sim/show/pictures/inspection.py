"""Three pictures of a trace: how long requests are, how far apart, how much of them was there before."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sim.show.pictures.axes import say_instead
from sim.show.pictures.fitting import fit_ticks
from sim.show.pictures.labels import as_label
from sim.show.pictures.style import PANEL_INCHES, palette, quiet, save, style
from sim.show.pictures.ticks import logarithmic, number, percents, whole
from sim.traces.inspection import Inspection
from sim.traces.walk import Walk

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEAST_SESSIONS = 5
"""A turn that fewer sessions have is not drawn: its percentiles would be single sessions."""
_TURNS_ALONE = 60
"""Later turns are put together, so that lines have about so many points."""
_GROUPS = {"prompt": "prompt", "output": "output", "new": "new, later turns", "growth": "growth, appending"}
_TIMES = {"gap": "start to start", "think": "answer to next turn"}

Draw = Callable[["Axes", Inspection], None]


def write_inspection_plots(found: Inspection, folder: Path) -> None:
    """Write lengths.png, gaps.png and reuse.png."""
    for name, plot in PLOTS.items():
        save(plot(found), folder / f"{name}.png")


def plot_lengths(found: Inspection) -> "Figure":
    """Return how prompts, outputs, new tokens and growth are distributed, and turns of sessions."""
    return _figure(found, _lengths, _turns)


def plot_gaps(found: Inspection) -> "Figure":
    """Return how times between turns are distributed, and when requests leave."""
    return _figure(found, _times, _arrivals)


def plot_reuse(found: Inspection) -> "Figure":
    """Return what share of prompts an infinite cache hits, and how long they are, by turn."""
    return _figure(found, _hit, _context)


PLOTS = {"lengths": plot_lengths, "gaps": plot_gaps, "reuse": plot_reuse}


def _figure(found: Inspection, *draws: Draw) -> "Figure":
    with style():
        from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import

        width, height = PANEL_INCHES
        figure = Figure(figsize=(width * len(draws), height), layout="constrained")
        for panel, draw in zip(figure.subplots(1, len(draws), squeeze=False)[0], draws, strict=True):
            draw(panel, found)
        figure.suptitle(f"{as_label(found.source)}: {found.requests:,} requests, {found.sessions:,} sessions")
        fit_ticks(figure)
        return figure


def _lengths(panel: "Axes", found: Inspection) -> None:
    _ecdf(panel, found.drawn, _GROUPS, "Length (tokens)")


def _times(panel: "Axes", found: Inspection) -> None:
    _ecdf(panel, found.drawn, _TIMES, "Time (s)", what="Later turns")


def _turns(panel: "Axes", found: Inspection) -> None:
    _ecdf(panel, found.drawn, {"turns": "turns a session"}, "Turns", what="Sessions")


def _ecdf(
    panel: "Axes",
    drawn: Mapping[str, NDArray[Any]],
    labels: Mapping[str, str],
    axis: str,
    what: str = "Requests",
) -> None:
    """Draw shares of what is at most so large, on a logarithmic axis; what is 0 stands at its left end."""
    found = {label: drawn[name] for name, label in labels.items() if len(drawn[name])}
    positive = [values[values > 0].min() for values in found.values() if (values > 0).any()]
    if not positive:
        say_instead(panel, "nothing measured")
        return
    least = min(positive)
    for (label, values), colour in zip(found.items(), palette(len(found)), strict=True):
        ordered = np.maximum(np.sort(values), least)
        shares = np.arange(1, len(ordered) + 1) / len(ordered)
        panel.step([least, *ordered], [0.0, *shares], where="post", label=label, color=colour)
    logarithmic(panel.xaxis)
    percents(panel.yaxis)
    panel.set(xlabel=axis, ylabel=f"{what} with at most", ylim=(0, 1.02))
    panel.legend(loc="best")


def _arrivals(panel: "Axes", found: Inspection) -> None:
    """Draw how many requests and sessions have begun by each time."""
    walked = found.walked
    all_of_them = np.ones(len(walked.turn), np.bool_)
    for (label, which), colour in zip(
        {"requests": all_of_them, "sessions": ~walked.later}.items(),
        palette(2),
        strict=True,
    ):
        times = np.sort(walked.timestamp_s[which & ~np.isnan(walked.timestamp_s)])
        shares = np.arange(1, len(times) + 1) / which.sum()
        panel.step(times, shares, where="post", label=label, color=colour)
    number(panel.xaxis)
    percents(panel.yaxis)
    panel.set(xlabel="Time from the first request, as recorded (s)", ylabel="Begun by then", ylim=(0, 1.02))
    panel.legend(loc="best")


def _hit(panel: "Axes", found: Inspection) -> None:
    walked = found.walked
    turns, hits = _by_turn(
        walked, lambda rows: walked.hit_tokens[rows].sum() / walked.prompt_tokens[rows].sum()
    )
    panel.plot(turns, hits, marker="o" if len(turns) < 2 else None, label="by turn")
    if found.ideal_hit is not None:
        panel.axhline(found.ideal_hit, color=quiet(), linestyle="--", linewidth=1, label="all requests")
    percents(panel.yaxis)
    panel.set(xlabel="Turn", ylabel="Prompt tokens that\nan infinite cache hits", ylim=(0, 1.02))
    panel.legend(loc="lower right")
    whole(panel.xaxis)


def _context(panel: "Axes", found: Inspection) -> None:
    prompts = found.walked.prompt_tokens
    turns, ends = _by_turn(found.walked, lambda rows: np.percentile(prompts[rows], (10, 50, 90)))
    low, middle, high = np.array(ends).reshape(-1, 3).T
    panel.plot(turns, middle, label="p50", marker="o" if len(turns) < 2 else None)
    panel.fill_between(turns, low, high, alpha=0.15, linewidth=0, label="p10 to p90")
    number(panel.yaxis)
    panel.set(xlabel="Turn", ylabel="Prompt tokens")
    panel.set_ylim(bottom=0)
    panel.legend(loc="best")
    whole(panel.xaxis)


def _by_turn(walked: Walk, value: Callable[[NDArray[Any]], Any]) -> tuple[list[float], list[Any]]:
    """Return turns, several together where there are many, and a value of the requests of each.

    Turns that few sessions come to are left out, unless those have most of the requests.
    """
    sessions = np.bincount(walked.turn)
    most = int(np.flatnonzero(sessions >= min(_LEAST_SESSIONS, sessions[0]))[-1]) + 1
    if 2 * sessions[:most].sum() < sessions.sum():
        most = len(sessions)
    width = -(-most // _TURNS_ALONE)
    order = np.argsort(walked.turn, kind="stable")
    ends = np.searchsorted(walked.turn[order], range(0, most + width, width))
    parts = [order[start:end] for start, end in pairwise(ends)]
    turns = [walked.turn[part].mean() + 1 for part in parts if len(part)]
    return turns, [value(part) for part in parts if len(part)]
