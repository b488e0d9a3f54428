"""All published clusters in one table: how many rows are within, how many A/B signs are right, and misses."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isinf
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from sim.base import words
from sim.published.cluster import PublishedCluster
from sim.published.scores import RowScore
from sim.published.show_printed import median_errors, misses, wrong_signs
from sim.published.static import StaticScore
from sim.published.verdicts import ABVerdict, Counted, counted, judged
from sim.show.text.page_parts import footnotes, table
from sim.show.text.page_table import PageTable
from sim.show.text.prose import Prose

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Standing:
    """How one cluster stands."""

    cluster: PublishedCluster
    static: tuple[StaticScore, ...]
    dynamic: tuple[RowScore, ...]

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.cluster.folder.resolve().name

    @property
    def pairs(self) -> list[ABVerdict]:
        """Its A/B pairs."""
        return [*judged(self.cluster.settings.ab, self.dynamic)]

    @property
    def all_rows(self) -> Counted:
        """Its rows, fitted or not."""
        return counted(self.static, self.dynamic)

    def rows(self, *, fitted: bool) -> Counted:
        """Return the rows that may be fitted, or the others."""
        return counted(
            [row for row in self.static if row.target.fitted is fitted],
            [row for row in self.dynamic if row.target.fitted is fitted],
        )

    @property
    def misses(self) -> list[str]:
        """What is outside or has the wrong sign, a sentence each."""
        settings = self.cluster.settings
        return [*misses(settings, self.static, self.dynamic), *wrong_signs(settings, self.pairs)]


def render(standings: Sequence[Standing], notes: Sequence[str] = ()) -> RenderableType:
    """Return the table and, under it, what each cluster misses, ready to print."""
    lines = table("Cluster", "rows", "within", "of fitted", "of predicted", "median error", "A/B signs right")
    for one in standings:
        lines.add_row(one.name, *_cells([one]))
    if len(standings) > 1:
        lines.add_section()
        lines.add_row("all", *_cells(standings))
    parts: list[RenderableType] = [lines]
    for one in standings:
        if one.misses:
            parts += [Text(), Text(f"{one.name}: {one.cluster.settings.heading}", style="bold")]
            missed = PageTable.grid(padding=(0, 1, 0, 0))
            for text in one.misses:
                missed.add_row(Text("·"), Prose(text))
            parts.append(missed)
    legend = [
        "a row with a range of places is within if it is at every place; without a number it is outside",
        "median error: of rows of which one number is printed; of shares in points",
    ]
    return Group(*parts, footnotes(legend, notes))


def _cells(standings: Sequence[Standing]) -> list[str]:
    everything = _joined([one.all_rows for one in standings])
    fitted, predicted = (_joined([one.rows(fitted=fitted) for one in standings]) for fitted in (True, False))
    pairs = [pair for one in standings for pair in one.pairs]
    return [
        str(everything.rows),
        str(everything.within),
        _of(fitted.within, fitted.rows),
        _of(predicted.within, predicted.rows),
        median_errors(everything),
        _of(sum(pair.right for pair in pairs), len(pairs)),
    ]


def _of(some: int, of_all: int) -> str:
    return f"{some} of {of_all}" if of_all else words.MISSING


def _joined(parts: Sequence[Counted]) -> Counted:
    return Counted(
        sum(part.rows for part in parts),
        sum(part.within for part in parts),
        tuple(size for part in parts for size in part.errors),
        tuple(size for part in parts for size in part.points),
    )


def to_dict(standings: Sequence[Standing], notes: Sequence[str] = ()) -> dict[str, Any]:
    """Return the same, ready for JSON; an error without end is null."""
    return {
        "schema_version": SCHEMA_VERSION,
        "clusters": [
            {
                "name": one.name,
                "title": one.cluster.settings.heading,
                **{
                    name: {
                        "rows": found.rows,
                        "within": found.within,
                        "median_error": _finite(found.median_error),
                        "median_error_points": _finite(found.median_points),
                    }
                    for name, found in (
                        ("all", one.all_rows),
                        ("fitted", one.rows(fitted=True)),
                        ("predicted", one.rows(fitted=False)),
                    )
                },
                "ab_signs": len(one.pairs),
                "ab_signs_right": sum(pair.right for pair in one.pairs),
                "misses": one.misses,
            }
            for one in standings
        ],
        "notes": list(notes),
    }


def _finite(value: float | None) -> float | None:
    return None if value is None or isinf(value) else value


def render_list(clusters: Sequence[PublishedCluster]) -> RenderableType:
    """Return what there is to validate against, ready to print."""
    lines = PageTable(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    lines.add_column("Cluster", no_wrap=True)
    lines.add_column("what it is")
    lines.add_column("rows", justify="right")
    lines.add_column("A/B pairs", justify="right")
    for one in clusters:
        settings = one.settings
        text = settings.heading + (f"; {settings.hardware}" if settings.hardware else "")
        scored = [row for row in one.targets.rows if row.kind != "information"]
        lines.add_row(one.folder.name, text, str(len(scored)), str(len(settings.ab)) if settings.ab else "")
    notes = ["`sim validate published NAME` runs one, `--all` all of them; with `--stored` without a run"]
    return Group(lines, footnotes(notes))


def list_to_dict(clusters: Sequence[PublishedCluster]) -> dict[str, Any]:
    """Return the same, ready for JSON."""
    return {
        "schema_version": SCHEMA_VERSION,
        "clusters": [
            {
                "name": one.folder.name,
                "title": one.settings.heading,
                "source": one.settings.source,
                "hardware": one.settings.hardware,
                "rows": sum(row.kind != "information" for row in one.targets.rows),
                "variants": list(one.settings.variants),
                "ab_pairs": len(one.settings.ab),
            }
            for one in clusters
        ],
    }
