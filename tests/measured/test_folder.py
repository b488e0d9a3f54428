import gzip
from pathlib import Path

import pytest

from sim.base.errors import InputError
from sim.measured.folder import Folder, read_folder
from sim.measured.roles import Role
from tests.measured.small_run import SMALL, copy


def roles(folder: Folder) -> dict[str, str]:
    return {file.path.name: file.role.value for file in folder.files}


KNOWN = {
    "README.md": "ignore",
    "bench.json": "bench",
    "kv-events.worker0.jsonl": "kv-events",
    "metrics-after.worker0.prom": "metrics",
    "metrics-after.worker1.prom": "metrics",
    "metrics-before.worker0.prom": "metrics",
    "metrics-before.worker1.prom": "metrics",
    "router.log": "router-log",
    "trace.jsonl": "trace",
    "usage.jsonl": "usage",
}


def test_files_are_known_by_what_is_in_them() -> None:
    folder = read_folder(SMALL)
    assert roles(folder) == KNOWN
    [events] = folder.of(Role.KV_EVENTS)
    assert (events.target, events.moment) == ("worker0", None)
    assert [(file.target, file.moment) for file in folder.of(Role.METRICS)] == [
        ("worker0", "after"),
        ("worker1", "after"),
        ("worker0", "before"),
        ("worker1", "before"),
    ]


def test_neither_names_nor_compression_matter_to_roles(tmp_path: Path) -> None:
    for number, name in enumerate(KNOWN):
        (tmp_path / f"{number:02}").write_bytes(gzip.compress((SMALL / name).read_bytes()))
    assert list(roles(read_folder(tmp_path)).values()) == list(KNOWN.values())


@pytest.mark.parametrize(
    ("content", "role"),
    [
        ('{"time":"2027-01-15T08:00:00.0Z","level":"INFO","target":"t","message":"m"}\n', "router-log"),
        ("a warning\n\x1b[2m2027-01-15T08:00:00.0Z\x1b[0m \x1b[32m INFO\x1b[0m t: m\n", "router-log"),
        ('{"t":1,"target":"w","text":""}\n', "metrics-series"),
        ('{"timestamp":1,"event":{}}\n', "request-trace"),
        ('{\n "worker_cmds": []\n}\n', "commands"),
        ('up 1\nhttp_seconds{le="+Inf"} NaN\n', "metrics"),
        ("# EOF\nup 1 1800000000000\n", "metrics"),
        ("# Only a heading\n", "ignore"),
        ('{"row": 0}\n', "ignore"),
        ("{\n", "ignore"),
        ("", "ignore"),
        ("up and down\n", "ignore"),
    ],
)
def test_roles(tmp_path: Path, content: str, role: str) -> None:
    folder = copy(tmp_path / "run", file=content)
    assert roles(read_folder(folder))["file"] == role


@pytest.mark.parametrize(
    ("name", "target", "moment"),
    [
        ("metrics-before.prefill1.prom.gz", "prefill1", "before"),
        ("frontend_after.txt", "frontend", "after"),
        ("engine-3.prom", "engine-3", None),
        ("beforehand.prom", None, None),
    ],
)
def test_names_say_whose_metrics_they_are(tmp_path: Path, name: str, target: str, moment: str) -> None:
    folder = copy(tmp_path / "run", **{name: "up 1\n"})
    found = next(file for file in read_folder(folder).files if file.path.name == name)
    assert (found.target, found.moment) == (target, moment)


def test_run_toml_names_what_content_does_not(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.prom").write_text("up 1\n", encoding="utf-8")
    text = """title = "Mine"
    [files]
    "README.md" = "router-log"
    "bench.json" = "ignore"
    "../elsewhere.prom" = {role = "metrics", target = "worker7", moment = "before"}
    """
    folder = read_folder(copy(tmp_path / "run", **{"run.toml": text}))
    assert folder.settings.title == "Mine"
    assert roles(folder)["README.md"] == "router-log"
    assert folder.of(Role.BENCH) == []
    other = next(file for file in folder.files if file.path.name == "elsewhere.prom")
    assert (other.target, other.moment) == ("worker7", "before")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[files]\n"bench.json" = "bnch"', "files.bench.json.role = 'bnch': must be 'bench'"),
        ('[files]\n"bench.json" = {role = "bench", momnt = "after"}', "momnt: unknown key"),
        ('[files]\n"absent" = "bench"', "files: no such file: .*absent"),
        ('tittle = ""', "tittle: unknown key"),
        ("[trace]\nchunk_tokens = 0", "trace.chunk_tokens = 0: must be greater than 0"),
        ("files", "not a TOML file"),
    ],
)
def test_a_wrong_run_toml_is_named(tmp_path: Path, text: str, message: str) -> None:
    folder = copy(tmp_path / "run", **{"run.toml": text})
    with pytest.raises(InputError, match=message) as caught:
        read_folder(folder)
    assert "run.toml" in str(caught.value)


def test_a_role_of_which_there_is_one_is_not_there_twice(tmp_path: Path) -> None:
    folder = copy(tmp_path / "run", **{"other.json": (SMALL / "bench.json").read_text(encoding="utf-8")})
    with pytest.raises(InputError, match=r"2 files of role bench \(bench\.json, other\.json\)"):
        read_folder(folder).only(Role.BENCH)


def test_a_folder_without_a_known_file_is_refused(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path, "holds no file that is known as one of bench, trace"),
        (tmp_path / "none", "no such folder"),
        (SMALL / "bench.json", "is a file; give its folder"),
    ):
        with pytest.raises(InputError, match=message):
            read_folder(path)
