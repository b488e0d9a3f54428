"""Replays recordings of the real Dynamo router, 1.5 or 1.6: `python -m tests.vectors.router DIR`.

Every `*.jsonl` of DIR is replayed; `REPLAYS` says by whom. What was compared is counted by kind; the last
line counts the decisions of all kinds.
Exit status 0 only if everything agrees, 1 if something does not, 2 if there is nothing to replay, and 3 if
all that was replayed agrees, but some recordings, which are named, are of what is not modelled (0 with
--allow-skipped).
"""

import json
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from sim.base.errors import InputError
from tests.vectors.router_ageing import replay_ageing
from tests.vectors.router_decisions import replay_decisions
from tests.vectors.router_draws import replay_draws
from tests.vectors.router_hashes import replay_hashes
from tests.vectors.router_live import replay_live
from tests.vectors.router_live_pair import replay_live_pair
from tests.vectors.router_queue import replay_queue
from tests.vectors.router_service import unknown_settings
from tests.vectors.router_tally import Replay, Rows, Tally
from tests.vectors.skipped import NO_INPUT, Skipped

REPLAYS: dict[str, Replay] = {
    "scenario": replay_decisions,
    "softmax": replay_draws,
    "workers": replay_ageing,
    "block_hash": replay_hashes,
    "queue_scenario": replay_queue,
    "live_scenario": replay_live,
    "disaggregated_scenario": replay_live_pair,
}
"""By the op of a recording's first line."""


def read(path: Path) -> Rows:
    """Return the rows of a recording, each with its file and line."""
    rows = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        try:
            rows.append((f"{path.name}:{number}", json.loads(line)))
        except json.JSONDecodeError as error:
            raise InputError(f"{path}:{number}: not a JSON object ({error})") from error
    kinds = sorted(REPLAYS)
    if not rows or rows[0][1].get("op") not in kinds:
        raise InputError(f"{path}:1: no recording of the router starts here; op is one of {kinds}")
    return rows


def replay(skipped: Skipped, tally: Tally) -> int:
    """Replay the recordings of a folder and return how many those were.

    Raises:
        InputError: one cannot be read.
    """
    replayed = 0
    for path in skipped.recordings():
        rows = read(path)
        first = rows[0][1]
        kind = str(first["op"])
        if kind == "block_hash" and find_spec("xxhash") is None:
            skipped.add(path, f"the package xxhash is not here, {len(rows)} prompts")
        elif unknown := unknown_settings(first):
            skipped.add(path, f"settings that the core does not have: {', '.join(unknown)}")
        else:
            REPLAYS[kind](rows, tally)
            replayed += 1
    return replayed


def main(arguments: Sequence[str]) -> int:
    """Replay a directory, print what came out, and return the exit status."""
    skipped = Skipped.from_arguments(arguments, "python -m tests.vectors.router")
    if skipped is None:
        return NO_INPUT
    tally = Tally()
    try:
        if not replay(skipped, tally):
            skipped.show()
            raise InputError(f"{skipped.folder}: no recording of the router that can be replayed")
    except InputError as error:
        print(error, file=sys.stderr)
        return NO_INPUT
    for problem in dict.fromkeys(tally.problems):  # a load that is wrong makes a decision wrong too
        print(problem)
    skipped.show()
    for line in tally.lines():
        print(line)
    return skipped.status(agrees=not tally.problems)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
