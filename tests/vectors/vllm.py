"""Replay recorded decisions of vLLM 0.28.0's scheduler: `python -m tests.vectors.vllm DIR`.

From a recording come: its settings, the arrivals, the number of steps that each copy took, and the order in which
the keys of a finished copy were handled. Everything else is predicted and compared.
"""

import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from sim.kv.events import KvEvent
from sim.kv.hybrid import KvCache
from sim.kv.offload import POLICIES, Key
from sim.worker.active import ActiveRequest
from sim.worker.connector import OffloadingConnector, TransferJob
from sim.worker.engine import Engine
from sim.worker.scheduler import Limits, StepPlan

Row = dict[str, Any]


def expand(runs: list[list[int]]) -> list[int]:
    """[[first, count], ...] to single ids."""
    return [first + offset for first, count in runs for offset in range(count)]


class CopyEngine:
    """Copies that take a fixed number of steps, as in the recordings."""

    def __init__(self, store_delay: int, load_delay: int) -> None:
        self._delay = {False: store_delay, True: load_delay}
        self._due: dict[int, int] = {}
        self._unsubmitted: list[TransferJob] = []

    def worker_phase(self, number: int, plan: StepPlan) -> list[int]:
        """Submit, force and report copies in the worker phase of step `number`."""
        for job in self._unsubmitted:
            self._due[job.job_id] = number + self._delay[False]
        for job in plan.loads:
            self._due[job.job_id] = number + self._delay[True]
        planned = {job.job_id for job in plan.stores}
        for job_id in plan.flushes:
            if job_id in self._due or job_id in planned:
                self._due[job_id] = number
        self._unsubmitted = [job for job in plan.stores if job.job_id not in plan.flushes]
        done = [job_id for job_id, due in self._due.items() if due <= number]
        for job_id in done:
            del self._due[job_id]
        return done

    @property
    def busy(self) -> bool:
        return bool(self._due or self._unsubmitted)


class Replay:
    """One recorded file against one engine."""

    def __init__(self, rows: list[Row]) -> None:
        self.config = next(row for row in rows if row["k"] == "cfg")
        self.steps = [row for row in rows if row["k"] == "step"]
        self.requests = sorted((row for row in rows if row["k"] == "req"), key=lambda row: row["seq"])
        self.engine = self._engine()
        self.copies = CopyEngine(self.config.get("store_delay", 1), self.config.get("load_delay", 2))
        self.names = [row["id"] for row in self.requests]
        self.active: dict[str, ActiveRequest] = {}
        self.done_at: dict[int, list[int]] = {}
        self.order: dict[int, list[Key]] = {
            job: [(block, group) for group, block in keys]
            for row in self.steps
            for job, keys in row.get("ord", [])
        }

    def _engine(self) -> Engine:
        config = self.config
        recurrent = sum(group == "MambaSpec" for group in config["groups"])
        cache = KvCache(config["num_blocks"], config["block_size"], recurrent)
        offload = None
        if config.get("cpu_blocks"):
            tier = POLICIES[config.get("policy", "lru")](config["cpu_blocks"])
            offload = OffloadingConnector(cache, tier, prompt_only=config.get("offload_prompt_only", True))
        limits = Limits(
            max_batched_tokens=config["max_num_batched_tokens"],
            max_seqs=config["max_num_seqs"],
            max_model_len=config["max_model_len"],
            long_prefill_threshold_tokens=config.get("long_prefill_token_threshold", 0),
            watermark=config.get("watermark", 0.0),
            async_scheduling=config["async"],
        )
        return Engine(cache, limits, offload)

    def predict(self) -> Iterator[Row]:
        """Yield predicted step rows in the schema of the recording."""
        engine = self.engine
        number, arrivals = 0, 0
        while arrivals < len(self.requests) or engine.has_work or engine.steps:
            while arrivals < len(self.requests) and self.requests[arrivals]["arrive"] <= number:
                self._arrive(arrivals)
                arrivals += 1
            if engine.has_work:
                number += 1
                row = self._schedule(number)
                full = len(engine.steps) == 2 or not self.config["async"]
                if not full and (row["sched"] or engine.has_work):
                    row |= {"upd": None, "free2": engine.cache.pool.free_blocks}
                else:
                    row |= self._complete()
                yield row
            elif engine.steps:
                yield {"i": number, "sched": None} | self._complete()
            else:
                number = self.requests[arrivals]["arrive"]

    def _arrive(self, index: int) -> None:
        row = self.requests[index]
        request = ActiveRequest(index, row["prompt"], row["out"], expand(row["blocks"]))
        self.active[row["id"]] = request
        self.engine.add(request)

    def _schedule(self, number: int) -> Row:
        engine = self.engine
        plan = engine.schedule()
        plan.number = number
        self.done_at[number] = self.copies.worker_phase(number, plan)
        groups = len(engine.cache.groups)
        row: Row = {
            "i": number,
            "sched": [[self.names[request.request_id], tokens] for request, tokens in plan.tokens],
            "free": engine.cache.pool.free_blocks,
            "run": len(engine.scheduler.running),
            "wait": len(engine.scheduler.waiting) + len(engine.scheduler.skipped),
        }
        for key, jobs in (("load", plan.loads), ("store", plan.stores)):
            if jobs:
                row[key] = [
                    [job.job_id, self.names[job.request_id], len(job.blocks), job.blocks_by_group(groups)]
                    for job in jobs
                ]
        if plan.flushes:
            row["flush"] = plan.flushes
        if plan.preempted:
            row["pre"] = sorted(self.names[request.request_id] for request in plan.preempted)
        return row

    def _complete(self) -> Row:
        engine = self.engine
        number = engine.steps[0].number
        done = self.done_at.pop(number)
        output = engine.complete([(job, self.order.get(job)) for job in done])
        row: Row = {"upd": number, "free2": engine.cache.pool.free_blocks}
        if done:
            row["done"] = sorted(done)
        if output.finished:
            row["fin"] = [self.names[request.request_id] for request in output.finished]
        events = recorded_events(output.events)
        if events:
            row["ev"] = events
        if engine.offload is not None and engine.offload.tier.used_blocks:
            row["cpu"] = engine.offload.tier.used_blocks
        return row

    def predicted_request(self, row: Row) -> Row:
        """What the recording says of a finished request, predicted."""
        request = self.active[row["id"]]
        local, external = request.local_tokens, request.external_tokens
        return {
            "local": local,
            "ext": external,
            "computed": request.prompt_tokens - local - external,
            "preempt": request.preemptions,
        }


def recorded_events(events: list[KvEvent]) -> list[list[Any]]:
    """Events as the recordings write them: CPU stores left out, neighbouring removals of a group joined."""
    rows: list[list[Any]] = []
    for event in events:
        if event.stored:
            if event.tier == "GPU":
                rows.append(["S", event.group, event.parent, event.blocks, event.tier])
        elif rows and rows[-1][0] == "R" and rows[-1][1] == event.group and rows[-1][-1] == event.tier:
            rows[-1][2] = rows[-1][2] + event.blocks
        else:
            rows.append(["R", event.group, event.blocks, event.tier])
    return rows


def normalised(row: Row) -> Row:
    """A recorded step in the form of a predicted one."""
    row = {key: value for key, value in row.items() if key not in ("k", "ord", "cpu")} | (
        {"cpu": row["cpu"]} if row.get("cpu") else {}
    )
    if "ev" in row:
        row["ev"] = [[*event[:-2], expand(event[-2]), event[-1]] for event in row["ev"]]
    for key in ("flush", "done", "pre"):
        if key in row:
            row[key] = sorted(row[key])
    return row


def check_file(path: Path, complain: int = 3) -> tuple[int, int, list[str]]:
    """(agreeing, compared, first differences) of one file; steps and requests count one each."""
    rows = [json.loads(line) for line in path.open(encoding="utf-8")]
    replay = Replay(rows)
    agree, problems = 0, []
    predicted = []
    try:
        for r_ in replay.predict():
            predicted.append(r_)
    except Exception as e_:
        problems.append(f"CRASH {e_!r}")
    for expected, got in zip(map(normalised, replay.steps), predicted, strict=False):
        wrong = [key for key in sorted(expected.keys() | got.keys()) if expected.get(key) != got.get(key)]
        agree += not wrong
        if wrong and len(problems) < complain:
            detail = "; ".join(
                f"{key}: recorded {expected.get(key)}, predicted {got.get(key)}" for key in wrong
            )
            problems.append(f"{path.name} step {expected['i']}: {detail}")
    if len(predicted) != len(replay.steps):
        problems.append(f"{path.name}: {len(replay.steps)} steps recorded, {len(predicted)} predicted")
    for row in replay.requests:
        got = replay.predicted_request(row)
        wrong = [key for key in got if row[key] != got[key]]
        agree += not wrong
        if wrong and len(problems) < 2 * complain:
            detail = "; ".join(f"{key}: recorded {row[key]}, predicted {got[key]}" for key in wrong)
            problems.append(f"{path.name} request {row['id']}: {detail}")
    compared = max(len(predicted), len(replay.steps)) + len(replay.requests)
    return agree, compared, problems


def main(arguments: list[str]) -> int:
    """Check every `full_*` and `hyb*` file of a folder; 0 only if all agree."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print("usage: python -m tests.vectors.vllm DIR (a folder of recorded *.jsonl files)", file=sys.stderr)
        return 2
    paths = sorted(
        path for path in Path(arguments[0]).glob("*.jsonl") if path.name.startswith(("full_", "hyb"))
    )
    if not paths:
        print(f"{arguments[0]}: no full_*.jsonl or hyb*.jsonl file", file=sys.stderr)
        return 2
    agree = compared = 0
    for path in paths:
        good, total, problems = check_file(path)
        agree, compared = agree + good, compared + total
        print(f"{path.name}: {good} of {total} steps and requests agree")
        for problem in problems:
            print(f"  {problem[:1000]}")
    print(f"{agree} of {compared} decisions agree")
    return 0 if agree == compared else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
