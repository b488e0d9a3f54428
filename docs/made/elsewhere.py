"""Files of the repository outside of `docs/` that the site has as pages, by their places in both."""

from pathlib import Path

from docs.made.notebook import as_markdown

ROOT = Path(__file__).resolve().parents[2]

BROUGHT = {
    "CONTRIBUTING.md": "contributing.md",
    "calibration/README.md": "calibration.md",
    "tests/bench/README.md": "speed-measured.md",
} | {f"notebooks/{each.name}": f"notebooks/{each.stem}.md" for each in sorted(ROOT.glob("notebooks/*.ipynb"))}


def text_of(source: str) -> str:
    """Return a file as the text of a page."""
    text = (ROOT / source).read_text(encoding="utf-8")
    return as_markdown(text) if source.endswith(".ipynb") else text


def images() -> list[str]:
    """Return the pictures that pages show from outside of `docs/`; the site has them at the same place."""
    return [each.relative_to(ROOT).as_posix() for each in sorted(ROOT.glob("notebooks/images/*.png"))]
