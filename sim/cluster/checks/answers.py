"""Answers that return are accounted for: what is required was computed first, by a prefill or by decode.

What a prompt may hold of an answer is read from the trace and the rows, whatever the ledger made of it.
"""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from sim.base.errors import InvariantError
from sim.results.rows import Table
from sim.workload.request import Answer

RULE = "answers are accounted for"


def check_answers(table: Table, answers: Mapping[int, Answer], now_s: float) -> None:
    """Look at the rows of requests at the end of a run; `answers` says which prompts hold which."""
    index = table.values("index").values
    prompt, required, returned, first, outputs = (
        table.values(f"{name}_tokens").values
        for name in ("prompt", "required", "returned", "first", "output")
    )
    generated = dict(zip(index.tolist(), outputs.tolist(), strict=True))
    holders = Counter(answer.request for answer in answers.values())
    for row in np.flatnonzero(returned).tolist():
        answer = answers.get(int(index[row]))
        known = int(prompt[row] - required[row])
        most = 0 if answer is None else _most(answer, generated[answer.request], holders[answer.request])
        if returned[row] > max(0, most - known):
            detail = f"{returned[row]} tokens returned to it, an answer before has at most {most - known}"
            raise InvariantError(RULE, detail, request=int(index[row]), now_s=now_s)
    if all(status == "completed" for status in table.column("status")):
        # A prefill worker that has states computes all of a prompt but its last token.
        counted = table.values("counted_prompt_tokens").values
        short = int((prompt - counted).clip(0).sum())
        new = int(required.sum() - returned.sum())
        if not new - short <= first.sum() <= new:
            detail = f"{new} tokens are required and not returned, {first.sum()} were computed first"
            raise InvariantError(RULE, detail, now_s=now_s)


def _most(answer: Answer, generated: int, holders: int) -> int:
    """Return up to where a prompt can hold what was made before: of other prompts with the answer, all.

    The last token of an answer is never computed. A tier may have its block all the same, if that is full: vLLM
    0.28.0 stores what has a hash.
    """
    return answer.end if holders > 1 else min(answer.end, answer.start + generated)
