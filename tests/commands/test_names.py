"""Names that nothing has are refused before the first run; helps say all that they are written to say."""

from collections.abc import Iterator

import click
import pytest
import typer
from rich.text import Text
from typer.testing import CliRunner

from sim.cli import app

MISSPELT = "no number of the summary has this name; did you mean ttft_s.p50"


@pytest.mark.parametrize(
    "command",
    [
        ("sweep", "agg8", "--metric", "ttft.p50"),
        ("compare", "agg8", "agg4", "--metric", "ttft.p50"),
        ("size", "agg8", "--slo", "ttft.p50<3"),
        ("tune", "agg8", "--objective", "ttft.p50", "--space", "router.overlap_score_credit=0:1"),
    ],
)
def test_a_misspelt_number_costs_no_run(command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_: object) -> None:
        raise AssertionError("a run was made")

    monkeypatch.setattr("sim.experiments.jobs.engine.attempt", run)
    result = CliRunner().invoke(app, [*command, "--jobs", "1"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert MISSPELT in result.stderr


def helps(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    yield name, command.help or ""
    for parameter in command.params:
        yield f"{name} {parameter.name}", getattr(parameter, "help", None) or ""
    for part, inner in getattr(command, "commands", {}).items():
        yield from helps(inner, f"{name} {part}")


def test_no_help_has_words_that_are_taken_for_markup() -> None:
    found = dict(helps(typer.main.get_command(app), "sim"))
    assert "workload" in found["sim trace inspect overrides"]
    assert {name for name, text in found.items() if Text.from_markup(text).plain != text} == set()
