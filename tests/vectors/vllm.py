"""Replay recorded decisions of vLLM 0.28.0's scheduler: `python -m tests.vectors.vllm DIR`.

Every `full_*.jsonl`, `hyb*.jsonl`, `win_*.jsonl` and `spec_*.jsonl` of DIR (one engine), `pd_*.jsonl`,
`pdmc_*.jsonl`, `pdwin_*.jsonl` and `pdspec_*.jsonl` (a prefill and a decode engine) is predicted as a
whole and compared: each step and each request counts as one decision. The last line is `N of M decisions
agree`; the exit status is 0 only if all do, 1 if not, 2 if there is nothing to replay, and 3 if all that
was replayed agrees, but some recordings, which are named, have another name or settings that the core does
not have (0 with --allow-skipped).
"""

import json
import os
import sys
from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path

from tests.vectors.skipped import NO_INPUT, Skipped
from tests.vectors.vllm_engine import Row
from tests.vectors.vllm_pd import DECODE, PairReplay
from tests.vectors.vllm_replay import Replay, expand, unknown_settings

EMPTY: Row = {
    "load": [],
    "sync": [],
    "store": [],
    "flush": [],
    "pre": [],
    "done": [],
    "ord": {},
    "fin": [],
    "ev": [],
    "cpu": 0,
    "spec": [],
    "pad": [],
    "sd": [0, 0, 0],
}
"""What a recorded step means that leaves these keys out."""
PAIR_EMPTY: Row = EMPTY | {"ask": [], "pull": [], "recvd": [], "sent": []}
INPUTS = frozenset(("k", "id", "seq", "arrive", "atick", "e", "prompt", "out", "blocks", "acc"))
"""Keys of a recorded request that are taken from the recording."""
PAIRS = ("pd_", "pdmc_", "pdwin_", "pdspec_")
ENGINES = ("full_", "hyb", "win_", "spec_")
MISSING = "nothing"
SHOWN = 3
"""Differences printed of each kind and file."""


class Report:
    """Decisions of one file: how many agree, and the first ones that do not."""

    def __init__(self) -> None:
        self.agree = 0
        self.compared = 0
        self.problems: list[str] = []

    def compare(self, what: str, recorded: Row | None, predicted: Row | None) -> None:
        """Count one decision; all keys of both must be there and equal."""
        self.compared += 1
        if recorded is None or predicted is None:
            self._complain(f"{what}: {'not recorded' if recorded is None else 'not predicted'}")
            return
        keys = sorted(recorded.keys() | predicted.keys())
        wrong = [key for key in keys if recorded.get(key, MISSING) != predicted.get(key, MISSING)]
        self.agree += not wrong
        if wrong:
            self._complain(
                f"{what}: "
                + "; ".join(
                    f"{key}: recorded {recorded.get(key, MISSING)}, predicted {predicted.get(key, MISSING)}"
                    for key in wrong
                )
            )

    def fail(self, what: str) -> None:
        """Count one decision that cannot agree."""
        self.compared += 1
        self._complain(what)

    def _complain(self, what: str) -> None:
        kind = what.split(maxsplit=1)[0]
        if sum(problem.startswith(kind) for problem in self.problems) < SHOWN:
            self.problems.append(what)


def check_file(path: Path) -> Report:
    """Compare one file; whatever goes wrong with it is a disagreement."""
    report = Report()
    try:
        rows = _read(path)
        configs = [row for row in rows if row["k"] == "cfg"]
        pair = path.name.startswith(PAIRS)
        empty = PAIR_EMPTY if pair else EMPTY
        steps = [_normalised(row, empty) for row in rows if row["k"] == "step"]
        requests = sorted((row for row in rows if row["k"] == "req"), key=lambda row: int(row["seq"]))
        if not configs or not steps or not requests:
            raise ValueError("a recording needs settings, steps and requests")
        orders = _handled_orders(rows)
        replay: Replay | PairReplay
        if pair:
            sent = [name for row in steps for name in row["sent"]]
            replay = PairReplay(configs[0], requests, orders, sent)
            steps.sort(key=lambda row: (row["tick"], row["e"] == DECODE))
        else:
            replay = Replay(configs[0], requests, orders)
    except Exception as error:
        report.fail(f"unreadable: {error!r}")
        return report
    _check_steps(report, replay.steps(), steps, empty)
    for row in requests:
        recorded = {key: value for key, value in row.items() if key not in INPUTS}
        report.compare(f"request {row['id']}", recorded, replay.request(row["id"]))
    return report


def _check_steps(report: Report, replayed: Iterator[Row], steps: list[Row], empty: Row) -> None:
    predicted: list[Row] = []
    try:
        # One step beyond the recording is a disagreement, and enough to see that it goes on.
        for row in islice(replayed, len(steps) + 1):
            predicted.append(empty | row)
    except Exception as error:
        report.fail(f"exception after {len(predicted)} of {len(steps)} steps: {error!r}")
    for number, (recorded, got) in enumerate(zip_longest(steps, predicted), 1):
        row = recorded or got or {}
        report.compare(f"step {row.get('i', number)}{row.get('e', '')}", recorded, got)


def _read(path: Path) -> list[Row]:
    rows: list[Row] = []
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise ValueError(f"line {number} is not JSON: {error}") from error
            if not isinstance(row, dict) or row.get("k") not in ("cfg", "step", "req"):
                raise ValueError(f"line {number}: no object whose k is cfg, step or req")
            rows.append(row)
    return rows


def _handled_orders(rows: list[Row]) -> dict[int, list[tuple[int, int]]]:
    return {
        job: [(block, group) for group, block in keys]
        for row in rows
        if row["k"] == "step"
        for job, keys in row.get("ord", [])
    }


def _normalised(row: Row, empty: Row) -> Row:
    """A recorded step in the form of a predicted one."""
    step = empty | {key: value for key, value in row.items() if key != "k"}
    step["ev"] = [[*event[:-2], expand(event[-2]), event[-1]] for event in step["ev"]]
    step["ord"] = {job: sorted((block, group) for group, block in keys) for job, keys in row.get("ord", [])}
    for key in ("flush", "done", "pre", "recvd", "pad"):
        if key in step:
            step[key] = sorted(step[key])
    return step


def main(arguments: list[str]) -> int:
    """Check the recordings of a folder."""
    skipped = Skipped.from_arguments(arguments, "python -m tests.vectors.vllm")
    if skipped is None:
        return NO_INPUT
    paths = []
    for path in skipped.recordings():
        why = _cannot_be_replayed(path)
        if why is None:
            paths.append(path)
        else:
            skipped.add(path, why)
    if not paths:
        skipped.show()
        print(f"{skipped.folder}: no recording of an engine that can be replayed", file=sys.stderr)
        return NO_INPUT
    agree = compared = 0
    for path in paths:
        report = check_file(path)
        agree, compared = agree + report.agree, compared + report.compared
        print(f"{path.name}: {report.agree} of {report.compared} steps and requests agree")
        for problem in report.problems:
            print(f"  {path.name} {problem[:1000]}")
    skipped.show()
    print(f"{agree} of {compared} decisions agree")
    return skipped.status(agrees=agree == compared)


def _cannot_be_replayed(path: Path) -> str | None:
    """Say why a recording is of something that the core does not have; None: it is not, or is unreadable."""
    if not path.name.startswith((*ENGINES, *PAIRS)):
        return f"recordings of what is modelled are named {'*, '.join((*ENGINES, *PAIRS))}*"
    try:
        with path.open(encoding="utf-8") as lines:
            config = json.loads(next(lines, ""))
    except ValueError:
        return None
    if not isinstance(config, dict):
        return None
    unknown = unknown_settings(config, pair=path.name.startswith(PAIRS)) if config.get("k") == "cfg" else []
    return f"settings that the core does not have: {', '.join(unknown)}" if unknown else None


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        # As the recordings were made: when several requests end at once, vLLM walks a set of their names.
        os.execve(sys.executable, sys.orig_argv, {**os.environ, "PYTHONHASHSEED": "0"})
    sys.exit(main(sys.argv[1:]))
