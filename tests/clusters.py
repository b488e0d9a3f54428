"""Small clusters for tests: a tiny model, traces made by hand, step times of round numbers."""

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from sim.cluster.build import Cluster
from sim.cluster.checks.switch import watch_wanted
from sim.engine.settings import EngineSettings
from sim.results.rows import Rows
from sim.scenario.scenario import Scenario
from sim.workload.request import Answer, Request, Trace

NO_DELAYS = dict.fromkeys(
    ("alpha_in_s", "alpha_in_s_per_token", "alpha_out_s", "dispatch_s", "event_delay_s"), 0.0
)
HOST_BLOCK_BYTES = 4096  # a block of the CPU tier takes at least a page
BLOCK_BYTES = 1024  # of a block of 16 tokens: 64 bytes a token


class Pace:
    """A step-time law: so much a step, so much for each of its tokens and for each token of context."""

    def __init__(self, step_s=1.0, token_s=0.0, context_s=0.0):
        self._step_s, self._token_s, self._context_s = step_s, token_s, context_s

    def step_s(self, prefill, decode_batch, decode_context_tokens):
        tokens = decode_batch + sum(new for new, _ in prefill)
        if not tokens:
            return 0.0
        return self._step_s + self._token_s * tokens + self._context_s * decode_context_tokens

    def decode_s(self, batch, sum_context_tokens, n):
        contexts = (sum_context_tokens + batch * np.arange(n)).astype(float)
        return self._step_s + self._token_s * batch + self._context_s * contexts


def tiny_model(state_groups=0) -> dict[str, Any]:
    """A model of one full-attention layer, with blocks of 16 tokens even if it keeps recurrent states."""
    model = dict.fromkeys(
        ("hidden_size", "intermediate_size", "vocab_size", "full_attention_layers", "attention_heads"), 1
    )
    model |= {"name": "tiny", "kv_heads": 1, "head_dim": 16, "max_model_len": 100_000}
    if state_groups:
        linear = ("key_heads", "key_head_dim", "value_heads", "value_head_dim")
        model |= {"linear_attention_layers": state_groups, **{f"linear_{name}": 4 for name in linear}}
    return model


def scenario(state_groups=0, **sections: Mapping[str, Any]) -> Scenario:
    """Two workers of 100 blocks without delays, the sections of a scenario laid over that."""
    base: dict[str, Any] = {
        "workload": {"profile": "talk", "sessions": 1},  # tests pass a trace of their own
        "replay": {"client": "open-loop"},
        "model": tiny_model(state_groups),
        "gpu": "h100-80gb",
        "workers": {"count": 2},
        "engine": {"kv_blocks": 101, "max_num_batched_tokens": 64},
        "frontend": NO_DELAYS,
        "output": {"worker_interval_s": 0},
    }
    for name, section in sections.items():
        merge = isinstance(section, Mapping) and isinstance(base.get(name), Mapping)
        base[name] = base[name] | dict(section) if merge else section
    return Scenario.model_validate(base)


def turn(at_s, prompt_tokens, output_tokens, chunks, session="s", *, delay_s=None) -> Request:
    """A request whose place in trace and session `trace` fills in; `chunks` are ids of 16 tokens each."""
    return Request(-1, session, -1, at_s, delay_s, prompt_tokens, output_tokens, tuple(chunks))


def trace(*turns: Request, chunk_tokens=16) -> Trace:
    """A trace of turns that are in the order of their timestamps."""
    count: dict[str, int] = {}
    requests = []
    for index, request in enumerate(turns):
        place = count[request.session] = count.get(request.session, -1) + 1
        requests.append(
            Request(
                index,
                request.session,
                place,
                request.timestamp_s,
                request.delay_s,
                request.prompt_tokens,
                request.output_tokens,
                request.chunks,
            )
        )
    return Trace(tuple(requests), chunk_tokens, "made by hand")


def build_cluster(
    settings: Scenario, requests: Trace, law=None, *, check: bool | None = None, **options: Any
) -> Cluster:
    """Return a cluster that is ready to run, checked unless `check` or the environment says otherwise."""
    return Cluster(
        settings,
        requests,
        settings.capacity(),
        settings.coefficients(),
        step_time=law or Pace(),
        watch=watch_wanted(check),
        **options,
    )


def run_cluster(settings: Scenario, requests: Trace, law=None, **options: Any) -> Cluster:
    """Run a trace to its end and return the cluster as it stands then."""
    cluster = build_cluster(settings, requests, law, **options)
    cluster.run()
    return cluster


def rows(cluster: Cluster, table="requests") -> list[dict[str, Any]]:
    """The rows of a table of a cluster, by column name."""
    return named_rows(cluster.recorder.rows, table)


def named_rows(tables: Rows, table="requests") -> list[dict[str, Any]]:
    """The rows of one of the tables, by column name."""
    found = tables.tables[table]
    names = [column.name for column in found.columns]
    values = zip(*(found.column(name) for name in names), strict=True)
    return [dict(zip(names, row, strict=True)) for row in values]


def with_answers(requests: Trace, random: Random) -> Trace:
    """Mark what later prompts hold of earlier ones and their answers, whatever the hash ids say of it."""
    marked = []
    for request in requests.requests:
        earlier = [other for other in requests.requests[: request.index] if _is_within(other, request)]
        answer = None
        if earlier and random.random() < 0.7:
            other = random.choice(earlier)
            most = min(other.prompt_tokens + other.output_tokens, request.prompt_tokens)
            answer = Answer(other.index, other.prompt_tokens, random.randint(other.prompt_tokens + 1, most))
        marked.append(replace(request, answer=answer))
    return replace(requests, requests=tuple(marked))


def _is_within(earlier: Request, later: Request) -> bool:
    """Whether a prompt may begin with another one: that is shorter, and may have the same session's start."""
    return earlier.prompt_tokens < later.prompt_tokens and earlier.session == later.session


class RandomCluster:
    """A cluster under pressure: few blocks, slow copies, shared prefixes, events at equal times."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._tick_s = random.choice([1 / 64, 0.01])  # the first one adds up without rounding
        self.state_groups = random.choice([0, 0, 2, 3])
        self.block_tokens = 16 if self.state_groups else random.choice([4, 8, 16])
        self.trace = self._trace()
        self.law = random.choice(
            [Pace(self._tick_s), Pace(self._tick_s, self._tick_s), Pace(0.013, 1.7e-4, 2.3e-5)] * 3
            + [Pace(0)]
        )
        sections = {
            "seed": random.randint(0, 3),
            "workers": {"count": random.randint(1, 3)},
            "engine": self._engine(),
            "frontend": self._frontend(),
            "router": {
                "policy": random.choice(["kv", "kv", "round-robin", "least-loaded"]),
                "track_output_blocks": random.random() < 0.3,
            },
            "replay": {
                "client": random.choice(["open-loop", "max-concurrency", "turn-dependent"]),
                "max_concurrency": random.choice(["sessions", 1, 3]),
            },
            "output": {"worker_interval_s": random.choice([0, 0.05])},
        }
        if random.random() < 0.8:
            sections["offload"] = self._offload()
        if random.random() < 0.5:
            sections["router"]["active_request_expiry_secs"] = random.choice([1.0, 1.25])
        sections["replay"]["answers"] = random.choice([None, "returned", "returned"])
        if random.random() < 0.5:
            self.trace = with_answers(self.trace, random)
        self.scenario = scenario(self.state_groups, **sections)

    def _trace(self) -> Trace:
        random = self._random
        chunk_tokens = random.choice([4, 8, 16])
        shared = range(random.randint(0, 6))
        next_chunk, turns = 100, []
        for session in range(random.randint(1, 6)):
            chunks = [*shared[: random.randint(0, len(shared))]]
            at_s = random.randint(0, 20) * self._tick_s
            for _ in range(random.randint(1, 5)):
                if chunks and random.random() < 0.1:
                    del chunks[(len(chunks) + 1) // 2 :]
                new = random.randint(0 if chunks else 1, 60 // chunk_tokens + 1)
                chunks += range(next_chunk, next_chunk + new)
                next_chunk += new
                missing = random.choice([0, 0, random.randint(0, chunk_tokens - 1)])
                output_tokens = random.choice([1, 2, random.randint(1, 10), random.randint(5, 120)])
                delay_s = random.choice([None, 0, self._tick_s])
                prompt_tokens = len(chunks) * chunk_tokens - missing
                turns.append(turn(at_s, prompt_tokens, output_tokens, chunks, str(session), delay_s=delay_s))
                at_s += random.randint(0, 20) * self._tick_s
        return trace(*sorted(turns, key=lambda request: request.timestamp_s), chunk_tokens=chunk_tokens)

    def _engine(self) -> dict[str, Any]:
        random, requests = self._random, self.trace.requests
        prompt = -(-max(request.prompt_tokens for request in requests) // self.block_tokens)
        longest = max(request.prompt_tokens + request.output_tokens for request in requests)
        states = 2 * self.state_groups
        blocks = random.choice(
            [prompt + states, 2 * prompt + states, 4 * prompt, longest // self.block_tokens + states]
        )
        engine = {
            "kv_blocks": blocks + random.randint(2, 4),
            "max_num_batched_tokens": random.choice([16, 48, 64, 200]),
            "max_num_seqs": random.choice([1, 2, 3, 100]),
            "max_model_len": max(random.choice([longest, longest, longest - 5]), 64 if states else 16),
            "async_scheduling": random.random() < 0.6,
            "watermark": random.choice([0, 0, 0.1, 0.3]),
        }
        if not self.state_groups:
            engine |= {
                "block_size": self.block_tokens,
                "long_prefill_token_threshold": random.choice([0, 0, 0, 5, 16]),
            }
        return engine

    def _frontend(self) -> dict[str, float]:
        if self._random.random() < 0.3:
            return {}
        ticks = self._random.choice([0, 1, 2])
        return NO_DELAYS | {
            name: self._random.randint(0, ticks) * self._tick_s
            for name in NO_DELAYS
            if name != "alpha_in_s_per_token"
        }

    def _offload(self) -> dict[str, Any]:
        random = self._random
        return {
            "cpu_bytes": HOST_BLOCK_BYTES * random.choice([1, 5, 20, 50, 200]),
            "eviction_policy": random.choice(["lru", "arc"]),
            "offload_prompt_only": random.random() < 0.5,
            "kv_events": random.choice(["placeholder", "self-describing"]),
            "link": {
                "bandwidth_bytes_per_s": random.choice([0.25, 1, 2, 1000]) * BLOCK_BYTES / self._tick_s,
                "latency_s": random.choice([0, self._tick_s]),
                "per_piece_s": 0,
            },
        }

    def use(self, engine: Mapping[str, Any]) -> None:
        """Let these settings of the engine hold."""
        given = self.scenario.engine.model_dump() | engine
        self.scenario = self.scenario.model_copy(update={"engine": EngineSettings.model_validate(given)})

    def run(self, *, fast_forward=True) -> Cluster:
        """Run it to its end."""
        engine = self.scenario.engine.model_copy(update={"fast_forward": fast_forward})
        return run_cluster(self.scenario.model_copy(update={"engine": engine}), self.trace, self.law)
