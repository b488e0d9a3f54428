"""Faults of our own run, in processes: killed, stopped, on a full disk, with nobody who reads."""

import contextlib
import os
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sim.base.building import is_building

ROOT = Path(__file__).resolve().parents[2]
SMALL = ("--set", "workload.sessions=2", "--set", "workload.turns=2")
LONG = ("--set", "workload.sessions=500")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")
slow = pytest.mark.slow


def start(*arguments: str | Path) -> "subprocess.Popen[str]":
    """A call in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "sim.cli", *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def call(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "sim.cli", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


def stopped(
    process: "subprocess.Popen[str]", stop: signal.Signals, ready: Callable[[], bool]
) -> "subprocess.CompletedProcess[str]":
    """Stop a call once something is there, as a terminal does, and wait for all of its processes."""
    wait(lambda: ready() or process.poll() is not None)
    os.killpg(process.pid, stop)
    stdout, stderr = process.communicate(timeout=60)

    def gone() -> bool:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return True
        return False

    wait(gone)
    return subprocess.CompletedProcess([], process.returncode, stdout, stderr)


def wait(ready: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 120
    while not ready():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def journal(folder: Path, lines: int) -> Callable[[], bool]:
    file = folder / "runs.jsonl"
    return lambda: file.exists() and file.read_bytes().count(b"\n") >= lines


def is_whole(folder: Path) -> bool:
    """Whether every table that has its name can be read, and all else is hidden."""
    for path in folder.rglob("*.parquet"):
        if not is_building(path) and not any(is_building(parent) for parent in path.parents):
            pq.read_table(path)
    return True


# Killed


@pytest.mark.slow
def test_what_a_killed_run_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    out = tmp_path / "out"
    killed = start("run", "agg8", *LONG, "--out", out)
    stopped(killed, signal.SIGKILL, lambda: any(tmp_path.iterdir()))
    (left,) = tmp_path.iterdir()
    assert is_building(left)
    again = call("run", "agg8", *SMALL, "--out", out)
    assert again.returncode == 0
    assert again.stderr.splitlines()[0] == f"Removed {left}, which a call that was killed had left"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("sweep", "agg8", *SMALL, "--repeat", "6", "--metric", "ttft_s.p50"),
        ("size", "agg8", "--slo", "ttft_s.p50<3", *SMALL, "--max-gpus", "3", "--repeat", "1"),
        (
            *("tune", "agg8", "--objective", "ttft_s.p95", *SMALL, "--trials", "3", "--repeat", "1"),
            *("--check", "3"),
        ),
    ],
    ids=["sweep", "size", "tune"],
)
def test_a_killed_call_goes_on_to_the_same_end(tmp_path: Path, arguments: Sequence[str]) -> None:
    out, whole = tmp_path / "out", tmp_path / "whole"
    stopped(start(*arguments, "--out", out, "--jobs", "2"), signal.SIGKILL, journal(out, 2))
    assert is_whole(out)
    again, uninterrupted = (call(*arguments, "--out", folder, "--jobs", "2") for folder in (out, whole))
    assert (again.returncode, uninterrupted.returncode) == (0, 0)
    assert again.stdout == uninterrupted.stdout
    for path in whole.iterdir():
        if path.name != "runs.jsonl":  # runs stand there in the order in which they ended
            assert (out / path.name).read_bytes() == path.read_bytes(), path.name
    assert sorted(path.name for path in out.iterdir()) == sorted(path.name for path in whole.iterdir())


@slow
@pytest.mark.parametrize("after_s", [0.0, 0.1, 0.3])
def test_a_compare_that_is_killed_while_it_writes_leaves_all_or_nothing(
    tmp_path: Path, after_s: float
) -> None:
    out = tmp_path / "out"

    def writes() -> bool:
        if not any(tmp_path.glob(".sim-*/*")) and not out.exists():
            return False
        time.sleep(after_s)
        return True

    stopped(start("compare", "agg8", "agg4", *SMALL, "--out", out, "--jobs", "1"), signal.SIGKILL, writes)
    wanted = {"comparison.json", "comparison.parquet", "comparison.png", "comparison.svg", "scenarios"}
    assert not out.exists() or {path.name for path in out.iterdir()} == wanted
    arguments = ("--force",) if out.exists() else ()
    assert call("compare", "agg8", "agg4", *SMALL, "--out", out, "--jobs", "1", *arguments).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@slow
def test_a_killed_report_leaves_the_page_that_was_there(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert call("run", "agg8", *SMALL, "--out", out).returncode == 0
    page = out / "report.html"
    page.write_text("old")
    stopped(start("report", out), signal.SIGKILL, lambda: any(map(is_building, out.iterdir())))
    assert page.read_text() == "old" or page.read_text().endswith("</html>\n")
    assert call("report", out).returncode == 0
    assert page.stat().st_size > 10_000
    assert not any(map(is_building, out.iterdir()))


# Stopped


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "agg8", *LONG),
        ("compare", "agg8", "agg4", *LONG, "--jobs", "1"),
    ],
    ids=["run", "compare"],
)
def test_a_stopped_call_says_that_nothing_is_kept(
    tmp_path: Path, arguments: Sequence[str], stop: signal.Signals
) -> None:
    ended = stopped(start(*arguments, "--out", tmp_path / "out"), stop, lambda: any(tmp_path.iterdir()))
    assert (ended.returncode, ended.stdout) == (130, "")
    call_again = shlex.join(map(str, [*arguments, "--out", tmp_path / "out"]))
    assert ended.stderr == f"Stopped: nothing is kept\nTo begin anew: sim {call_again}\n"
    assert not any(tmp_path.iterdir())


@slow
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "arguments",
    [
        ("size", "agg8", "--slo", "ttft_s.p50<3", "--set", "workload.turns=2"),
        ("tune", "agg8", "--objective", "ttft_s.p95", *SMALL),
        ("validate", "talk"),
    ],
    ids=["size", "tune", "talk"],
)
def test_a_stopped_search_says_what_is_kept(
    tmp_path: Path, arguments: Sequence[str], stop: signal.Signals
) -> None:
    out = tmp_path / "out"
    ended = stopped(start(*arguments, "--out", out, "--jobs", "2"), stop, journal(out, 2))
    kept = (out / "runs.jsonl").read_bytes().count(b"\n")
    some = f"{kept} of 143 runs" if arguments[0] == "tune" else f"{kept} runs"
    assert (ended.returncode, ended.stdout) == (130, "")
    says = f"Stopped: {some} kept in {out}; the same call goes on from there\nTo go on: sim "
    assert ended.stderr.startswith(f"{says}{arguments[0]} {arguments[1]} ")
    assert str(out) in ended.stderr.splitlines()[1]


# Nobody reads, or a full disk


@pytest.mark.parametrize(
    "arguments", [("schema",), ("run", "agg8", *SMALL), ("run", "agg8", *SMALL, "--format", "json")]
)
def test_output_that_nobody_reads_is_status_141_without_a_word(arguments: Sequence[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as pipe:
        ended = subprocess.run(
            [sys.executable, "-m", "sim.cli", *arguments],
            cwd=ROOT,
            stdout=pipe,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (141, b"")


@pytest.mark.slow
def test_a_closed_stdout_changes_nothing(tmp_path: Path) -> None:
    script = 'exec "$0" -m sim.cli run agg8 "$@" >&-'
    ended = subprocess.run(
        ["sh", "-c", script, sys.executable, *SMALL, "--out", str(tmp_path / "out")],
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "out" / "summary.json").is_file()


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="the system has no full device")
@pytest.mark.slow
def test_a_full_device_behind_stdout_costs_no_results(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as device:
        ended = subprocess.run(
            [sys.executable, "-m", "sim.cli", "run", "agg8", *SMALL, "--out", str(tmp_path / "out")],
            cwd=ROOT,
            stdout=device,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert ended.returncode == 2
    assert ended.stderr == (
        f"Error: standard output: No space left on device; the results are kept in {tmp_path / 'out'}\n"
    )


def limited(file_bytes: int, *arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    """A call whose files may not be larger; a quota looks the same."""
    return subprocess.run(
        [sys.executable, "-B", "-m", "sim.cli", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes)),
    )


@pytest.mark.slow
def test_a_journal_without_room_keeps_the_runs_before(tmp_path: Path) -> None:
    sweep = ("sweep", "agg8", *SMALL, "--jobs", "1", "--metric", "gpu_hours", "--out", tmp_path)
    ended = limited(20_000, *sweep, "--repeat", "4")
    assert ended.returncode == 2
    kept = (tmp_path / "runs.jsonl").read_bytes().count(b"\n")
    assert 0 < kept < 4
    assert ended.stderr == (
        f"Error: {tmp_path}/runs.jsonl: File too large; {kept} of 4 runs kept in {tmp_path}; "
        "once there is room the same call goes on from there\n"
    )
    assert call(*sweep, "--repeat", "4").returncode == 0


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system in memory of this size."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if os.getuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)  # what still looks there is let go


@pytest.mark.slow
def test_a_mounted_folder_is_filled_and_never_replaced(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "4m") as disk:
        assert call("run", "agg8", *SMALL, "--out", disk).returncode == 0
        assert (disk / "summary.json").is_file()
        refused = call("run", "agg8", *SMALL, "--out", disk, "--force")
        assert refused.returncode == 2
        assert "cannot be replaced as a whole: something is mounted there" in refused.stderr
        assert (disk / "summary.json").is_file()


@slow
@pytest.mark.parametrize("kilobytes", range(8, 104, 12))
def test_a_disk_that_is_full_at_any_moment_has_no_half_written_file(tmp_path: Path, kilobytes: int) -> None:
    sweep = ("sweep", "agg8", *SMALL, "--repeat", "3", "--jobs", "1", "--metric", "ttft_s.p50")
    with small_disk(tmp_path / "disk", f"{kilobytes}k") as disk:
        ended = call(*sweep, "--out", disk / "out")
        assert "Traceback" not in ended.stderr
        if ended.returncode:
            assert ended.returncode == 2
            assert f"Error: {disk}" in ended.stderr
            assert "No space left on device" in ended.stderr
        assert is_whole(disk)
        for picture in disk.rglob("*.png"):
            assert picture.read_bytes().endswith(b"IEND\xaeB`\x82")
