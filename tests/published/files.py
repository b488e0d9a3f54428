"""Target files made for tests, and numbers for them."""

from pathlib import Path

from sim.published.targets import Target, TargetFile, read_targets

HEAD = (
    "id,kind,metric,unit,configurations,combine,replay,sessions_min,sessions_max,except,holds,relation,"
    "low,high,tolerance,may_be_fitted,slide,note"
)
DYNAMIC = {
    "id": "row",
    "kind": "dynamic",
    "metric": "ttft_s.p50",
    "unit": "s",
    "configurations": "agg4",
    "combine": "each",
    "replay": "max-concurrency",
    "sessions_min": "4",
    "sessions_max": "4",
    "holds": "every",
    "relation": "in",
    "low": "1",
    "high": "2",
    "may_be_fitted": "no",
    "slide": "1",
}
STEP = 4
"""Of the session counts of these rows."""


def target(**columns: str) -> Target:
    """A dynamic row: TTFT p50 of agg4 with 4 sessions in 1 to 2 s, where the columns say nothing else."""
    return Target.model_validate({"session_step": STEP, **DYNAMIC, **columns})


def line(**columns: str) -> str:
    """The row of `target` as a line of a file."""
    row = {**DYNAMIC, **columns}
    return ",".join(row.get(name, "") for name in HEAD.split(","))


def write_targets(folder: Path, *lines: str) -> Path:
    """Write a file of rows."""
    path = folder / "targets.csv"
    path.write_text("\n".join([HEAD, *lines]) + "\n", encoding="utf-8")
    return path


def targets(folder: Path, *lines: str) -> TargetFile:
    """Write and read a file of rows."""
    return read_targets(write_targets(folder, *lines), session_step=STEP)
