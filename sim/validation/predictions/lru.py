"""A baseline without time: each worker is a list of blocks, the least recently used goes first.

Requests pass once, in the order in which they came, on their recorded workers or on those that hold most of
them. A prompt's full blocks are there as soon as it has come, and nothing else takes room: no answers, no
blocks that running requests hold, no recurrent states. A worker has room for as many blocks as its GPU memory
and its CPU tier together.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence

from sim.kv.prefix import PrefixTable
from sim.scenario.scenario import Scenario
from sim.validation.predictions.quantities import Numbers
from sim.validation.replay.recording import Recording
from sim.workload.request import Request, Trace


class Lru:
    """One worker: a list of blocks."""

    def __init__(self, capacity: int | None) -> None:
        """Make it empty, with room for so many blocks; None: for all."""
        self._capacity = capacity
        self._blocks: OrderedDict[int, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._blocks)

    def hit(self, prompt: Sequence[int]) -> int:
        """Return how many of a prompt's first blocks are there."""
        return next((place for place, block in enumerate(prompt) if block not in self._blocks), len(prompt))

    def use(self, prompt: Sequence[int]) -> int:
        """Take in a prompt's blocks; return how many of the first were there."""
        hit = self.hit(prompt)
        for block in reversed(prompt):  # a prompt's end is evicted before its start
            self._blocks[block] = None
            self._blocks.move_to_end(block)
        while self._capacity is not None and len(self._blocks) > self._capacity:
            self._blocks.popitem(last=False)
        return hit


Choice = Callable[[Request, Sequence[int]], int | None]
"""Returns the worker of a request with these blocks; None: it passes by."""


def hits(
    trace: Trace, block_tokens: int, workers: Sequence[Lru], choose: Choice
) -> Iterator[tuple[Request, int, int]]:
    """Yield requests with the worker that they came to and the tokens that they found there."""
    prefixes = PrefixTable(trace.chunk_tokens, block_tokens)
    for request in trace.requests:
        prompt = [*prefixes.add(request.chunks, request.prompt_tokens).blocks]
        worker = choose(request, prompt)
        if worker is not None:
            yield request, worker, workers[worker].use(prompt) * block_tokens


def routed(trace: Trace, scenario: Scenario) -> Iterator[tuple[Request, int, int]]:
    """Yield the same where each request goes to the worker that has most of it; ties: to the emptiest."""
    room = _blocks(scenario)
    workers = [Lru(room) for _ in range(scenario.workers.first.ranks)]

    def fullest(request: Request, prompt: Sequence[int]) -> int:
        found = [worker.hit(prompt) for worker in workers]
        return max(range(len(workers)), key=lambda worker: (found[worker], -len(workers[worker])))

    return hits(trace, scenario.block_tokens, workers, fullest)


def reusable_tokens(trace: Trace, block_tokens: int) -> int:
    """Return how many prompt tokens were there before, in whole blocks, where nothing is ever evicted."""
    return sum(tokens for _, _, tokens in hits(trace, block_tokens, [Lru(None)], lambda *_: 0))


def _blocks(scenario: Scenario) -> int:
    """Return how many blocks an aggregated or prefill worker has room for."""
    capacity = scenario.capacity()
    return capacity.num_blocks - 1 + (capacity.host[0].blocks if scenario.offload else 0)


def cached_tokens(recording: Recording, scenario: Scenario, *, decode: bool = False) -> dict[int, int]:
    """Return what each request finds, in tokens, by its index: of those whose worker is known.

    `decode`: on the decode workers, which take a whole prompt; the others compute its last token anyhow.
    """
    block, ranks, room = scenario.block_tokens, recording.ranks, _blocks(scenario)
    if decode:
        ranks = recording.decode_ranks
        room = scenario.decode_capacity().num_blocks - 1
    workers = [Lru(room) for _ in range(max(ranks.values(), default=-1) + 1)]
    found = {}
    for request, _, tokens in hits(recording.trace, block, workers, lambda one, _: ranks.get(one.index)):
        most = request.prompt_tokens if decode else request.prompt_tokens - 1
        found[request.index] = min(tokens, most // block * block)
    return found


def numbers(recording: Recording, scenario: Scenario, without: Collection[int] = ()) -> Numbers:
    """Return the baseline's predictions, by the names of `quantities.LABELS`.

    `without`: requests that the replay beside it refused; they pass, and are not counted.
    """
    completed = set(recording.completed).difference(without)
    passed = cached_tokens(recording, scenario)
    found = {index: n for index, n in passed.items() if index in completed}
    prompts = sum(recording.trace.requests[index].prompt_tokens for index in found)
    cached = sum(found.values())
    required = recording.required_tokens
    if len(found) < len(recording.requests):
        required = recording.required_of(found.keys(), passed, scenario.block_tokens)
    numbers: dict[str, float | None] = {
        "computed_tokens": prompts - cached,
        "recomputed_tokens": prompts - cached - required,
    }
    if not scenario.offload:
        numbers["local_hit_tokens"] = cached
    if scenario.workers.decode:
        hits = dict(_decode_blocks(recording, scenario, completed))
        had = sum(n for n, _ in hits.values())
        numbers["decode_hit_tokens"] = had * scenario.block_tokens
        numbers["pulled_blocks"] = sum(needed for _, needed in hits.values()) - had
    return numbers


def _decode_blocks(
    recording: Recording, scenario: Scenario, completed: Collection[int]
) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield of each completed request the blocks that its decode worker had, and those that it needed."""
    block = scenario.block_tokens
    for index, tokens in cached_tokens(recording, scenario, decode=True).items():
        if index in completed:
            yield index, (tokens // block, -(-recording.trace.requests[index].prompt_tokens // block))
