"""Trace text is data: what a session's id says acts on no terminal, page or picture."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sim.cli import app
from tests.workload.files import ROW, load, refusal, written

ACTING = (
    "[bold red]b[/bold red]",
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "$x^{$",
    r"\frac{",
    "{{ 7 * 7 }}",
    "%s%n{0}",
    "--out",
    "a:b:c",
    "\"quoted\" & 'single'",
    "ünïcode 中 🙂",
)


@pytest.mark.parametrize(
    "name",
    [
        "\ud800",
        "a\x1b[31mred",
        "nul\x00",
        "line\nbreak",
        "\r",
        "\x7f",
        "\x9b31m",
        "\u2028",
        "\u202egnp",
        "x" * 1001,
    ],
)
@pytest.mark.parametrize("key", ["session_id", "request_id"])
def test_a_name_that_would_act_is_refused_with_its_line(tmp_path: Path, name: str, key: str) -> None:
    message = refusal(tmp_path, ROW, ROW | {key: name})
    assert message.startswith(f"line 2: {key} = ")
    assert message.isprintable()


def test_names_and_keys_of_a_file_are_shown_escaped(tmp_path: Path) -> None:
    rows = (ROW | {"\x1b[2J": 1, "k" * 500: 2, "model": name} for name in ("a", "\x1b[0m", "m" * 500))
    for note in load(tmp_path, *rows).notes:
        assert note.isprintable()
        assert len(note) < 300


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.images = 0
        self.scripts: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.images += tag == "img"
        self._inside = tag == "script"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.scripts.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._inside = False


@pytest.mark.slow
def test_markup_in_ids_acts_nowhere(tmp_path: Path) -> None:
    rows = [
        {"session_id": name, "timestamp": 1000 * turn, "input_length": 1600 + 800 * turn, "output_length": 3}
        | {"hash_ids": [100 * i + k for k in range(2 + turn)]}
        for turn in range(2)
        for i, name in enumerate(ACTING)
    ]
    path, out = written(tmp_path, *rows), tmp_path / "out"
    settings = ["--set", f"workload.path={path}", "--set", "workload.chunk_tokens=800"]
    call = CliRunner().invoke
    page = call(
        app, ["run", "agg8", *settings, "--out", str(out), "--trace-events", str(tmp_path / "e.json")]
    )
    assert page.exit_code == 0, page.output
    assert "\x1b" not in page.output
    events = json.loads((tmp_path / "e.json").read_text())
    assert events
    for name in ACTING:
        told = call(app, ["explain", str(out), "--", f"{name}:1"])
        assert told.exit_code == 0, told.output
        assert name in told.output
    assert call(app, ["report", str(out)]).exit_code == 0
    html = (out / "report.html").read_text(encoding="utf-8")
    found = _Tags()
    found.feed(html)
    assert found.images == 0
    assert not any("alert(" in script and "<script>" not in script for script in found.scripts)
    assert "<script>alert" not in html.replace("\\u003c", "<!")
