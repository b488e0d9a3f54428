"""Prefill that a run's requests required, that caches had, and that was done twice.

Definitions, where names alone do not say it:

- `required_tokens` are the tokens that no earlier prompt contained: see `sim.ledger.ledger`. They are
  counted where they are computed or hit, so that a rejected request requires nothing. Of them,
  `returned_tokens` are in an answer, with the end of the prompt before it, that an earlier request had
  computed: `returned_hit_tokens` were hit, the others are recomputed.
- `recomputation` is recomputed / required, recomputed being computed - (required - returned): where
  no answer returns, (computed - required) / required. `recomputation_by_counter` puts in place of the
  computed tokens what vLLM's counters say (`vllm:prompt_tokens_by_source_total`, source local_compute):
  prompt less hit, once a request, at its first token, whatever a preemption does later. Those of a request
  that computed but never came to a first token say nothing: it is null if there is one, and
  `uncounted_tokens` are what they leave out.
- `prompt_tokens` and `by_source` are those counters too: prompts that came to their first token. `hit_share`
  is the part of them that was hit, or loaded from a tier below.
- `ideal_hit_share` is the part that a cache without an end would have hit, which all workers share and which
  holds whole blocks: of the same prompts, in the order in which they were sent, the blocks that an earlier
  prompt contained, or an earlier request's prompt and answer as `returned_tokens` count them. As in vLLM the
  block of a prompt's last token is always computed. A prompt counts as held from the moment at which it is
  sent: one that is still on its way, or waits in a queue, is a hit here, and in no real cache. Nor does the
  ideal know of checkpoints of recurrent state: hybrid models hit less even where every attention block is
  held, for want of a checkpoint at its end. What was achieved may exceed it only by a block where a longer
  prompt overtook a shorter one that it begins with, or where some requests do not count.
"""

from typing import Any

import numpy as np

from sim.ledger.account import CAUSES
from sim.results.ratio import ratio
from sim.results.request_columns import RequestColumns


def prefill(columns: RequestColumns, block_tokens: int) -> dict[str, Any]:
    """Return the numbers under their names in summaries, in tokens; blocks are of so many."""
    computed, first = columns.total("computed_prompt_tokens"), columns.total("first_tokens")
    returned = columns.total("returned_tokens")
    required = first + returned
    by_source = _by_source(columns)
    uncounted = columns.total("computed_prompt_tokens", where=~columns.values("first_token_s").measured)
    counted = None if uncounted else by_source["local_compute"]
    prompts = sum(by_source.values())
    return {
        "prompt_tokens": prompts,
        "hit_share": ratio(prompts - by_source["local_compute"], prompts),
        "ideal_hit_share": _ideal_hit_share(columns, block_tokens),
        "required_tokens": required,
        "required_block_tokens": columns.total("first_block_tokens") + columns.total("returned_block_tokens"),
        "returned_tokens": returned,
        "returned_hit_tokens": _returned_hit(columns),
        "computed_tokens": computed,
        "recomputed_output_tokens": columns.total("recomputed_output_tokens"),
        "recomputation": ratio(computed - first, required),
        "recomputation_by_counter": None if counted is None else ratio(counted - first, required),
        "uncounted_tokens": uncounted,
        "by_cause": {cause: columns.total(f"{cause}_tokens") for cause in CAUSES},
        "by_source": by_source,
    }


def _ideal_hit_share(columns: RequestColumns, block_tokens: int) -> float | None:
    """Return the part of prompts that an endless, shared cache of whole blocks would have hit."""
    answered = columns.values("first_token_s").measured
    prompt, required, returned = (
        columns.values(name).values[answered]
        for name in ("prompt_tokens", "required_block_tokens", "returned_block_tokens")
    )
    most = (prompt - 1) // block_tokens * block_tokens
    held = np.clip(prompt - required + returned, 0, most)
    return ratio(int(held.sum()), int(prompt.sum()))


def _returned_hit(columns: RequestColumns) -> int:
    """Return how many of the returned tokens lie before the end of a prompt's hit."""
    prompt, required, returned, local, external = (
        columns.values(name).values
        for name in (
            "prompt_tokens",
            "required_tokens",
            "returned_tokens",
            "local_hit_tokens",
            "external_hit_tokens",
        )
    )
    return int(np.clip(local + external - (prompt - required), 0, returned).sum())


def _by_source(columns: RequestColumns) -> dict[str, int]:
    names = ("counted_prompt_tokens", "local_hit_tokens", "external_hit_tokens")
    came_to_first_token = columns.values("first_token_s").measured
    prompt, local, external = (columns.total(name, where=came_to_first_token) for name in names)
    return {
        "local_compute": prompt - local - external,
        "local_cache_hit": local,
        "external_kv_transfer": external,
    }
