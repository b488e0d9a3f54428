"""The JSONL of vLLM 0.28.0's `vllm bench serve --dataset-name timed_trace`.

One request a line: `timestamp`, `input_length`, `output_length`, and `hash_ids`, one for every chunk of the
prompt (the client's `--timed-trace-chunk-hash-size`). Timestamps are seconds after multiplication by
`--timed-trace-sec-multiplier`, 1 unless it is given. The client knows no sessions; a `session` or
`session_id` in the file only tells which rows are turns of one conversation.
"""

from sim.workload.formats.row import RowFormat

FORMAT = RowFormat(
    name="timed_trace",
    keys={
        "timestamp": ("timestamp",),
        "input_length": ("input_length",),
        "output_length": ("output_length",),
        "hash_ids": ("hash_ids",),
        "session": ("session_id", "session"),
    },
    units_per_s=1.0,
    any_unit=True,
)
