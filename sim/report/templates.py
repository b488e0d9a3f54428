"""Templates and style sheet of pages, which need nothing else: no file, no network."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_ASSETS = Path(__file__).parent / "assets"


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
