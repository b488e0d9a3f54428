"""A prefill and a decode engine stepped without a clock, one turn of vLLM 0.28.0's loop each a tick."""

from collections.abc import Callable, Sequence

from sim.engine.active import ActiveRequest
from sim.engine.connector import OffloadingConnector
from sim.engine.engine import Engine
from sim.engine.nixl import NixlConnector, Pull
from sim.engine.plan import StepOutput, StepPlan
from sim.engine.settings import EngineSettings
from sim.kv.group_spec import even_groups
from sim.kv.hybrid import KvCache
from sim.kv.key_runs import Key
from sim.kv.offload import LruTier
from tests.engine.helpers import Driver

ROLES = {"kv_both": (True, True), "kv_producer": (True, False), "kv_consumer": (False, True)}
"""vLLM's kv_role: whether it is a producer, whether it is a consumer."""


class PairSide(Driver):
    """One engine of a pair; a pull is reported `pull_steps` steps after the one that starts it."""

    def __init__(self, engine: Engine, pull_steps: int) -> None:
        super().__init__(engine)
        self.plans: list[StepPlan] = []
        self.was_read: list[int] = []
        """Requests held here that were read since the last step."""
        self.over: list[int] = []
        """Requests whose blocks on the other side are not needed any more since this was last emptied."""
        self.most_blocks = 0
        self._pull_steps = pull_steps
        self._due: dict[int, int] = {}
        self._reports: dict[int, tuple[list[int], list[int]]] = {}

    def schedule(self) -> StepPlan:
        plan = super().schedule()
        self.plans.append(plan)
        self.most_blocks = max(self.most_blocks, self.engine.cache.pool.used_blocks)
        for pull in plan.pulls:
            self._due[pull.request_id] = self.number + self._pull_steps
        pulled = [request for request, due in self._due.items() if due <= self.number]
        for request in pulled:
            del self._due[request]
        self._reports[self.number] = pulled, self.was_read
        self.was_read = []
        self.over += pulled + plan.unneeded
        return plan

    def complete(self, order: Callable[[int], Sequence[Key] | None] = lambda _: None) -> StepOutput:
        number = self.engine.steps[0].number
        pulled, read = self._reports.pop(number)
        done = self._done_at.pop(number)
        return self.engine.complete([(job_id, order(job_id)) for job_id in done], pulled, read)

    def step(self) -> StepOutput | None:
        """Go through the loop once; return the output that was processed, if one was."""
        if self.engine.has_work and self.has_room(self.schedule()):
            return None
        return self.complete() if self.engine.steps else None


class Pair:
    """Every request is prefilled on one engine and handed to the other as soon as that is done."""

    def __init__(self, prefill: PairSide, decode: PairSide) -> None:
        self.prefill = prefill
        self.decode = decode
        self.legs: dict[int, tuple[ActiveRequest, ActiveRequest]] = {}
        """A request's prefill leg and its decode leg."""

    @property
    def sides(self) -> tuple[PairSide, PairSide]:
        return self.prefill, self.decode

    @property
    def livelocked(self) -> bool:
        return any(side.engine.livelocked for side in self.sides)

    def add(self, request: ActiveRequest) -> None:
        """Start a request: what is given is its decode leg."""
        leg = ActiveRequest(request.request_id, request.prompt_tokens, 1, request.block_ids)
        leg.for_remote = True
        self.legs[request.request_id] = leg, request
        self.prefill.engine.add(leg)

    def tick(self) -> None:
        """One step of each engine, the prefill engine first."""
        output = self.prefill.step()
        for leg in output.finished if output else ():
            nixl = self.prefill.engine.nixl
            assert nixl is not None
            request = self.legs[leg.request_id][1]
            request.remote = nixl.offer(leg)
            self.decode.engine.add(request)
        self.decode.step()
        self.prefill.was_read += self.decode.over
        self.decode.over = []

    def run(self, *requests: ActiveRequest, max_ticks: int = 20_000) -> None:
        """Go on until nothing is left to do, or nothing can be done any more."""
        for request in requests:
            self.add(request)
        ticks = 0
        while not (self.livelocked or all(side.idle for side in self.sides)):
            self.tick()
            ticks += 1
            assert ticks <= max_ticks, "the pair does not come to rest"


def build_pair(
    prefill_blocks: int,
    decode_blocks: int,
    block_tokens: int = 16,
    recurrent: int = 0,
    *,
    cpu_blocks: int = 0,
    prompt_only: bool = True,
    offload_first: bool = False,
    prefill_role: str = "kv_both",
    decode_role: str = "kv_both",
    pull_steps: int = 3,
    **limits: float,
) -> Pair:
    """Return two new engines with so many usable blocks; `cpu_blocks` belong to the prefill engine."""

    def side(blocks: int, role: str, cpu_blocks: int) -> PairSide:
        cache = KvCache(blocks + 1, even_groups(block_tokens, recurrent))
        producer, consumer = ROLES[role]
        nixl = NixlConnector(cache, producer=producer, consumer=consumer)
        offload = (
            OffloadingConnector(cache, [LruTier(cpu_blocks)], prompt_only=prompt_only) if cpu_blocks else None
        )
        bounds = EngineSettings(**limits)  # type: ignore[arg-type]
        return PairSide(Engine(cache, bounds, offload, nixl, offload_first=offload_first), pull_steps)

    return Pair(side(prefill_blocks, prefill_role, cpu_blocks), side(decode_blocks, decode_role, 0))


def computed(side: PairSide, request: ActiveRequest) -> list[int]:
    """Tokens that an engine computed of a request, step by step."""
    return [tokens for plan in side.plans for other, tokens in plan.scheduled if other is request]


def pulls(pair: Pair) -> dict[int, Pull]:
    """What the decode engine has read, by request."""
    return {pull.request_id: pull for plan in pair.decode.plans for pull in plan.pulls}
