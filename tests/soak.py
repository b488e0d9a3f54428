"""A soak: many requests over many workers under all checks, memory watched: `python -m tests.soak`.

Sessions share a system prompt and grow by turns, on a cluster with little room: blocks are evicted, requests
wait, a CPU tier fills. A run keeps a row of each request, the gaps between tokens and each distinct prompt by
design: rows and gaps are told apart here, and after some generations the prompts come again, long evicted.
Whatever else memory grows by is a leak.
"""

import argparse
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from sim.cluster.build import Cluster
from sim.cluster.checks.watch import Watch
from sim.cluster.recorder import Recorder
from sim.scenario.scenario import Scenario
from sim.workload.request import Request, Trace
from tests.cluster.faults.random_faults import faults_of_a_long_run

CHUNK_TOKENS = 64
SHARED_CHUNKS = 16
LIVE_SESSIONS = 4
"""Of each worker, at a time."""
TURNS = 10
GENERATIONS = 4
"""Of sessions whose prompts differ; then they come again."""

Faults = Callable[[Random, int, float], Sequence[dict[str, Any]]]
"""Makes entries of `[[faults]]`: random numbers, workers, seconds of traffic."""


class Reading(NamedTuple):
    """Where a run stands."""

    ended: int
    simulated_s: float
    wall_s: float
    memory_bytes: int
    """Resident set of the process."""
    kept_bytes: int
    """Of it, results of requests that ended: rows, and gaps between tokens."""
    live: int
    """Requests in flight."""


class Sessions(Sequence[Request]):
    """Requests of a soak, made when they are looked at: a trace of 200,000 takes no memory."""

    def __init__(self, count: int, workers: int, seed: int, turn_s: float = 1.0) -> None:
        self._count = count
        self._at_a_time = LIVE_SESSIONS * workers
        self._seed = seed
        self.turn_s = turn_s
        """From one turn of a session to the next, in seconds."""

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Request]:
        return map(self.request, range(self._count))

    def __getitem__(self, index: Any) -> Any:
        return (
            [*map(self.request, range(self._count)[index])]
            if isinstance(index, slice)
            else self.request(index)
        )

    def request(self, index: int) -> Request:
        """Turns go around the sessions that are alive; after `TURNS` of them others take their places."""
        round_, place = divmod(index, self._at_a_time)
        generation, turn = divmod(round_, TURNS)
        session = generation % GENERATIONS * self._at_a_time + place
        chunks = [*range(SHARED_CHUNKS)]
        for number in range(turn + 1):
            grown = Random(f"{self._seed} {session} {number}").randint(1, 12)
            first = SHARED_CHUNKS + session * 1000 + number * 20
            chunks += range(first, first + grown)
        random = Random(f"{self._seed} {session} {turn}")
        at_s = self.turn_s * (round_ + place / self._at_a_time)
        tokens = len(chunks) * CHUNK_TOKENS - random.randrange(CHUNK_TOKENS)
        return Request(index, f"s{session}", turn, at_s, None, tokens, random.randint(1, 60), tuple(chunks))


def scenario(workers: int, seed: int, faults: Sequence[dict[str, Any]] = ()) -> Scenario:
    """Return a cluster of an 8B model with room for a part of its sessions."""
    settings: dict[str, Any] = {
        "title": f"Soak over {workers} workers",
        "seed": seed,
        "model": "llama-3.1-8b-bf16",
        "gpu": "h100-80gb",
        "workload": {"profile": "kct", "sessions": 1},  # the trace is another
        "replay": {"client": "max-concurrency", "max_concurrency": LIVE_SESSIONS * workers},
        "workers": {"count": workers},
        "engine": {"block_size": 64, "kv_blocks": 300, "max_num_batched_tokens": 2048},
        "offload": {"cpu_bytes": "2GiB"},
        "output": {"tables": []},
    }
    if faults:
        settings["faults"] = [*faults]
        settings["frontend"] = {"migration_limit": 3}
    return Scenario.model_validate(settings)


def soak(
    requests: int,
    workers: int,
    seed: int,
    *,
    faults: Faults | None = None,
    turn_s: float = 1.0,
    readings: int = 10,
    told: Callable[[Reading], None] = lambda reading: None,
) -> tuple[Cluster, list[Reading]]:
    """Run under all checks; return the cluster, and where it stood at equal numbers of ended requests.

    Raises:
        InvariantError: a rule was broken.

    """
    sessions = Sessions(requests, workers, seed, turn_s)
    traffic_s = sessions.turn_s * requests / (LIVE_SESSIONS * workers)
    chosen = scenario(workers, seed, faults(Random(seed), workers, traffic_s) if faults else ())
    trace = Trace(sessions, CHUNK_TOKENS, "soak")
    cluster = Cluster(chosen, trace, chosen.capacity(), chosen.coefficients(), watch=Watch)
    found: list[Reading] = []
    started_s = time.monotonic()

    def on_progress(now_s: float, ended: int, total: int) -> None:
        if ended * readings // total > (ended - 1) * readings // total:
            recorder = cluster.recorder
            live, wall_s = len(recorder.records), time.monotonic() - started_s
            found.append(Reading(ended, now_s, wall_s, resident_bytes(), kept_bytes(recorder), live))
            told(found[-1])

    cluster.run(on_progress)
    return cluster, found


def resident_bytes() -> int:
    """Return the memory of this process now; where the system does not say, the most that it had."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * resource.getpagesize()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def kept_bytes(recorder: Recorder) -> int:
    """Return what the tables and the sample of gaps take; equal texts of a column count once."""
    total = recorder.itl_s.nbytes
    for table in recorder.rows.tables.values():
        for column in table.columns:
            values, measured = table.values(column.name)
            total += values.nbytes + measured.nbytes
            if column.kind == "text":
                total += sum(map(sys.getsizeof, {id(text): text for text in values.tolist()}.values()))
    return total


def bytes_a_request(readings: Sequence[Reading]) -> float:
    """Return by how much memory besides results grew a request in the second half."""
    middle, last = readings[len(readings) // 2 - 1], readings[-1]
    grown = (last.memory_bytes - last.kept_bytes) - (middle.memory_bytes - middle.kept_bytes)
    return grown / (last.ended - middle.ended)


def main() -> None:
    """Run one and print where it stands."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__.split("\n")[0])
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--workers", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-faults", action="store_true", help="nothing breaks")
    options = parser.parse_args()

    def told(reading: Reading) -> None:
        print(
            f"{reading.ended:>9,} ended  {reading.live:>4} in flight {reading.simulated_s:>7,.0f} s "
            f"{reading.wall_s:>7,.1f} s  {reading.memory_bytes / 2**20:>7,.1f} MiB, "
            f"of which results {reading.kept_bytes / 2**20:>6,.1f}",
            flush=True,
        )

    faults = None if options.no_faults else faults_of_a_long_run
    cluster, readings = soak(options.requests, options.workers, options.seed, faults=faults, told=told)
    requests = cluster.recorder.rows.tables["requests"]
    kinds = Counter(toll.fault.kind for toll in cluster.scene.tolls if toll.began)
    retries = sum(again or 0 for again in requests.column("retries"))
    print(f"no rule was broken; {_counted(Counter(requests.column('status')))}; {retries:,} retries")
    print(f"{kinds.total():,} faults: {_counted(kinds)}" if kinds else "no faults")
    print(f"besides results, {bytes_a_request(readings):,.0f} bytes a request in the second half")


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in counts.most_common())


if __name__ == "__main__":
    main()
