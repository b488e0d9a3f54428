"""Mooncake's keys where a row holds only what its turn adds: AIPerf's `mooncake_trace` with sessions.

No key tells such a file from one with full prompts, so that a scenario has to name the format; see
`sim.workload.deltas` for what becomes of its rows.
"""

from dataclasses import replace

from sim.workload.formats import mooncake

FORMAT = replace(mooncake.FORMAT, name="mooncake-delta", told_by_keys=False, deltas=True)
