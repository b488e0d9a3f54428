"""Requests of agents are found again in the transcripts that they leave, whatever happens to them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from sim.workload.calls import Call
from sim.workload.findings import Findings
from sim.workload.formats.claude_code import calls
from sim.workload.lowering import rows_of
from tests.workload.formats.claude_code.made import FEATURES, make
from tests.workload.formats.claude_code.world import SECRET, Sent, World

CHUNK_TOKENS = 64
AGENTS = {"agents", "background", "forks_of_agents"}


def read(world: World, folder: Path) -> list[tuple[Sent, Call]]:
    """Return what was sent beside what is found, in the order of the latter; told by when it had ended."""
    world.save(folder)
    findings = Findings()
    found = calls([folder], findings)
    said = repr((found, findings.notes, findings.dropped, findings.fixed))
    assert SECRET not in said
    start = min(sent.send for sent in world.sent)
    by_end = {sent.end - start: sent for sent in world.sent}
    ends = [round(1000 * (call.end_s or 0)) for call in found]
    assert sorted(ends) == sorted(by_end)
    return [(by_end[end], call) for end, call in zip(ends, found, strict=True)]


def roots(sent: Iterable[Sent]) -> dict[object, Sent]:
    """Return the first prompt of each group."""
    found: dict[object, Sent] = {}
    for each in sorted(sent, key=lambda each: each.send):
        if each.group is not None:
            found.setdefault(each.group, each)
    return found


def all_before(waits: Sequence[Iterable[int]]) -> list[set[int]]:
    """Return all that each request waits for, as each of those does."""
    found: list[set[int]] = []
    for each in waits:
        found.append({further for one in each for further in (one, *found[one])})
    return found


def check_counts(pairs: Sequence[tuple[Sent, Call]]) -> None:
    start = min(sent.send for sent, _ in pairs)
    first = roots(sent for sent, _ in pairs)
    for sent, call in pairs:
        kept = 0 if first.get(sent.group) is sent else sent.kept
        parent = None if call.parent is None else pairs[call.parent][0]
        assert parent is sent.parent
        assert (call.prompt_tokens, call.output_tokens, call.model) == (sent.total, sent.output, sent.model)
        assert (round(1000 * (call.send_s or 0)), call.kept_tokens) == (sent.send - start, kept)
        assert call.answer_tokens == sent.answer
        if sent.read is not None and sent.name != "compaction":
            assert call.cached_tokens == sent.read
        if sent.by_tool is not None and sent.name != "compaction":
            assert call.by_tool == sent.by_tool
    streams = {(sent.stream, call.stream) for sent, call in pairs}
    assert len(streams) == len({one for one, _ in streams}) == len({other for _, other in streams})


def check_waits(pairs: Sequence[tuple[Sent, Call]]) -> None:
    number = {id(sent): n for n, (sent, _) in enumerate(pairs)}
    wanted = [[number[id(each)] for each in (*sent.waits, sent.before) if each] for sent, _ in pairs]
    last: dict[str, int] = {}
    waits = []
    for n, (_, call) in enumerate(pairs):
        waits.append(call.waits_for or ((last[call.stream],) if call.stream in last else ()))
        last[call.stream] = n
    before = all_before(wanted)
    assert all_before(waits) == before
    assert not any(one in before[other] for each in waits for one in each for other in each)
    delays = rows_of([call for _, call in pairs], CHUNK_TOKENS).delay
    for (sent, _), delay, known in zip(pairs, delays, before, strict=True):
        if known:
            assert round(1000 * delay) == max(sent.send - max(pairs[each][0].end for each in known), 0)


def check_ids(pairs: Sequence[tuple[Sent, Call]]) -> None:
    """Of a parent's full chunks those that are kept are shared; all others are new."""
    first = roots(sent for sent, _ in pairs)
    rows = rows_of([call for _, call in pairs], CHUNK_TOKENS)
    ids = {id(sent): rows.hash_ids(n).tolist() for n, (sent, _) in enumerate(pairs)}
    seen: set[int] = set()
    for sent, _ in pairs:
        own, origin = ids[id(sent)], sent.parent or first.get(sent.group)
        shared = 0
        if origin is not None and origin is not sent:
            shared = min(sent.kept, origin.total) // CHUNK_TOKENS
            assert own[:shared] == ids[id(origin)][:shared]
        assert len(own) == len(set(own)) == -(-sent.total // CHUNK_TOKENS)
        assert seen.isdisjoint(own[shared:])
        seen.update(own)


def check(world: World, folder: Path) -> None:
    pairs = read(world, folder)
    check_counts(pairs)
    check_waits(pairs)
    check_ids(pairs)


@pytest.mark.parametrize("feature", FEATURES)
def test_each_feature_alone(tmp_path: Path, feature: str) -> None:
    extra = {"beside": AGENTS, "workflows": AGENTS, "progress": AGENTS}.get(feature, set())
    for seed in (1, 2):
        check(make(seed, {feature, "tools", *extra}), tmp_path / str(seed))


@pytest.mark.parametrize("seed", range(8))
def test_all_at_once(tmp_path: Path, seed: int) -> None:
    check(make(seed, set(FEATURES)), tmp_path)
