"""docs/traces.md has every format, every refusal and every target, in the words of the sources."""

import pytest

from sim.traces.writers import WRITERS
from tests.house import ROOT
from tests.traces.formats_table import read_table, refused_table

PAGE = (ROOT / "docs" / "traces.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("table", [read_table, refused_table])
def test_the_page_has_the_table(table: object) -> None:
    assert callable(table)
    assert table() in PAGE, "python -m tests.traces.formats_table prints it"


def test_the_page_has_every_target() -> None:
    for name in WRITERS:
        assert f"`--to {name}`" in PAGE
