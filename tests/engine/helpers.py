"""An engine core stepped without a clock: vLLM's loop, and copies that take a number of steps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from sys import maxsize

from sim.engine.active import ActiveRequest
from sim.engine.connector import OffloadingConnector
from sim.engine.engine import Engine
from sim.engine.plan import StepOutput, StepPlan
from sim.engine.settings import EngineSettings
from sim.engine.speculation import Speculation, draft_rules
from sim.engine.transfer_job import TransferJob
from sim.kv.group_spec import GroupSpec, even_groups
from sim.kv.hybrid import KvCache
from sim.kv.key_runs import Key
from sim.kv.offload import POLICIES


class CopyEngine:
    """Copies that are reported a fixed number of steps after the one that submits them."""

    def __init__(self, store_steps: int, load_steps: int) -> None:
        self._store_steps = store_steps
        self._load_steps = load_steps
        self._due: dict[int, int] = {}
        self._unsubmitted: list[TransferJob] = []

    def worker_phase(self, number: int, plan: StepPlan) -> list[int]:
        """Submit, force and report copies in step `number`; a store is submitted one step late."""
        for job in self._unsubmitted:
            self._due[job.job_id] = number + self._store_steps
        for job in plan.loads:
            self._due[job.job_id] = number + (0 if job.now else self._load_steps)
        planned = {job.job_id for job in plan.stores}
        for job_id in plan.flushes:
            if job_id in self._due or job_id in planned:
                self._due[job_id] = number
        self._unsubmitted = [job for job in plan.stores if job.job_id not in plan.flushes]
        done = [job_id for job_id, due in self._due.items() if due <= number]
        for job_id in done:
            del self._due[job_id]
        return done


class Driver:
    """Calls `schedule` and `complete` of one engine in the order in which vLLM's loop does."""

    def __init__(self, engine: Engine, store_steps: int = 1, load_steps: int = 2) -> None:
        self.engine = engine
        self.number = 0
        """Calls of schedule up to now."""
        self._copies = CopyEngine(store_steps, load_steps)
        self._done_at: dict[int, list[int]] = {}

    @property
    def idle(self) -> bool:
        return not self.engine.has_work and not self.engine.steps

    def schedule(self) -> StepPlan:
        self.number += 1
        plan = self.engine.schedule()
        plan.number = self.number
        self._done_at[self.number] = self._copies.worker_phase(self.number, plan)
        return plan

    def has_room(self, plan: StepPlan) -> bool:
        """Whether the loop schedules once more before it waits for an output."""
        return len(self.engine.steps) < self.engine.max_steps and bool(plan.scheduled or self.engine.has_work)

    @property
    def reported(self) -> list[int]:
        """Jobs that the oldest step's output reports done."""
        return self._done_at[self.engine.steps[0].number]

    def complete(self, order: Callable[[int], Sequence[Key] | None] = lambda _: None) -> StepOutput:
        """Process the oldest step's output; `order` gives the order of a job's keys."""
        done = self._done_at.pop(self.engine.steps[0].number)
        return self.engine.complete([(job_id, order(job_id)) for job_id in done])

    def turn(self) -> StepPlan | None:
        """Go through the loop once; return the step planned, if one was."""
        if not self.engine.has_work:
            self.complete()
            return None
        plan = self.schedule()
        if not self.has_room(plan):
            self.complete()
        return plan

    def run(self, max_steps: int = 10_000) -> list[StepPlan]:
        """Step until nothing is left to do; fail if it takes longer than `max_steps`."""
        plans: list[StepPlan] = []
        while not self.idle:
            plan = self.turn()
            if plan is not None:
                plans.append(plan)
            assert len(plans) <= max_steps, "the engine does not come to rest"
        return plans


def build(
    blocks: int,
    block_tokens: int = 16,
    recurrent: int = 0,
    *,
    cpu_blocks: int = 0,
    policy: str = "lru",
    prompt_only: bool = True,
    store_steps: int = 1,
    load_steps: int = 2,
    groups: Sequence[GroupSpec] = (),
    speculation: Speculation | None = None,
    **limits: float,
) -> Driver:
    """Return the driver of a new engine with `blocks` usable blocks (the null block comes on top)."""
    bounds = EngineSettings(**limits)  # type: ignore[arg-type]
    cache = KvCache(
        blocks + 1,
        groups or even_groups(block_tokens, recurrent),
        max_model_len=bounds.max_model_len or maxsize,
        in_flight_tokens=bounds.max_num_batched_tokens * (1 + bounds.async_scheduling),
        drafts=draft_rules(speculation),
    )
    offload = None
    if cpu_blocks:
        offload = OffloadingConnector(cache, [POLICIES[policy](cpu_blocks)], prompt_only=prompt_only)
    return Driver(Engine(cache, bounds, offload, speculation=speculation), store_steps, load_steps)


@dataclass
class Prompts:
    """Makes requests whose prompts share what they are told to share: contents are named by labels.

    A content is a sequence of (label, tokens); two prompts share a block if they agree up to its end.
    """

    block_tokens: int = 16
    _ids: dict[tuple[object, ...], int] = field(default_factory=dict)
    _requests: int = 0

    def hashes(self, *parts: tuple[str, int]) -> list[int]:
        """Return the identities of the full blocks of a content."""
        ends: list[int] = []
        total = sum(tokens for _, tokens in parts)
        for end in range(self.block_tokens, total + 1, self.block_tokens):
            prefix, left = [], end
            for label, tokens in parts:
                if left > 0:
                    prefix.append((label, min(tokens, left)))
                    left -= tokens
            ends.append(self._ids.setdefault(tuple(prefix), len(self._ids)))
        return ends

    def request(self, *prompt: tuple[str, int], output: int = 1) -> ActiveRequest:
        """Return a request; its answer is a content of its own."""
        number = self._requests
        self._requests += 1
        tokens = sum(part for _, part in prompt)
        block_ids = self.hashes(*prompt, (f"answer {number}", output))
        return ActiveRequest(number, tokens, output, block_ids)
