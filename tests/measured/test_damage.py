"""Files of a run that are cut, overwritten or in another encoding: named, never left out in silence."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sim.base.errors import InputError
from sim.cli import app
from sim.measured.folder import read_folder
from sim.measured.roles import Role
from sim.measured.run import load_run
from tests.measured.small_run import SMALL, copy

FILES = sorted(path.name for path in SMALL.iterdir() if path.name != "README.md")


def _half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _first_line_cut(content: bytes) -> bytes:
    return content.partition(b"\n")[0][:60]


def _hole(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes(16) + content[middle + 16 :]


def _torn_gzip(content: bytes) -> bytes:
    return gzip.compress(content)[:-20]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "half": _half,
    "first line cut": _first_line_cut,
    "hole": _hole,
    "NUL bytes alone": lambda content: bytes(len(content)),
    "torn gzip": _torn_gzip,
    "empty": lambda _: b"",
}


NOTED = {("kv-events.worker0.jsonl", "empty"), ("router.log", "half")}
"""An engine that served nothing leaves no events; a log may be copied while it is written."""


def damaged(folder: Path, name: str, damage: str) -> Path:
    (copy(folder) / name).write_bytes(DAMAGES[damage]((SMALL / name).read_bytes()))
    return folder


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_named(name: str, damage: str, tmp_path: Path) -> None:
    folder = damaged(tmp_path / "run", name, damage)
    if (name, damage) in NOTED:
        assert any(note.startswith(name) for note in load_run(folder).notes)
        return
    with pytest.raises(InputError) as caught:
        load_run(folder)
    assert str(folder / name) in str(caught.value)
    assert str(caught.value).endswith('to go on without that file give it the role "ignore" in run.toml')


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("bench.json", '{"num_prompts": 3,\n "duration": ', "bench serve by its name, but not valid JSON"),
        ("mine", '{"seq": 1, "batch": [1', "KV events by its keys, but line 1 is not valid JSON"),
        ("kv-events.jsonl", "\0\0\0", "by its name, but line 1 has NUL bytes"),
        ("x.prom", "nothing\n", "Prometheus text by its name, but no line of it is one"),
        ("x.prom", 'up{a="1"} 1\nup{a="2"} 2', "x.prom, line 2: has no line end: the file was cut"),
        ("y.prom", "up 1\nup 2\nu\0 3\n", "y.prom, line 3: NUL bytes"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(name: str, content: str, message: str, tmp_path: Path) -> None:
    folder = copy(tmp_path / "run")
    (folder / name).write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load_run(folder)


def test_other_encodings_are_named(tmp_path: Path) -> None:
    folder = copy(tmp_path / "run")
    path = folder / "metrics-after.worker0.prom"
    text = path.read_text(encoding="utf-8")
    path.write_bytes(text.encode("utf-16"))
    with pytest.raises(InputError, match="it is UTF-16: save it as UTF-8"):
        load_run(folder)
    path.write_bytes(text.replace("engine", "ma\u00dfe", 1).encode("latin-1"))
    with pytest.raises(InputError, match="line 6: not UTF-8"):
        load_run(folder)
    # A mark that says UTF-8 is none of the first name.
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert load_run(folder).workers[0].kv_blocks == 320


def test_a_damaged_file_can_be_left_out(tmp_path: Path) -> None:
    toml = '[files]\n"kv-events.worker0.jsonl" = "ignore"'
    folder = copy(tmp_path / "run", kv_events_worker0_jsonl="\0", **{"run.toml": toml})
    assert load_run(folder).kv_events == {}


@pytest.mark.parametrize(
    ("name", "content"),
    [("notes.txt", ""), ("summary.json", "{"), ("bench.json.md", "\0"), ("run.json", '{"mine": 1}')],
)
def test_files_that_are_none_of_a_runs_are_left_alone(name: str, content: str, tmp_path: Path) -> None:
    folder = copy(tmp_path / "run", **{name: content})
    role = next(file.role for file in read_folder(folder).files if file.path.name == name)
    assert role is Role.IGNORE


@pytest.mark.parametrize(
    "command", [("measured", "inspect"), ("init", "--measured"), ("validate", "cpu-agg2", "--measured")]
)
def test_every_command_ends_with_2(command: tuple[str, ...], tmp_path: Path) -> None:
    folder = copy(tmp_path / "run")
    (folder / "bench.json").write_bytes(_half((SMALL / "bench.json").read_bytes()))
    result = CliRunner().invoke(app, [*command, str(folder)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "bench.json: result of vllm bench serve by its keys, but not valid JSON" in result.stderr


def test_keys_that_stand_twice_are_said(tmp_path: Path) -> None:
    bench = (SMALL / "bench.json").read_text(encoding="utf-8").replace("{", '{"duration": 9, ', 1)
    with pytest.raises(InputError, match=r"bench\.json: .*key 'duration' is given twice; to go on without"):
        load_run(copy(tmp_path / "bench", bench_json=bench))
    usage = (SMALL / "usage.jsonl").read_text(encoding="utf-8").splitlines()
    usage[1] = usage[1].replace("{", '{"id": "x", ', 1)
    with pytest.raises(InputError, match=r"usage\.jsonl, line 2: key 'id' is given twice; to go on without"):
        load_run(copy(tmp_path / "usage", usage_jsonl="\n".join(usage) + "\n"))
