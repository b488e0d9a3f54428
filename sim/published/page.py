"""A page about one published cluster: what it is, each quantity as a picture and a table, A/B signs."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from sim.base.whole_file import write_text
from sim.published.measures import label, level_text
from sim.published.quantity_plots import Quantity, draw, quantities, write_quantities
from sim.published.result import Result
from sim.published.scores import RowScore
from sim.published.settings import ClusterSettings
from sim.published.show_printed import counted_lines, error_text, part, verdict, where
from sim.published.show_rows import band, interval, quantity
from sim.published.static import StaticScore
from sim.published.study import GENERATED
from sim.published.verdicts import ABVerdict, error
from sim.report.templates import style_sheet, templates
from sim.show.pictures.style import Theme, save, style
from sim.show.text.versions import rules_text

NAME = "page.html"


class Row(NamedTuple):
    """A line of a table."""

    cells: tuple[str, ...]
    holds: bool


class Section(NamedTuple):
    """A table, with a picture if it has one."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Row]
    picture: str = ""
    """As base64, on light ground; "" for none."""
    dark: str = ""
    """The same on dark ground."""
    whys: Mapping[str, str] = {}
    """Why a tolerance is what it is, by the rows that it is of."""


def write_page(found: Result, folder: Path) -> None:
    """Write the page and its pictures into a folder."""
    write_quantities(found.cluster.settings, found.dynamic[GENERATED], folder / "plots")
    write_text(folder / NAME, render_page(found))


def render_page(found: Result) -> str:
    """Return the page of a validation on its generated workload, its pictures in it on either ground."""
    settings, rows = found.cluster.settings, found.dynamic[GENERATED]
    verdicts = found.pairs(GENERATED)
    right = sum(one.right for one in verdicts)
    lists = {"Known": settings.known, "Assumed": settings.assumed}
    return (
        templates()
        .get_template("published.html")
        .render(
            title=settings.heading,
            style=style_sheet(),
            counts=counted_lines(found.static, rows),
            signs=f"{right} of {len(verdicts)} A/B signs right" if verdicts else "",
            facts=_facts(found),
            lists={name: sentences for name, sentences in lists.items() if sentences},
            sections=[*map(_without_empty, _sections(found, rows, verdicts))],
            notes=found.notes,
        )
    )


def _facts(found: Result) -> dict[str, str]:
    settings = found.cluster.settings
    facts = {
        "Source": settings.source,
        "Commit": settings.commit,
        "Licence": settings.licence,
        "Hardware": settings.hardware,
        "Versions": settings.versions,
        "Rules": rules_text([{"versions": found.study.versions}]),
    }
    return {name: text for name, text in facts.items() if text}


def _sections(
    found: Result,
    rows: Sequence[RowScore],
    verdicts: Sequence[ABVerdict],
) -> Iterator[Section]:
    settings = found.cluster.settings
    if verdicts:
        yield Section(
            "A against B", ("", settings.scale, "measured", "simulated", "sign"), [*map(_ab, verdicts)]
        )
    for of_quantity in quantities(rows):
        yield Section(
            of_quantity.title,
            ("", settings.scale, "measured", "simulated", "error", "95 % of runs", ""),
            [_printed(settings, row) for row in of_quantity.rows],
            _drawn(settings, of_quantity, "light"),
            _drawn(settings, of_quantity, "dark"),
            _whys(settings, of_quantity.rows),
        )
    others = [row for row in rows if row.target.printed is None]
    if others:
        columns = ("", "target", "median", "95 % of runs", "at", "")
        yield Section("Ranges and relations", columns, [_related(settings, row) for row in others])
    if found.static:
        yield Section(
            "Without a run", ("", "target", "simulated", "error", ""), [*map(_static, found.static)]
        )


def _drawn(settings: ClusterSettings, quantity: Quantity, theme: Theme) -> str:
    """Return a picture as SVG in base64."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / quantity.file_name
        with style(theme):
            save(draw(settings, quantity), path, theme)
        return base64.b64encode(path.read_bytes()).decode("ascii")


def _without_empty(section: Section) -> Section:
    """Leave out columns that hold nothing, such as the level where rows have none."""
    held = [
        place
        for place, cells in enumerate(zip(*(row.cells for row in section.rows), strict=True))
        if any(cells)
    ]
    return section._replace(
        columns=tuple(section.columns[place] for place in held),
        rows=[Row(tuple(row.cells[place] for place in held), row.holds) for row in section.rows],
    )


def _ab(one: ABVerdict) -> Row:
    name = f"{one.pair.title}: {label(one.target.number)}"
    found = (part(one.printed), part(one.simulated), "right" if one.right else "wrong")
    return Row((name, level_text(one.level), *found), one.right)


def _printed(settings: ClusterSettings, row: RowScore) -> Row:
    target, score = row.target, row.deciding
    name = settings.called(target.configurations[0]) + (" (fitted)" if target.fitted else "")
    cells = (
        name,
        level_text(target.level),
        band(target),
        quantity(target, score.median),
        error_text(error(target, score.median)),
        interval(target, score.interval),
        verdict(row).plain,
    )
    return Row(cells, row.holds)


def _related(settings: ClusterSettings, row: RowScore) -> Row:
    target, score = row.target, row.deciding
    cells = (
        target.name + (" (fitted)" if target.fitted else ""),
        band(target),
        quantity(target, score.median),
        interval(target, score.interval),
        where(settings, row),
        verdict(row).plain,
    )
    return Row(cells, row.holds)


def _static(row: StaticScore) -> Row:
    off = error_text(error(row.target, row.value))
    cells = (
        row.target.name,
        band(row.target),
        quantity(row.target, row.value),
        off,
        "within" if row.holds else "outside",
    )
    return Row(cells, row.holds)


def _whys(settings: ClusterSettings, rows: Sequence[RowScore]) -> dict[str, str]:
    """Return each reason for a tolerance once, by what it is of: rows, or all of them."""
    by_reason: dict[str, list[str]] = {}
    for row in rows:
        if row.target.note:
            by_reason.setdefault(row.target.note, []).append(where(settings, row))
    if len(by_reason) == 1 and len(next(iter(by_reason.values()))) == len(rows):
        return {"Tolerance": next(iter(by_reason))}
    return {", ".join(names): reason for reason, names in by_reason.items()}
