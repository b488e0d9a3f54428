"""Formats that are not read yet: what tells each one, and what can be done with such a file now.

A format is an entry of `FORMATS`: its name, the keys of a record that only it has, and the way out. A loader
takes its entry's place.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sim.base.errors import InputError

ROWS = (
    'rows that are read hold {"session_id", "timestamp" in ms, "input_length" of the full prompt, '
    '"output_length", "hash_ids"}, one object a line'
)
"""What to convert to."""


class ForeignFormat(InputError):  # noqa: N818 - it is the format that is foreign, not the error
    """A trace in a format that is not read: one message is enough, however many rows it has."""


class Foreign(NamedTuple):
    """A format that is not read."""

    name: str
    signs: tuple[tuple[str, ...], ...]
    """Any of these sets of keys; a dotted one is a key of an object inside, or of a list's first object."""
    way_out: str

    def found_in(self, record: Mapping[str, Any]) -> tuple[str, ...] | None:
        """Return the keys that a record has of one of the signs, if it has all of them."""
        return next((sign for sign in self.signs if all(_has(record, key) for key in sign)), None)

    def refusal(self, sign: tuple[str, ...]) -> ForeignFormat:
        """Return what to say of a record with these keys."""
        keys = ", ".join(f'"{key}"' for key in sign)
        noun = "key" if len(sign) == 1 else "keys"
        verb = "belongs" if len(sign) == 1 else "belong"
        return ForeignFormat(
            f"{noun} {keys} {verb} to {self.name} format, which is not read yet: {self.way_out}"
        )


_TEXT = (
    "prompts are text here; hash them with the served model's tokenizer into full-prompt rows "
    f"(PyPI llmtrafficlens turns gateway logs with text into mooncake rows); {ROWS}"
)
_USAGE = (
    "it has counters and times, and no hash ids of prompts; convert it to one row a request, whose ids "
    f"repeat those of the turn before as far as the prompt does; {ROWS}"
)

FORMATS: tuple[Foreign, ...] = (
    Foreign(
        "OpenTelemetry's metrics or logs",
        (("resourceMetrics",), ("resourceLogs",)),
        f"spans are read (resourceSpans, a span a request); {_USAGE}",
    ),
    Foreign(
        "AIPerf's summary (profile_export_aiperf.json)",
        (("input_config", "request_throughput"), ("input_config", "error_summary")),
        "it has no single request; profile_export.jsonl beside it is read, and so is the file that drove the "
        "run (its --input-file)",
    ),
    Foreign(
        "AIPerf's inputs.json",
        (("data.payloads", "data.session_id"), ("data.payloads",)),
        "it holds prompts as text; give the file that drove the run (AIPerf's --input-file) if it has "
        f"hash_ids, else profile_export.jsonl beside it, whose lengths are read, or hash the text; {ROWS}",
    ),
    Foreign("AIPerf's trace with text", (("text_input",), ("messages",), ("payload",)), _TEXT),
    Foreign(
        "Dynamo's applied_compute_agentic",
        (("num_turns",),),
        f"it has lengths of sessions and no hash ids; {ROWS}",
    ),
    Foreign(
        "LiteLLM's spend log",
        (("startTime", "endTime", "total_tokens"), ("startTime", "completionStartTime")),
        _USAGE,
    ),
    Foreign(
        "GuideLLM's benchmarks",
        (("benchmarks",),),
        "it is what was measured, with lengths and times and no hash ids; give the data that drove the run, "
        f"as rows; {ROWS}",
    ),
    Foreign(
        "the result of vllm bench serve",
        (("request_throughput", "completed"),),
        "it is what was measured, not what was sent; give the file that drove the run (its --dataset-path)",
    ),
    Foreign("ShareGPT's conversations", (("conversations",),), _TEXT),
)


def foreign_format(record: Mapping[str, Any]) -> ForeignFormat | None:
    """Return what to say of a record in a format that is not read, None if none is recognised."""
    for foreign in FORMATS:
        sign = foreign.found_in(record)
        if sign is not None:
            return foreign.refusal(sign)
    return None


def _has(record: Any, key: str) -> bool:
    for part in key.split("."):
        if isinstance(record, list) and record:
            record = record[0]
        if not isinstance(record, Mapping) or part not in record:
            return False
        record = record[part]
    return True
