"""`python -m tests.docs.refresh [PAGE ...]` puts into pages (all if none is named) what examples print."""

import sys
import tempfile
from pathlib import Path

from tests.docs.blocks import PAGES, ROOT, name, steps
from tests.docs.examples import run


def refreshed(text: str) -> str:
    """Return a page whose examples show what they print now."""
    with tempfile.TemporaryDirectory() as place:
        found = [(step.output, printed) for step, printed in run(text, Path(place))]
    for output, printed in reversed(found):
        assert output is not None
        text = text[: output.at[0]] + printed + text[output.at[1] :]
    return text


def main(wanted: list[str]) -> None:
    """Refresh pages."""
    for page in [ROOT / each for each in wanted] or PAGES:
        before = page.read_text(encoding="utf-8")
        if list(steps(before)):
            after = refreshed(before)
            page.write_text(after, encoding="utf-8")
            print(f"{name(page)}: {'as it was' if after == before else 'refreshed'}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
