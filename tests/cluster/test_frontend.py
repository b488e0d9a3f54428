"""The way of a request through the front door and back, with workers that only take it in."""

from functools import partial

import pytest

from sim.cluster.delays import ConstantDelays, Part
from sim.cluster.engine_request import whole
from sim.cluster.front_door import FrontDoor, Listeners
from sim.cluster.frontend import Frontend
from sim.cluster.pool import DEVICE_ONLY, Pool
from sim.cluster.prompts import Prompts
from sim.cluster.recorder import Recorder
from sim.cluster.stage import Desk, Stage
from sim.engine.engine import Engine
from sim.engine.plan import StepOutput
from sim.engine.settings import EngineSettings
from sim.events.clock import Clock, Phase
from sim.events.lazy_updates import LazyUpdates
from sim.hardware.coefficients import FrontendCoefficients
from sim.kv.events import KvEvent
from sim.kv.group_spec import even_groups
from sim.kv.hybrid import KvCache
from sim.kv.prefix import PrefixTable
from sim.router import Query, Router, RouterConfig
from tests.clusters import trace, turn

ATTENTION = 2
USUAL = ConstantDelays(dispatch_s=0.125, event_delay_s=0.0625, answer_s=0.5)


class Worker:
    """Takes requests in and notes when; fits prompts of up to 112 tokens."""

    def __init__(self, env):
        self._env = env
        self.log = []
        self.active = {}
        self.engine = Engine(KvCache(8, even_groups(16)), EngineSettings())

    def add(self, request):
        self.active[request.request_id] = request
        self.log.append((request.request_id, self._env.now))


class Door:
    """A front door with two workers of blocks of 16 tokens; times are powers of two: their sums are exact."""

    def __init__(self, *requests, config=None, delays=USUAL, router_tiers=DEVICE_ONLY, **options):
        self.env = Clock()
        self.router = Router(RouterConfig(**config or {}), 16, 2)
        self.workers = [Worker(self.env) for _ in range(2)]
        self.recorder = Recorder(2, ATTENTION, 16, ("decisions",))
        self.prefixes = PrefixTable(16, 16)
        self.pool = Pool([self.router], self.workers, range(2), router_tiers)
        self.ended = []
        self.frontend = Frontend(
            self.env,
            [
                Stage(
                    "aggregated",
                    self.pool,
                    partial(whole, self.prefixes),
                    Desk(self.env, LazyUpdates(), self.recorder, 0),
                )
            ],
            Prompts(self.prefixes),
            self.recorder,
            door=FrontDoor(
                FrontendCoefficients(alpha_in_s=0.25, alpha_in_s_per_token=1 / 128, alpha_out_s=0.5),
                **{"max_model_len": 200, "attention_group": ATTENTION} | options,
            ),
            delays=delays,
            listeners=Listeners(lambda request: self.ended.append((request.index, self.env.now))),
        )
        for request in trace(*requests).requests:
            submit = partial(self.frontend.submit, request)
            self.env.at(request.timestamp_s, Phase.ARRIVAL, request.index, submit)

    def row(self, index=0):
        table = self.recorder.rows.tables["requests"]
        position = table.column("index").index(index)
        return {column.name: table.column(column.name)[position] for column in table.columns}

    def output(self, rank, *, tokens=(), finished=(), events=()):
        """Let a worker give something out now."""
        for request in tokens:
            request.outputs += 1
        self.frontend.output(rank, StepOutput([(request, 1) for request in tokens], list(finished), []))
        self.frontend.kv_events(rank, list(events), self.env.now)

    def loads(self):
        loads = self.router.loads
        return loads.prefill_tokens, loads.active_blocks, loads.requests

    def serving(self, index=0):
        """(rank, active request) of a request that has reached a worker."""
        return next((rank, w.active[index]) for rank, w in enumerate(self.workers) if index in w.active)

    def device_blocks(self, request):
        self.pool.replicas[0].undelivered.open(self.env.now)
        blocks = self.prefixes.add(request.chunks, request.prompt_tokens).blocks
        query = Query(99, request.prompt_tokens, blocks)
        return [terms.device_blocks for terms in self.router.terms(query, self.env.now)]

    def host_blocks(self, request):
        self.pool.replicas[0].undelivered.open(self.env.now)
        blocks = self.prefixes.add(request.chunks, request.prompt_tokens).blocks
        query = Query(99, request.prompt_tokens, blocks)
        return [terms.host_blocks for terms in self.router.terms(query, self.env.now)]


# -- the way in ----------------------------------------------------------------------------------------------


def test_a_request_is_tokenised_then_routed_then_dispatched():
    door = Door(turn(1.0, 64, 5, range(4)))
    door.env.run()
    _, active = door.serving()
    record = door.recorder.records[0]
    assert (record.send_s, record.routed_s, record.queued_s) == (1.0, 1.75, 1.875)
    assert (active.prompt_tokens, active.output_tokens, len(active.block_ids)) == (64, 5, 4)


def test_requests_are_tokenised_in_parallel_and_the_shorter_one_is_routed_first():
    door = Door(turn(0, 96, 1, range(6)), turn(0, 32, 1, range(10, 12)))
    door.env.run()
    arrivals = sorted((time_s, index) for worker in door.workers for index, time_s in worker.log)
    assert arrivals == [(0.625, 1), (1.125, 0)]


def test_booking_and_choice_are_one_instant_so_that_the_next_request_sees_it():
    door = Door(turn(0, 64, 5, range(4)), turn(0, 64, 5, range(10, 14)))
    door.env.run()
    assert door.loads() == ([64, 64], [4, 4], [1, 1])
    decisions = door.recorder.rows.tables["decisions"]
    assert len(decisions) == 4
    costs = decisions.column("cost")
    assert sorted(costs[:2]) == [8.0, 8.0]
    assert sorted(costs[2:]) == [8.0, 16.0]


def test_generated_blocks_have_identities_of_their_own():
    door = Door(turn(0, 32, 40, [1, 2]), turn(1, 32, 40, [1, 2]))
    door.env.run()
    block_ids = [door.serving(index)[1].block_ids for index in range(2)]
    assert [len(names) for names in block_ids] == [4, 4]
    assert block_ids[0][:2] == block_ids[1][:2]
    assert not set(block_ids[0][2:]) & set(block_ids[1])


@pytest.mark.parametrize(
    ("prompt_tokens", "output_tokens", "reason"),
    [(113, 1, "prompt_exceeds_pool"), (150, 51, "exceeds_max_model_len"), (190, 11, "exceeds_max_model_len")],
)
def test_what_cannot_be_served_is_rejected_at_arrival(prompt_tokens, output_tokens, reason):
    door = Door(turn(3, prompt_tokens, output_tokens, range(-(-prompt_tokens // 16))))
    door.env.run()
    row = door.row()
    assert (row["status"], row["reason"], row["end_s"]) == ("rejected", reason, 3.0)
    assert [row[name] for name in ("ttft_s", "e2e_s", "routed_s", "worker")] == [None] * 4
    assert door.ended == [(0, 3.0)]
    assert door.loads() == ([0, 0], [0, 0], [0, 0])


def test_what_just_fits_is_not_rejected():
    door = Door(turn(0, 112, 88, range(7)))
    door.env.run()
    assert door.serving()[1].prompt_tokens == 112


def test_no_worker_for_a_request():
    door = Door(turn(0, 64, 1, range(4)))
    door.pool.alive = frozenset()
    door.env.run()
    row = door.row()
    assert (row["status"], row["reason"], row["end_s"]) == ("rejected", "no_eligible_worker", 0.75)


# -- the way back --------------------------------------------------------------------------------------------


def test_the_first_token_releases_the_prefill_and_the_last_one_the_rest():
    door = Door(turn(0, 64, 2, range(4)))
    door.env.run(until=2)
    rank, active = door.serving()
    assert door.loads()[0][rank] == 64
    door.output(rank, tokens=[active])
    door.env.run(until=2.499)
    assert door.loads()[0][rank] == 64, "the token is on its way"
    door.env.run(until=2.5)
    door.env.run(until=3)
    assert (door.loads()[0][rank], door.loads()[2][rank]) == (0, 1)
    door.output(rank, tokens=[active], finished=[active])
    door.env.run()
    assert door.loads() == ([0, 0], [0, 0], [0, 0])
    row = door.row()
    assert (row["first_token_s"], row["end_s"], row["status"]) == (2.5, 3.5, "completed")
    assert (row["ttft_s"], row["e2e_s"], row["tpot_s"]) == (2.5, 3.5, 1.0)
    assert door.ended == [(0, 3.5)]


def test_answers_can_be_seen_when_a_recording_says():
    class Recorded:
        """A stand-in for `Delays`, as a compiled class has no subclasses elsewhere."""

        sees_steps = False
        event_delay_s = 0.0625
        usual = ConstantDelays(dispatch_s=0.125, event_delay_s=event_delay_s, answer_s=0.5)
        dispatched, computed, heard = usual.dispatched, usual.computed, usual.heard

        def answered(self, request, now_s, part):
            assert part is Part.FIRST_TOKEN
            return {0: 9.0, 1: now_s + 0.5, 2: 0.0}[request.request_id]

    recorded = Recorded()
    door = Door(*(turn(0, 16, 2, [n], str(n)) for n in range(3)), delays=recorded)
    door.env.run()
    now_s = door.env.now
    for index in range(3):
        rank, active = door.serving(index)
        door.output(rank, tokens=[active])
    seen = {index: door.recorder.records[index] for index in range(3)}
    door.env.run()
    assert [record.first_token_s for record in seen.values()] == [9.0, now_s + 0.5, now_s]


def test_an_only_token_is_first_and_last():
    door = Door(turn(0, 64, 1, range(4)))
    door.env.run(until=2)
    rank, active = door.serving()
    door.output(rank, tokens=[active], finished=[active])
    door.env.run(until=2.499)
    assert (door.loads()[0][rank], door.loads()[2][rank]) == (64, 1)
    door.env.run()
    assert door.loads() == ([0, 0], [0, 0], [0, 0])
    row = door.row()
    assert (row["ttft_s"], row["tpot_s"], row["output_tokens"]) == (2.5, None, 1)


def test_a_request_that_a_worker_gives_up_is_rejected_and_its_booking_freed():
    door = Door(turn(0, 64, 9, range(4)))
    door.env.run(until=2)
    rank, active = door.serving()
    door.frontend.given_up(rank, active, "outgrew_pool")
    door.env.run()
    row = door.row()
    assert (row["status"], row["reason"], row["end_s"]) == ("rejected", "outgrew_pool", 2.5)
    assert door.loads() == ([0, 0], [0, 0], [0, 0])
    assert (row["ttft_s"], row["e2e_s"]) == (None, None)


def test_a_booking_that_expired_is_not_freed_again():
    door = Door(turn(0, 64, 9, range(4)), turn(700, 64, 9, range(4)))
    door.env.run(until=800)
    rank, active = door.serving(0)
    other = door.serving(1)[0]
    before = door.loads()
    assert sum(before[2]) == before[2][other] == 1, "the second one's; of the first one nothing was heard"
    door.output(rank, tokens=[active], finished=[active])
    door.env.run()
    assert door.loads() == before


def test_blocks_of_the_answer_are_told_only_if_the_router_tracks_them():
    for track in (False, True):
        door = Door(
            turn(0, 30, 40, range(2)),
            config={"track_output_blocks": True},
            track_outputs=track,
        )
        door.env.run(until=2)
        rank, active = door.serving()
        blocks = []
        for _ in range(20):
            door.output(rank, tokens=[active])
            door.env.run(until=door.env.now + 1)
            blocks.append(door.loads()[1][rank])
        # One full block of the prompt; tokens 3 and 19 of the answer are the first of a third and fourth.
        assert blocks == ([1] * 2 + [2] * 16 + [3] * 2 if track else [1] * 20)


# -- KV events -----------------------------------------------------------------------------------------------


def stored(blocks, *, parent=None, group=ATTENTION, tier="device"):
    return KvEvent(True, group, parent, list(blocks), tier)


def removed(blocks, *, group=ATTENTION, tier="device"):
    return KvEvent(False, group, None, list(blocks), tier)


def after_events(*events, **options):
    """A door after a worker of rank 1 published events at 2 s about the prompt of its only request."""
    door = Door(turn(0, 64, 1, range(4)), **options)
    door.env.run(until=2)
    door.request = trace(turn(0, 64, 1, range(4))).requests[0]
    door.output(1, events=events)
    return door


def test_an_event_reaches_the_index_after_its_delay():
    door = after_events(stored([0, 1]))
    door.env.run(until=2.0624)
    assert door.device_blocks(door.request) == [0, 0]
    door.env.run(until=2.0626)
    assert door.device_blocks(door.request) == [0, 2]


def test_of_a_block_that_is_held_twice_only_the_last_copy_s_end_is_told():
    request = turn(0, 64, 1, range(4))
    door = Door(request)
    blocks = door.prefixes.add(request.chunks, 64).blocks
    stored = KvEvent(True, ATTENTION, None, blocks, "device")
    removed = KvEvent(False, ATTENTION, None, range(blocks[3], blocks[1], -1), "device")
    door.output(1, events=[stored, stored, removed])
    door.env.run()
    assert door.device_blocks(request) == [0, 4]
    door.output(1, events=[removed])
    door.env.run(until=door.env.now + 1)
    assert door.device_blocks(request) == [0, 2]


def test_a_choice_at_the_instant_of_an_event_s_arrival_sees_it():
    seen = []
    door = after_events(stored([0, 1]))
    door.env.at(
        door.env.now + 0.0625, Phase.ARRIVAL, 0, lambda: seen.append(door.device_blocks(door.request))
    )
    door.env.run()
    assert seen == [[0, 2]]


def test_events_of_a_worker_keep_their_order():
    door = after_events(stored([0, 1, 2]), removed([2]), removed([1]))
    door.output(1, events=[stored([1], parent=0)])
    door.env.run(until=3)
    assert door.device_blocks(door.request) == [0, 2]


def test_blocks_whose_parent_is_unknown_are_dropped():
    door = after_events(stored([1], parent=0), stored([0]))
    door.env.run(until=3)
    assert door.device_blocks(door.request) == [0, 1]


def test_only_attention_reaches_the_router():
    door = after_events(*(stored([0, 1], group=group) for group in range(ATTENTION)), stored([]))
    assert not door.pool.replicas[0].undelivered, "nothing was sent"
    door.env.run(until=3)
    assert door.device_blocks(door.request) == [0, 0]


HOST_TOO = {"device": "device", "host": "host"}


@pytest.mark.parametrize(("router_tiers", "host_blocks"), [(DEVICE_ONLY, [0, 0]), (HOST_TOO, [0, 2])])
def test_a_tier_is_seen_only_if_the_router_knows_it(router_tiers, host_blocks):
    events = stored([0], tier="host"), stored([1], parent=0, tier="host")
    door = after_events(*events, router_tiers=router_tiers)
    door.env.run(until=3)
    assert door.host_blocks(door.request) == host_blocks
    door.output(1, events=[removed([0], tier="host")])
    door.env.run(until=4)
    assert door.host_blocks(door.request) == [0, 0]


def test_tiers_that_a_router_takes_for_one_are_copies_of_it():
    """A block in both stays until it is in neither."""
    as_disk = {"device": "device", "nvme": "disk", "store": "disk"}
    events = stored([0], tier="nvme"), stored([0], tier="store"), stored([1], tier="store")
    door = after_events(*events, removed([0], tier="nvme"), removed([1], tier="store"), router_tiers=as_disk)
    door.env.run(until=3)
    door.pool.replicas[0].undelivered.open(3.0)
    assert door.router.held("disk") == [(0, 1, 0b10)]
