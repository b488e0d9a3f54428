"""Mooncake JSONL (FAST'25 release) with Dynamo 1.5.0's multi-turn fields.

One request a line: `timestamp` in milliseconds, `input_length`, `output_length`, and `hash_ids`, one for
every chunk of the whole prompt, rounded up (512 tokens in Mooncake's own files). Dynamo adds `session_id`,
`delay` in milliseconds (think time after the previous turn's answer), `request_id`, and other names for the
same keys, and `priority`, `strict_priority` and `policy_class`; KVCache.AI's simulator a `block_size` a row.
A `tag` is this simulator's own: what requests of a kind are called.
Rows of one session are its turns, in file order, each with its full prompt.
"""

from sim.workload.formats.row import RowFormat

FORMAT = RowFormat(
    name="mooncake",
    keys={
        "timestamp": ("timestamp", "created_time"),
        "input_length": ("input_length", "input_tokens"),
        "output_length": ("output_length", "output_tokens"),
        "hash_ids": ("hash_ids",),
        "session": ("session_id", "session"),
        "delay": ("delay", "delay_ms"),
        "request_id": ("request_id",),
        "priority": ("priority",),
        "strict_priority": ("strict_priority",),
        "policy_class": ("policy_class",),
        "tag": ("tag",),
        "block_size": ("block_size",),
    },
    units_per_s=1000.0,
)
