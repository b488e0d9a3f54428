"""What a file of a recorded run is, told from what is in it."""

import re
from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path

from sim.base.errors import InputError
from sim.base.reading import json_object, lines
from sim.measured.formats.engine_log import is_engine_line
from sim.measured.formats.log_lines import is_log_line

_HEAD_LINES = 40
_SAMPLE = re.compile(rb"[a-zA-Z_:][\w:]*(?:\{.*\})?\s+[-+\d.eENaInf]+(?:\s+\d+)?\s*$")


class Role(StrEnum):
    """What a file of a run is."""

    BENCH = "bench"
    TRACE = "trace"
    METRICS = "metrics"
    METRICS_SERIES = "metrics-series"
    ROUTER_LOG = "router-log"
    ENGINE_LOG = "engine-log"
    REQUEST_TRACE = "request-trace"
    KV_EVENTS = "kv-events"
    USAGE = "usage"
    COMMANDS = "commands"
    IGNORE = "ignore"


ABOUT = {
    Role.BENCH: "result of vllm bench serve",
    Role.TRACE: "trace that was replayed",
    Role.METRICS: "Prometheus text",
    Role.METRICS_SERIES: "Prometheus text, a series",
    Role.ROUTER_LOG: "log of frontend and router",
    Role.ENGINE_LOG: "log of an engine",
    Role.REQUEST_TRACE: "Dynamo's request trace",
    Role.KV_EVENTS: "vLLM's KV events",
    Role.USAGE: "usage, as the engine answered",
    Role.COMMANDS: "command lines",
    Role.IGNORE: "not read",
}

KEYS = (
    (Role.KV_EVENTS, {"seq", "batch"}),
    (Role.METRICS_SERIES, {"t", "target", "text"}),
    (Role.REQUEST_TRACE, {"event", "timestamp"}),
    (Role.USAGE, {"id", "usage"}),
    (Role.TRACE, {"input_length", "hash_ids"}),
    (Role.BENCH, {"num_prompts", "duration", "completed", "total_input_tokens"}),
    (Role.COMMANDS, {"worker_cmds"}),
)
"""Keys by which the JSON of a role is known."""


def sniff(path: Path) -> Role:
    """Return what a file is by its content; IGNORE where that is not known.

    Raises:
        InputError: the file cannot be read.

    """
    head = [line for line in _head(path) if not line.isspace()]
    for line in head:
        if (role := _json_role(line)) is not Role.IGNORE:
            return role
    samples = [line for line in head if not line.startswith(b"#")]
    # A damaged line does not make it another file: its reader says what is wrong.
    if 2 * sum(_SAMPLE.match(line) is not None for line in samples) > len(samples):
        return Role.METRICS
    if any(map(is_engine_line, head)):
        return Role.ENGINE_LOG
    if any(map(is_log_line, head)):
        return Role.ROUTER_LOG
    if head and head[0].startswith(b"{"):
        # An object over several lines.
        return _json_role(b"".join(line for _, line in lines(path)))
    return Role.IGNORE


def _head(path: Path) -> Iterator[bytes]:
    return (line for _, line in islice(lines(path), _HEAD_LINES))


def _json_role(line: bytes) -> Role:
    try:
        keys = json_object(line).keys()
    except InputError:
        return Role.IGNORE
    return next((role for role, known in KEYS if keys >= known), Role.IGNORE)
