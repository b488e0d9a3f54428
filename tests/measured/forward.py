"""Made-up results of `vllm bench forward`: times of a known law, with noise."""

import json
import math
import re
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

from sim.hardware.step_time import StepTime


def requests_of(body: str) -> list[dict[str, Any]]:
    """Return the requests of a case as vLLM reads it: `[N*]Q[@K][c]`, separated by commas."""
    found = []
    for item in body.split(","):
        match = re.fullmatch(r"(?:(\d+)\*)?(\d+)(?:@(\d+))?(c)?", item)
        assert match, item
        count, query, length, chunked = match.groups()
        request = {
            "query_len": int(query),
            "kv_len": int(length or query),
            "num_draft_tokens": 0,
            "chunked": bool(chunked),
        }
        found += [request] * int(count or 1)
    return found


def results(law: StepTime, cases: Iterable[str], noise: float = 0.0, ranks: int = 1) -> list[dict[str, Any]]:
    """Return what vLLM 0.33 writes of some cases."""
    draw = Random(0)
    found = []
    for case in cases:
        name, _, body = case.partition("=")
        requests = requests_of(body)
        decodes = [one["kv_len"] - 1 for one in requests if one["query_len"] == 1 < one["kv_len"]]
        prefill = [
            (one["query_len"], one["kv_len"] - one["query_len"])
            for one in requests
            if not one["query_len"] == 1 < one["kv_len"]
        ]
        time_us = 1e6 * law.step_s(prefill, len(decodes), sum(decodes)) * math.exp(draw.gauss(0, noise))
        rank = {
            "num_tokens": sum(one["query_len"] for one in requests),
            "timing_scope": "target_only",
            "finite": True,
            "latency_us": {"timer": "graph_events", "median": time_us, "sample_spread_pct": 0.1},
        }
        found.append({"case": name, "requests": requests, "median_us": time_us, "ranks": [rank] * ranks})
    return found


def write(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content))
    return path
