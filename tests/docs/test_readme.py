"""README.md is short, and begins with what to do; what it no longer holds stands on its pages."""

import re
from pathlib import Path

from sim.scenario.load import load_scenario
from sim.scenario.scenario import Scenario
from sim.workload.trace_file import load_trace
from tests.docs.blocks import ROOT, blocks

README = (ROOT / "README.md").read_text(encoding="utf-8")
SCENARIO = (ROOT / "docs" / "how-to" / "scenario.md").read_text(encoding="utf-8")
TRACE = (ROOT / "docs" / "how-to" / "your-trace.md").read_text(encoding="utf-8")


def fenced(text: str, language: str) -> list[str]:
    return [block.text for block in blocks(text) if block.language == language]


def test_the_readme_is_a_screen_and_a_half_with_a_picture_on_top() -> None:
    lines = README.splitlines()
    assert len(lines) < 100
    assert lines[2].startswith("![")


def test_the_readme_opens_with_the_two_commands() -> None:
    first = fenced(README, "sh")[0]
    assert [line.split("#")[0].strip() for line in first.splitlines()] == ["make run", "make test"]


def test_the_readme_says_first_what_is_wrong() -> None:
    said = README.split("## How accurate it is\n")[1].split("\n## ")[0]
    assert said.strip().startswith("- Wrong first:")


def test_figures_of_the_readme_are_those_of_the_page() -> None:
    accuracy = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    predicted, total, right, pairs = re.search(
        r"clusters (\d+) of (\d+) predicted.*?and (\d+) of\s+(\d+) differences", README, re.DOTALL
    ).groups()  # type: ignore[union-attr]
    row = next(line for line in accuracy.splitlines() if line.startswith("all "))
    assert f"{predicted} of {total}" in row
    assert row.endswith(f"{right} of {pairs}")


def test_the_scenario_on_its_page_is_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(fenced(SCENARIO, "toml")[0])
    assert load_scenario(path).capacity().num_blocks > 2


def test_every_section_is_on_the_page_of_scenarios() -> None:
    for section in Scenario.model_fields:
        assert f"`{section}`" in SCENARIO or f"`[{section}]`" in SCENARIO, section


def test_the_trace_on_its_page_is_one(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(fenced(TRACE, "json")[0])
    first, second = load_trace(path).requests
    assert (first.session, second.session, second.delay_s) == ("a", "a", 1.5)
