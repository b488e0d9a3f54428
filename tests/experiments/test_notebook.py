"""What a notebook shows of the objects that a user holds: every number in full, in a page's width."""

import re
from collections import Counter
from collections.abc import Callable
from html import unescape

import pytest
from rich.console import Console, RenderableType

import sim.simulation.explain
from sim.base.shown import WIDTH, Shown
from sim.experiments.comparison import to_show
from sim.runs.comparison import Comparison
from sim.runs.layouts import Layout
from sim.runs.sweep import Sweep
from sim.show.text.sizing import render_sized
from sim.show.text.tuning import render_tuned
from sim.simulation.result import RunResult
from tests.results.runs import a_pair, two_turns
from tests.runs.comparisons import drawn, made, swept, two_points
from tests.runs.test_sizing import sized, tried
from tests.runs.test_tuning import tuned
from tests.show.pictures.test_sweep import made as point

NUMBER = re.compile(r"\d[\d,.]*")


class Page(Shown):
    """What a command prints of something that is shown nowhere else, as a notebook would show it."""

    def __init__(self, text: RenderableType) -> None:
        self._text = text

    def __rich__(self) -> RenderableType:
        return self._text


def many_names() -> Comparison:
    names = [f"{'a-scenario-with-a-long-name-' * (number % 3)}{number}" for number in range(9)]
    return Comparison(names, [made(name, 123.4567 * 7.0**i) for i, name in enumerate(names)])


def grid() -> Sweep:
    runs = [
        point(
            98765.4321 / sessions + credit,
            credit=(credit, repr(credit)),
            sessions=(sessions, str(sessions)),
            policy=("device-aware-weighted", "device-aware-weighted"),
        )
        for credit in (0.123456789, 1234.56789)
        for sessions in (12, 123_456)
    ]
    return Sweep("agg8", runs)


HELD: dict[str, Callable[[], Shown]] = {
    "run": two_turns,
    "run of two pools": a_pair,
    "explanation": lambda: two_turns().explain(1),
    "comparison": lambda: to_show(two_points()),
    "comparison of draws": lambda: to_show(drawn()),
    "comparison of many": lambda: to_show(many_names()),
    "sweep": lambda: to_show(Sweep("agg8", swept("agg8", {12: [1.0, 2.0], 20: [3.0, 5e5]}))),
    "sweep of three keys": lambda: to_show(grid()),
    "sizes": lambda: Page(render_sized(sized([tried(Layout(4), 64, 3.0, 3.5)]))),
    "settings": lambda: Page(render_tuned(tuned([5.0, 6.0, 71234.5]))),
}
"""What makes each object."""


@pytest.mark.parametrize("name", HELD)
def test_no_number_is_cut_in_a_notebook(name: str) -> None:
    held = HELD[name]()
    wide = Console(width=1000, color_system=None, highlight=False)
    with wide.capture() as capture:
        wide.print(held)
    numbers = Counter(NUMBER.findall(capture.get()))
    assert numbers

    page = unescape(re.sub("<[^>]*>", "", held._repr_html_()))
    assert "…" not in page
    assert max(map(len, page.splitlines())) <= WIDTH
    # Columns that stand in several tables are there several times.
    assert not numbers - Counter(NUMBER.findall(page))
    assert repr(held).split() == page.split()


def test_all_that_a_user_holds_is_looked_at() -> None:
    def kinds(kind: type[Shown]) -> set[type[Shown]]:
        return {kind}.union(*map(kinds, kind.__subclasses__()))

    shipped = {kind for kind in kinds(Shown) if kind.__module__.startswith("sim.")} - {Shown}
    assert {RunResult, sim.simulation.explain.Explanation} <= shipped
    assert shipped == {type(make()) for make in HELD.values()} - {Page}
