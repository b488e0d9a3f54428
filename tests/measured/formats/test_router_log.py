import json
import re
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.base.errors import InputError
from sim.measured.formats.formula import candidate
from sim.measured.formats.router_log import RouterLog, read_router_log
from tests.measured.small_run import IDS, UNIX_S, WORKERS
from tests.measured.small_run import lines as lines_of

LINES = lines_of("router.log")


def read(folder: Path, lines: list[str], name: str = "router.log") -> RouterLog:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return read_router_log(path)


def coloured(line: str) -> str:
    """Return a line as a terminal has it: time, level, target and the names of fields in colours."""
    head = re.match(r"(\S+Z)( +[A-Z]+) (\S.*?): (?=[A-Z[a-z]+ |\[)", line)
    if head is None:
        return line
    rest = re.sub(r" (\w+)=", "\x1b[0m \x1b[3m\\1\x1b[0m\x1b[2m=\x1b[0m", line[head.end() :])
    return f"\x1b[2m{head[1]}\x1b[0m\x1b[32m{head[2]}\x1b[0m \x1b[2m{head[3]}\x1b[0m\x1b[2m:\x1b[0m {rest}"


def as_json(line: str) -> str:
    """Return a text line as the JSONL of the same log: the router's id only, the numbers of spans as text."""
    match = re.match(r"(\S+)\s+([A-Z]+) (?:http-request:completions: )?(\S+): (.*)", line)
    assert match
    time, level, target, message = match.groups()
    fields = dict(re.findall(r'(\w+)=("[^"]*"|\S+)', message))
    fields["request_id"] = (
        next(found for found in IDS if found in message) if IDS[0][:4] in message else "http"
    )
    words = re.match(r"(Formula .*\)|\[ROUTING\] Best.*overlap|.*?)(?= [\w.]+=|$)", message)
    assert words
    span = "phase" in fields
    values = {
        key: value.strip('"') if span or not value.isdecimal() else int(value)
        for key, value in fields.items()
    }
    return json.dumps({"time": time, "level": level, "target": target, "message": words[1], **values})


def test_candidates_are_joined_to_their_choice(tmp_path: Path) -> None:
    log = read(tmp_path, LINES)
    assert [request.request_id for request in log.requests] == list(IDS)
    assert (log.n_other_lines, log.n_unjoined_candidates) == (1, 0)
    last = log.requests[2]
    assert (last.client_id, last.prompt_tokens, last.output_tokens) == ("req-2", 70, 1)
    assert (last.received_s, last.end_s, last.status) == (UNIX_S + 1.053, UNIX_S + 4, "success")
    assert last.block_tokens == 16
    [decision] = last.decisions
    assert (decision.stage, decision.worker_id, decision.cost) == ("aggregated", WORKERS[1], 7.375)
    assert (decision.overlap_blocks, decision.prompt_blocks, decision.host_blocks) == (1, 5, 0)
    assert (decision.now_s, decision.ended_s, decision.failed) == (UNIX_S + 1.053, UNIX_S + 4, False)
    assert [(c.worker_id, c.cost, c.cached_blocks) for c in decision.candidates] == [
        (WORKERS[0], 8.375, 2.0),
        (WORKERS[1], 7.375, 1.0),
    ]
    assert decision.chosen is decision.candidates[1]
    assert decision.cheapest == [decision.chosen]
    assert len(log.requests[0].decisions[0].cheapest) == 2


def test_colours_change_nothing(tmp_path: Path) -> None:
    plain = read(tmp_path, LINES)
    assert read(tmp_path, [*map(coloured, LINES)], "coloured.log") == plain


def test_jsonl_says_the_same(tmp_path: Path) -> None:
    plain = read(tmp_path, LINES)
    assert read(tmp_path, [LINES[0], *map(as_json, LINES[1:])], "router.jsonl") == plain


BY_REQUEST = [
    [line for line in LINES if f'"req-{row}"' in line or f'"{IDS[row]}"' in line] for row in range(3)
]


@given(st.permutations([row for row, lines in enumerate(BY_REQUEST) for _ in lines]))
def test_concurrent_requests_may_be_logged_in_any_interleaving(order: list[int]) -> None:
    waiting = [iter(lines) for lines in BY_REQUEST]
    with TemporaryDirectory() as folder:
        woven = read(Path(folder), [next(waiting[row]) for row in order])
        in_turn = read(Path(folder), LINES)
    key = attrgetter("request_id")
    assert sorted(woven.requests, key=key) == sorted(in_turn.requests, key=key)


def test_a_log_in_two_files_is_one(tmp_path: Path) -> None:
    lines = LINES
    whole = read(tmp_path, lines)
    for name, part in (("a.log", lines[:5]), ("b.log", lines[5:])):
        read(tmp_path, part, name)
    assert read_router_log(tmp_path / "a.log", tmp_path / "b.log") == whole


SELECTOR = "2027-01-15T08:00:00.000000Z DEBUG dynamo_kv_router::scheduling::selector"


def formula(worker: int) -> str:
    return (
        f"Formula for worker_id={WORKERS[worker]} dp_rank=0 with 0.00 effective cached blocks: 4.500 = "
        "prefill_load_scale * adjusted_prefill_blocks + decode_blocks + active_request_cost_blocks = "
        "1.000 * 2.500 + 2.000 + 0.000 (raw_prefill_blocks: 2.500, overlap_credit_blocks: 0.000, "
        "overlap_credit_decay: 1.000)"
    )


def choice(worker: int, worker_type: str, request_id: str = "r") -> list[str]:
    return [
        f'{SELECTOR}::default: {formula(worker)} request_id="{request_id}" worker_type="{worker_type}"',
        f'{SELECTOR}: Selected worker router_mode="kv" request_id="{request_id}" worker_id={WORKERS[worker]} '
        f"worker_type={worker_type} dp_rank=0 logit=4.5 host_pinned_blocks=3 disk_blocks=0",
    ]


def ended(phase: str, worker: int, word: str = "completed") -> str:
    return (
        f"2027-01-15T08:00:01.000000Z  INFO request_span: route request {word} request_id=r phase={phase} "
        f"worker_id={WORKERS[worker]}"
    )


def test_a_disaggregated_request_is_chosen_for_twice(tmp_path: Path) -> None:
    log = read(
        tmp_path,
        [*choice(0, "prefill"), ended("Prefill", 0), *choice(1, "decode"), ended("Decode", 1, "failed")],
    )
    [request] = log.requests
    prefill, decode = request.decisions
    assert (prefill.stage, prefill.worker_id, prefill.host_blocks, prefill.failed) == (
        "prefill",
        WORKERS[0],
        3,
        False,
    )
    assert (decode.stage, decode.worker_id, decode.failed) == ("decode", WORKERS[1], True)
    assert [len(decision.candidates) for decision in request.decisions] == [1, 1]
    assert request.decision("prefill", "aggregated") is prefill
    assert request.decision("peek") is None


def test_what_conditional_disaggregation_asks_is_a_peek(tmp_path: Path) -> None:
    decided = f"{SELECTOR}::x: Conditional disagg decision request_id=r bypass=true"
    pinned = (
        f"{SELECTOR}: Selected pinned worker: worker_type=decode, worker_id={WORKERS[1]} dp_rank=0, "
        'logit: 12.250, effective cached blocks: 0.00 request_id="r"'
    )
    log = read(tmp_path, [*choice(1, "decode"), decided, pinned])
    assert [decision.stage for decision in log.decisions] == ["peek", "aggregated"]
    assert log.decisions[1].worker_id == WORKERS[1]


def test_round_robin_logs_a_worker_only_when_the_request_ends(tmp_path: Path) -> None:
    line = (
        "2027-01-15T08:00:01.000000Z  INFO a:router.route_request: request_span: route request completed "
        f'request.outcome="success" x_request_id="req-0" request_id=http request_id=r router_mode=RoundRobin '
        f"worker_id={WORKERS[1]}"
    )
    received = (
        "2027-01-15T08:00:00.000000Z  INFO a: x::metrics: request received request_id=r "
        'x_request_id="req-0" request_id=http'
    )
    [request] = read(tmp_path, [received, line]).requests
    [decision] = request.decisions
    assert (decision.stage, decision.worker_id, decision.now_s) == ("aggregated", WORKERS[1], None)
    assert (decision.candidates, decision.chosen, decision.cheapest) == ((), None, [])


def test_candidates_without_a_choice_are_counted(tmp_path: Path) -> None:
    assert read(tmp_path, choice(0, "decode")[:1]).n_unjoined_candidates == 1


def test_an_unknown_form_of_a_candidate_names_the_file(tmp_path: Path) -> None:
    line = choice(0, "decode")[0].replace("overlap_credit_decay", "decay")
    with pytest.raises(InputError, match=r"router\.log, line 1: a candidate's line in a form"):
        read(tmp_path, [line])


def test_the_terms_make_the_cost() -> None:
    standard = candidate(
        "Pinned formula for worker_id=18446744073709551613 dp_rank=2 with 2.50 effective cached blocks, "
        "3 shared blocks beyond device (multiplier=0.50): 17.000 = prefill_load_scale * "
        "adjusted_prefill_blocks + decode_blocks + active_request_cost_blocks = "
        "4.000 * 1.500 + 9.000 + 2.000 "
        "(raw_prefill_blocks: 4.000, overlap_credit_blocks: 2.500, overlap_credit_decay: 0.500)",
    )
    assert (standard.worker_id, standard.dp_rank, standard.cached_blocks) == (2**64 - 3, 2, 2.5)
    assert (standard.prefill_load_scale, standard.raw_prefill_blocks) == (4.0, 4.0)
    assert standard.overlap_credit_decay == 0.5
    assert standard.cost_of_terms == standard.cost == 17.0
    decode = candidate(
        "Formula for worker_id=1 dp_rank=0 with 4.00 effective cached blocks: 3.000 = max(0, decode_blocks - "
        "overlap_credit_blocks) + active_request_cost_blocks = max(0, 6.000 - 4.000) + 1.000",
    )
    assert decode.cost_of_terms == decode.cost == 3.0
    assert decode.prefill_load_scale is None
