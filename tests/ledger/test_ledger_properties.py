"""The ledger against the words of its definitions, token by token, on random prompts and caches."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from sim.kv.runs import BlockRuns
from sim.ledger.account import CAUSES
from sim.ledger.ledger import Ledger


class World:
    """Random prompts and caches, remembered token by token, and the ledger beside them."""

    def __init__(self, random: Random, hybrid: bool) -> None:
        self.random = random
        self.hybrid = hybrid
        self.size = random.choice([1, 2, 3])
        self.workers = random.choice([1, 3])
        self.prompts: list[tuple[int, ...]] = []
        self.ids: dict[tuple[int, ...], int] = {}
        self.copies: list[tuple[int, str, tuple[int, ...]]] = []
        self.ever: set[tuple[int, tuple[int, ...]]] = set()
        self.in_flight_blocks: dict[int, set[tuple[int, ...]]] = {}
        self.ledger = Ledger(self.size, hybrid, self.workers)

    def blocks(self, prompt):
        return [prompt[:end] for end in range(self.size, len(prompt) + 1, self.size)]

    def send(self):
        stem = self.random.choice(self.prompts) if self.prompts else ()
        stem = stem[: self.random.randint(0, len(stem))]
        prompt = stem + tuple(self.random.randint(0, 1) for _ in range(self.random.randint(1, 6)))
        index = len(self.prompts)
        ids = [self.ids.setdefault(block, len(self.ids)) for block in self.blocks(prompt)]
        self.ledger.sent(index, BlockRuns.of(ids), len(prompt), len(prompt) - self.seen_tokens(index, prompt))
        self.prompts.append(prompt)
        self.generate()
        return index

    def generate(self):
        """Take ids between those of prompts, for generated blocks; some worker has them for a while."""
        for _ in range(self.random.randint(0, 2)):
            private = self.ids[-1, len(self.ids)] = len(self.ids)
            worker = self.random.randrange(self.workers)
            for stored in (True, True, False, False):
                self.ledger.kv(worker, stored, True, "device", range(private, private + 1))

    def seen_tokens(self, index, prompt):
        earlier = {other[:end] for other in self.prompts[:index] for end in range(len(other) + 1)}
        return max((end for end in range(len(prompt) + 1) if prompt[:end] in earlier), default=0)

    def store(self, worker, blocks):
        tier = self.random.choice(["device", "device", "host"])
        self.copies += [(worker, tier, block) for block in blocks]
        self.ever |= {(worker, block) for block in blocks}
        ids = [self.ids[block] for block in blocks]
        self.ledger.kv(worker, True, True, tier, self.random.choice([ids, BlockRuns.of(ids)]))

    def evict_some(self):
        for copy in self.random.sample(self.copies, self.random.randint(0, len(self.copies))):
            self.copies.remove(copy)
            worker, tier, block = copy
            self.ledger.kv(worker, False, True, tier, [self.ids[block]])

    def has(self, worker, block):
        return any((worker, tier, block) in self.copies for tier in ("device", "host"))

    def best_hit(self, worker, prompt, known_tokens):
        """Tokens of a random hit that the worker's caches allow."""
        run = 0
        for block in self.blocks(prompt):
            if not self.has(worker, block) or len(block) >= known_tokens:
                break
            run = len(block)
        blocks = run // self.size
        return self.random.choice([0, blocks, self.random.randint(0, blocks)]) * self.size

    def expected_cause(self, index, worker, hit, reached, position):
        """The cause of one recomputed token, by the words of the definition."""
        prompt = self.prompts[index]
        seen = self.seen_tokens(index, prompt)
        end = (position // self.size + 1) * self.size
        if position < reached:
            return "preempted"
        if position >= min(seen, len(prompt) - 1) // self.size * self.size:
            return "bound"
        run = [self.has(worker, block) for block in self.blocks(prompt[:end])]
        if self.hybrid and all(run[hit // self.size :]):
            return "checkpoint"
        block = prompt[:end]
        if any(block in blocks for blocks in self.in_flight_blocks.values()):
            return "in_flight"
        if (worker, block) in self.ever:
            return "evicted_here"
        return "elsewhere" if any(self.has(other, block) for other in range(self.workers)) else "gone"


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_each_token_gets_the_cause_of_the_definition(seed, hybrid):
    """Requests are served as sent; some are preempted on the way, some keep their blocks in flight."""
    random = Random(seed)
    world = World(random, hybrid)
    for _ in range(random.randint(1, 12)):
        index = world.send()
        prompt = world.prompts[index]
        worker = random.randrange(world.workers)
        fresh = set(range(world.seen_tokens(index, prompt), len(prompt)))
        expected = dict.fromkeys(CAUSES, 0)
        reached = 0
        computed = 0
        while True:
            hit = world.best_hit(worker, prompt, len(prompt))
            stop = random.choice([len(prompt), random.randint(hit, len(prompt))])
            for position in range(hit, stop):
                if position in fresh:
                    fresh.remove(position)
                else:
                    expected[world.expected_cause(index, worker, hit, reached, position)] += 1
            world.ledger.admitted(index, worker, hit, len(prompt), computed > 0 or reached > 0)
            first_part = random.randint(0, stop - hit)
            world.ledger.computed(index, first_part)
            world.ledger.computed(index, stop - hit - first_part)
            computed += stop - hit
            world.store(worker, world.blocks(prompt[:stop])[hit // world.size :])
            if stop == len(prompt):
                break
            world.ledger.preempted(index)
            reached = max(reached, stop)
            world.evict_some()
        account = world.ledger.account(index)
        world.in_flight_blocks[index] = set(world.blocks(prompt)[hit // world.size :])
        for landed in random.sample(
            sorted(world.in_flight_blocks), random.randint(0, len(world.in_flight_blocks))
        ):
            del world.in_flight_blocks[landed]
            world.ledger.first_token(landed)
            if random.random() < 0.5:
                world.ledger.ended(landed)
        world.evict_some()

        assert account.causes == expected
        assert account.computed_tokens == computed
        assert account.first_tokens == account.required_tokens
        assert account.first_block_tokens == account.required_block_tokens


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_computed_is_required_plus_causes_however_requests_overlap(seed, hybrid):
    """Requests start in any order, compute side by side, and lose their blocks at any time."""
    random = Random(seed)
    world = World(random, hybrid)
    waiting = [world.send() for _ in range(random.randint(1, 8))]
    reached = dict.fromkeys(waiting, 0)
    running: dict[int, tuple[int, int]] = {}
    computed = dict.fromkeys(waiting, 0)
    accounts = []
    while waiting or running:
        if waiting and (not running or random.random() < 0.5):
            index = waiting.pop(random.randrange(len(waiting)))
            worker = random.randrange(world.workers)
            hit = world.best_hit(worker, world.prompts[index], len(world.prompts[index]))
            world.ledger.admitted(index, worker, hit, len(world.prompts[index]), reached[index] > 0)
            running[index] = (worker, hit)
            continue
        index = random.choice(sorted(running))
        worker, position = running[index]
        prompt = world.prompts[index]
        if random.random() < 0.2:
            world.ledger.preempted(index)
            reached[index] = max(reached[index], position)
            del running[index]
            waiting.append(index)
        else:
            stop = random.randint(position + 1, len(prompt))
            world.ledger.computed(index, stop - position)
            computed[index] += stop - position
            world.store(worker, world.blocks(prompt[:stop])[position // world.size :])
            running[index] = (worker, stop)
            if stop == len(prompt):
                world.ledger.first_token(index)
                accounts.append((computed[index], world.ledger.ended(index)))
                del running[index]
        if random.random() < 0.3:
            world.evict_some()

    for computed_tokens, account in accounts:
        assert account.computed_tokens == computed_tokens
        assert sum(account.causes.values()) == account.recomputed_tokens >= 0
    closed = [account for _, account in accounts]
    assert sum(a.first_tokens for a in closed) == sum(a.required_tokens for a in closed)
    assert sum(a.first_block_tokens for a in closed) == sum(a.required_block_tokens for a in closed)
