"""Templates and style sheets of pages, which need nothing else: no file, no network."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_ASSETS = Path(__file__).parent / "assets"


class Section(NamedTuple):
    """A part of a page, with its place in the navigation."""

    key: str
    """Of the address: page.html#key."""
    title: str
    link: str
    """The title in short."""
    template: str


@cache
def templates() -> Environment:
    """Return the templates; a name that is not given is an error, text is escaped."""
    return Environment(
        loader=FileSystemLoader(_ASSETS),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def asset(name: str) -> str:
    """Return the text of a style sheet or script."""
    return (_ASSETS / name).read_text(encoding="utf-8")


def style_sheet(*names: str) -> str:
    """Return what every page has, with these style sheets."""
    return "\n".join(map(asset, ("page.css", *names, "print.css")))


def sectioned(
    folder: str,
    sections: Sequence[tuple[str, str, str]],
    styles: Sequence[str],
    scripts: Sequence[str],
    **content: Any,
) -> str:
    """Return a page of sections: each has a key, which names its template in that folder, title and link.

    `styles` and `scripts` are added to what every page has.
    """
    return (
        templates()
        .get_template(f"{folder}/page.html")
        .render(
            sections=[Section(key, title, link, f"{folder}/{key}.html") for key, title, link in sections],
            style=style_sheet("chart.css", *styles),
            script="\n".join(map(asset, ("print.js", *scripts))),
            **content,
        )
    )
