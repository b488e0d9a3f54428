"""Tokens add up: every prompt token is hit, loaded or computed; what is computed is new or has one cause.

The tokens of every planned chunk are counted here, and compared with what the recorder's ledger made of them.
"""

from array import array

import numpy as np
from numpy.typing import NDArray

from sim.base.errors import InvariantError
from sim.cluster.request_state import RequestState
from sim.engine.active import ActiveRequest
from sim.engine.plan import StepOutput, StepPlan
from sim.ledger.account import CAUSES
from sim.results.rows import Table

RULE = "tokens add up"


class Tokens:
    """Prompt tokens that were scheduled, of `count` requests."""

    def __init__(self, count: int, records: dict[int, RequestState]) -> None:
        """`records` are those of requests in flight, by what engines call them."""
        self._records = records
        self._scheduled = array("q", [0]) * count
        self._answering_stages = array("q", [0]) * count
        """How many workers computed some of it that were only to answer: most had it from elsewhere."""
        self._of_stage = array("q", [0]) * count
        """Prompt tokens, with those generated on earlier tries, on the last worker that was to have all."""
        self._whole_stage = bytearray(count)
        """Whether that one had it."""
        self._prompt_stages: dict[int, ActiveRequest] = {}
        """Requests as that worker knows them, by index."""
        self._positions: dict[int, int] = {}
        """Where the prompts stand that are being computed: tokens hit, loaded or computed. Here and below
        requests are named as engines name them."""
        self._whole: set[int] = set()
        """Requests whose prompt is in some engine, and whose first token has not come."""
        self._answers: set[int] = set()
        """Requests of which some is computed where it is only to be answered."""
        self._together = 0
        """Tokens that came with another one of their request, and not after it: drafts accepted."""

    def grow(self, more: int) -> None:
        """There are so many more requests than was known."""
        for counts in (self._scheduled, self._answering_stages, self._of_stage):
            counts.extend([0] * more)
        self._whole_stage.extend(bytes(more))

    def planned(self, worker: int, plan: StepPlan, now_s: float) -> None:
        """Follow the chunks of a step: each starts where the one before ended."""
        for admission in plan.admitted:
            request = admission.request
            hit = admission.local_tokens + admission.external_tokens
            if min(admission.local_tokens, admission.external_tokens) < 0 or hit > request.num_tokens:
                detail = f"a hit of {hit} tokens of {request.num_tokens}"
                raise InvariantError(RULE, detail, request=request.request_id, worker=worker, now_s=now_s)
            self._admitted(worker, request, now_s)
            # The last token is computed even if it was loaded.
            self._positions[request.request_id] = min(hit, request.num_tokens - 1)
        for request, tokens in plan.scheduled:
            start = request.computed - tokens
            if start >= request.prompt_tokens:
                continue
            index = request.request_id
            had = self._positions.get(index)
            if tokens < 1 or start != had:
                detail = f"computes {tokens} tokens from {start} on, but has {had} of its prompt"
                raise InvariantError(RULE, detail, request=index, worker=worker, now_s=now_s)
            self._positions[index] = request.computed
            self._count(request, start)
            if request.computed >= request.prompt_tokens:
                self._whole.add(index)

    def _admitted(self, worker: int, request: ActiveRequest, now_s: float) -> None:
        """Compare its prompt with what was sent, and with what workers generated that are lost."""
        record = self._records[request.request_id]
        index, has = record.request.index, request.prompt_tokens + request.truncated
        if has != record.request.prompt_tokens + record.generated:
            detail = f"a prompt of {has} tokens came, {record.request.prompt_tokens} were sent"
            detail += f", {record.generated} generated before" if record.generated else ""
            raise InvariantError(RULE, detail, request=index, worker=worker, now_s=now_s)
        if request is record.active and self._prompt_stages.get(index) is not request:
            self._prompt_stages[index] = request
            self._of_stage[index] = 0

    def _count(self, request: ActiveRequest, start: int) -> None:
        """Count the tokens that a chunk has of the prompt that its client sent, and of the stage's own."""
        record = self._records[request.request_id]
        index, of_stage = record.request.index, min(request.computed, request.prompt_tokens) - start
        of_prompt = of_stage
        if record.generated:
            of_prompt = max(0, min(start + of_stage, record.request.prompt_tokens) - start)
        self._scheduled[index] += of_prompt
        if request is self._prompt_stages.get(index):
            self._of_stage[index] += of_stage
            return
        if of_prompt and request.request_id not in self._answers:
            self._answers.add(request.request_id)
            self._answering_stages[index] += 1

    def processed(self, worker: int, output: StepOutput, now_s: float) -> None:
        """A first token needs the whole prompt."""
        for request, tokens in output.tokens:
            self._together += tokens - 1
            if request.outputs == tokens:
                index = request.request_id
                if index not in self._whole:
                    had = self._positions.get(index)
                    detail = f"its first token, with {had} of {request.prompt_tokens} prompt tokens"
                    raise InvariantError(RULE, detail, request=index, worker=worker, now_s=now_s)
                self._whole.discard(index)
                of_trace = self._records[index].request.index
                if request is self._prompt_stages.get(of_trace):
                    self._whole_stage[of_trace] = 1

    def left(self, request: ActiveRequest) -> None:
        """Forget a request that left a worker."""
        index = request.request_id
        self._positions.pop(index, None)
        self._whole.discard(index)
        self._answers.discard(index)

    def tried_again(self, index: int) -> None:
        """A request is to be served by other workers, from its beginning."""
        self._whole_stage[index] = 0

    def over(self, index: int) -> None:
        """Forget a request that has ended."""
        self._prompt_stages.pop(index, None)

    def check_rows(self, table: Table, n_gaps: int, now_s: float) -> None:
        """Compare with the rows at the end of a run, and these with each other."""
        index = table.values("index").values

        def column(name: str) -> NDArray[np.int64]:
            values: NDArray[np.int64] = table.values(name).values
            return values

        def must(right: NDArray[np.bool_], detail: str) -> None:
            if not right.all():
                wrong = int(index[np.flatnonzero(~right)[0]])
                raise InvariantError(RULE, detail, request=wrong, now_s=now_s)

        computed, recomputed = column("computed_prompt_tokens"), column("recomputed_tokens")
        causes = [column(f"{cause}_tokens") for cause in CAUSES]
        must(recomputed == np.sum(causes, axis=0), "the causes do not add to its recomputed tokens")
        must(np.min(causes, axis=0) >= 0, "a cause has less than no tokens")
        must(computed == column("first_tokens") + recomputed, "computed is not first and recomputed tokens")
        scheduled, answering_stages, of_stage = (
            np.array(counts)[index] for counts in (self._scheduled, self._answering_stages, self._of_stage)
        )
        must(computed <= scheduled, "more tokens are booked as computed than were scheduled")
        # Whoever has the whole prompt from elsewhere computes its last token: that does not count.
        must(
            computed >= scheduled - answering_stages,
            "fewer tokens are booked as computed than were scheduled",
        )
        answered = table.values("first_token_s").measured
        prompt, hit = (
            column("counted_prompt_tokens"),
            column("local_hit_tokens") + column("external_hit_tokens"),
        )
        must(~answered | (hit <= prompt), "more of its prompt was hit than there is")
        whole = np.frombuffer(self._whole_stage, np.bool_)[index]
        once = answered & whole & (column("preemptions") == 0)
        sources = np.minimum(hit, prompt - 1) + of_stage
        must(~once | (sources == prompt), "hit, loaded and computed tokens do not add to its prompt")
        gaps = int(np.maximum(column("output_tokens") - 1, 0).sum()) - self._together
        if gaps != n_gaps:
            raise InvariantError(RULE, f"{n_gaps} gaps between tokens, {gaps} by the answers", now_s=now_s)
