"""What is stored of the talk, and what `calibration/README.md` says of it."""

import pytest

from sim.published.cells import cells
from sim.published.targets import Band
from tests.published.readme_table import (
    FOLDER,
    TALK,
    VARIANTS,
    assumed,
    markdown,
    sentences,
    stored,
    with_blocks,
)

TARGETS = TALK.targets


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_place_of_every_row_is_stored(variant: str) -> None:
    lines = stored(variant)
    generated = {
        (line["id"], line["place"], int(line["sessions"]))
        for line in lines
        if line["workload"] == "generated"
    }
    assert generated == {
        (target.id, cell.label, cell.level) for target in TARGETS.of_kind("dynamic") for cell in cells(target)
    }
    assert [line["id"] for line in lines if line["kind"] == "static"] == [
        target.id for target in TARGETS.of_kind("static")
    ]
    # The median context of the generated sessions is above what is printed: calibration/README.md says why.
    assert [line["id"] for line in lines if line["kind"] == "static" and line["holds"] != "yes"] == ["ctx"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_stored_verdicts_are_those_of_the_numbers(variant: str) -> None:
    rows = {target.id: target for target in TARGETS.rows}
    for line in stored(variant):
        target = rows[line["id"]]
        assert Band(*(float(line[end]) if line[end] else None for end in ("low", "high"))) == pytest.approx(
            target.band
        )
        value = float(line["simulated"])
        judged = abs(value) if target.combine == "difference" else value
        assert target.band.holds(judged) == (line["holds"] == "yes"), line


def test_the_readme_shows_the_stored_results() -> None:
    text = (FOLDER.parents[1] / "README.md").read_text(encoding="utf-8")
    assert text == with_blocks(text, markdown(TARGETS), sentences(), assumed(TARGETS)), (
        "run python -m tests.published.readme_table"
    )


def test_pictures_are_small() -> None:
    assert all(path.stat().st_size < 200_000 for path in FOLDER.iterdir())
