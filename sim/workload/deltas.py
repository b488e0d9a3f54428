"""Rows that hold what a turn adds, as full prompts: AIPerf's `mooncake_trace`, Dynamo's `mooncake-delta`.

The prompt of a turn is the prompt before, the answer to it, and what the row adds. Answers are made while the
trace runs, so that sessions share no more than their first prompts, and what one turn of a session sent,
later ones repeat.
"""

from array import array
from pathlib import Path

import numpy as np

from sim.base.errors import InputError
from sim.base.words import exactly
from sim.workload.findings import Findings
from sim.workload.finer import FinerIds
from sim.workload.hash_ids import HashIds
from sim.workload.rows import NO_ROW, Rows, whole_numbers

GRAIN_TOKENS = 64
"""Prompts do not end where chunks do: finer ids lose less of what a turn repeats."""


def settle_deltas(
    rows: Rows,
    path: Path,
    chunk_tokens: int,
    findings: Findings,
    *,
    deltas: bool,
    full_prompts: bool,
    may_choose: bool,
) -> tuple[int, bool]:
    """Let every row hold its full prompt; return what an id stands for then, and whether rows were deltas.

    Args:
        rows: as the file has them.
        path: for messages.
        chunk_tokens: of the file.
        findings: what is to be said.
        deltas: whether the format says that rows hold what their turns add.
        full_prompts: whether the user says that they do not.
        may_choose: whether rows that are plainly deltas are taken as such.

    Raises:
        InputError: it is not clear which of both they hold.

    """
    signs = None if deltas else signs_of_deltas(rows)
    if signs is not None and not full_prompts and may_choose and are_deltas(rows):
        findings.notes.append(
            f"{signs}, none has an id of it, and prompts get shorter: read as mooncake-delta"
        )
        deltas = True
    if deltas:
        grain = to_full_prompts(rows, chunk_tokens)
        findings.notes.append(
            "each row holds what its turn adds: prompts are the prompt and the answer before and that, "
            f"known by {exactly(grain, 'token')}"
        )
        return grain, True
    if signs is not None and not full_prompts:
        raise InputError(
            f"{path}: {signs}, as in a delta trace (AIPerf's mooncake_trace), whose rows hold only what "
            'a turn adds: set format = "mooncake-delta". If every row holds its full prompt, set '
            "full_prompts = true"
        )
    if signs is not None:
        findings.notes.append(f"{signs}; taken as full prompts, as the scenario says")
    return chunk_tokens, False


def signs_of_deltas(rows: Rows) -> str | None:
    """Return what speaks for rows that hold only what each turn adds, None where nothing does.

    Delta formats (AIPerf's, Dynamo's mooncake-delta) use the same keys for the new part of a prompt. A full
    prompt starts as the one before it did; where most later turns do not, the rows look like deltas.
    """
    before = whole_numbers(rows.before)
    later = np.flatnonzero(before != NO_ROW)
    first_ids = rows.ids.firsts()
    n_fresh = int((first_ids[before[later]] != first_ids[later]).sum())
    if 2 * n_fresh <= len(later):
        return None
    return f"{n_fresh} of {len(later)} later turns start with another hash id than the turn before"


def are_deltas(rows: Rows) -> bool:
    """Return whether rows can hold nothing but what each turn adds.

    No later turn has an id of the turn before it, and some are shorter than it: of full prompts, all that
    would be conversations without a common word.
    """
    shorter = False
    for row in range(len(rows)):
        before = rows.before[row]
        if before == NO_ROW:
            continue
        shorter = shorter or rows.input_length[row] < rows.input_length[before]
        if not set(rows.hash_ids(before)).isdisjoint(rows.hash_ids(row)):
            return False
    return shorter


def to_full_prompts(rows: Rows, chunk_tokens: int) -> int:
    """Let every row hold its full prompt; return how many tokens a hash id stands for then."""
    grain = GRAIN_TOKENS if chunk_tokens % GRAIN_TOKENS == 0 else chunk_tokens
    first_ids = FinerIds(grain)
    ids, lengths = HashIds(), array("q")
    for row in range(len(rows)):
        before, added = rows.before[row], rows.input_length[row]
        if before == NO_ROW:
            lengths.append(added)
            ids.append(first_ids.of(rows.hash_ids(row), chunk_tokens, added))
        else:
            kept = lengths[before] // grain
            lengths.append(lengths[before] + max(rows.output_length[before], 1) + added)
            prompt = ids.get(before)[:kept]
            prompt.extend(first_ids.fresh(-(-lengths[row] // grain) - kept))
            ids.append(prompt)
    rows.ids, rows.input_length = ids, lengths
    return grain
