"""What a person reads of one routing decision: a line a worker, as the cost is made, and what came of it."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from sim.base import words
from sim.base.words import counted, exactly
from sim.ledger.account import CAUSES
from sim.results.explanation import Choice, Explanation, Values
from sim.results.labels import CAUSE_LABELS
from sim.show.text.page_parts import footnotes, heading
from sim.show.text.page_table import PageTable
from sim.show.text.versions import rules_line

_STAGES = {
    "aggregated": "To a worker that computes prompt and answer",
    "prefill": "Prefill leg: to a worker that computes the prompt",
    "decode": "Decode leg: to a worker that computes the answer",
}
_EXPECTED = "expected_recomputed_tokens"


class _Term(NamedTuple):
    """A column of the table of candidates."""

    name: str
    value: Callable[[Values], Any]


def render_explanation(found: Explanation) -> RenderableType:
    """Return an explanation ready to print."""
    request = found.request
    name = f"Request {request['index']}: session {request['session']}, turn {request['turn']}"
    sent = "" if request["send_s"] is None else f"sent at {words.seconds(request['send_s'])}"
    if request["late_s"]:
        sent += f", {words.seconds(request['late_s'])} after it was due"
    return Group(
        heading(name, sent),
        *rules_line([{"versions": found.versions}]),
        _asked(request, found.block_tokens),
        *(part for choice in found.choices for part in (Text(), _choice(choice, found.block_tokens))),
        Text(),
        _afterwards(request),
        *_alternative(found),
        *_oracle(found),
        footnotes(_notes(found)),
    )


def _asked(request: Values, block_tokens: int) -> Text:
    says = counted(request["prompt_tokens"], "prompt token")
    if request["required_tokens"] is not None:
        says += f", {words.count(request['required_tokens'])} of them in no earlier prompt"
    if request["returned_tokens"]:
        says += f", {words.count(request['returned_tokens'])} of these in an earlier answer"
    return Text(f"{says}; blocks of {exactly(block_tokens, 'token')}")


def _choice(choice: Choice, block_tokens: int) -> RenderableType:
    title = Text.assemble((_STAGES.get(choice.leg, choice.leg), "bold"), f", at {choice.now_s:.3f} s")
    return Group(title, _formula(choice), _table(choice, block_tokens), _verdict(choice))


def _formula(choice: Choice) -> Text:
    parts = []
    if _has_prefill(choice):
        parts.append(f"{choice.candidates[0]['prefill_load_scale']:g} x prefill")
    if _has_decode(choice):
        parts.append("(decode - credit, at least 0)" if _decode_form(choice) else "decode")
    if _any(choice, "active_request_cost_blocks"):
        parts.append("requests")
    taints = ", times the factor of preferred taints" if _tainted(choice) else ""
    return Text(f"cost = {' + '.join(parts)}{taints}, in blocks", style="dim")


def _table(choice: Choice, block_tokens: int) -> PageTable:
    terms = _terms(choice, block_tokens)
    grid = PageTable(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    grid.add_column("worker", justify="right", no_wrap=True)
    for term in terms:
        grid.add_column(Text(term.name), justify="right", no_wrap=True)
    for row in sorted(choice.candidates, key=lambda row: row["worker"]):
        mark, style = ("> ", "bold green") if row["chosen"] else ("", "")
        grid.add_row(f"{mark}{row['worker']}", *(term.value(row) for term in terms), style=style)
    return grid


def _terms(choice: Choice, block_tokens: int) -> list[_Term]:
    """Return the columns that say something of these candidates, in the order of the sum."""
    terms = []
    if _has_prefill(choice):
        terms += [
            _Term("booked", lambda row: _blocks(row["active_prefill_tokens"] / block_tokens)),
            _Term("+ prompt", lambda row: _blocks(_prompt_blocks(row, block_tokens))),
            _Term("- credit", lambda row: _blocks(row["overlap_credit_blocks"])),
            _Term("= prefill", lambda row: _blocks(row["adjusted_prefill_blocks"])),
        ]
    if _has_decode(choice):
        terms += [
            _Term("active", lambda row: _blocks(row["active_blocks"])),
            _Term("+ new", lambda row: _blocks(row["decode_blocks"] - row["active_blocks"])),
            _Term("= decode", lambda row: _blocks(row["decode_blocks"])),
        ]
    if _decode_form(choice):
        terms.append(_Term("credit", lambda row: _blocks(row["overlap_credit_blocks"])))
    if _any(choice, "active_request_cost_blocks"):
        terms.append(_Term("requests", lambda row: _blocks(row["active_request_cost_blocks"])))
    if _tainted(choice):
        terms.append(_Term("taints", lambda row: words.number(row["taint_factor"])))
    terms.append(_Term("cost", lambda row: _blocks(row["cost"])))
    if _EXPECTED in choice.candidates[0]:
        terms.append(_Term("to recompute", lambda row: counted(row[_EXPECTED], "token")))
    return terms


def _verdict(choice: Choice) -> Text:
    others = len(choice.candidates) - 1
    among = ", ".join(map(str, choice.cheapest))
    cost = next(row["cost"] for row in choice.candidates if row["chosen"])
    above = cost - min(row["cost"] for row in choice.candidates)
    distance = f", {_blocks(above)} blocks above the lowest cost" if above else ", at the lowest cost"
    says = {
        "only-candidate": "the only candidate",
        "lowest-cost": f"the lowest cost of {others + 1}",
        "tie": f"by chance, among workers {among} of equal lowest cost",
        "temperature": f"drawn by softmax of the costs, temperature {choice.temperature:g}{distance}",
        "policy": f"policy {choice.policy} chose{_blind(choice)}{distance}",
        "own-policy": f"a policy passed by the caller chose{distance}",
    }[choice.why]
    return Text.assemble((f"Worker {choice.chosen}", "bold green"), f": {says}")


def _blind(choice: Choice) -> str:
    return "" if choice.reads_cache else ", which does not look at caches"


def _afterwards(request: Values) -> RenderableType:
    """Say what became of the request."""
    facts = {"Status": request["status"] + (f": {request['reason']}" if request["reason"] else "")}
    if request["retries"]:
        times = exactly(request["retries"], "time")
        facts["Tried again"] = f"{times}, its worker having been lost"
    if request.get("router_queue_s"):
        facts["At the router"] = f"waited {words.seconds(request['router_queue_s'])} in its queue"
    if request["first_token_s"] is not None:
        facts["TTFT"] = words.seconds(request["ttft_s"])
        if request["queue_s"]:
            facts["TTFT"] += f", {words.seconds(request['queue_s'])} of it in the worker's queue"
        if request["e2e_s"] is not None:
            facts["E2E"] = words.seconds(request["e2e_s"])
    if request["first_scheduled_s"] is not None:
        hits = f"{words.count(request['local_hit_tokens'])} in GPU memory"
        hits += f", {words.count(request['external_hit_tokens'])} loaded from the CPU tier"
        if request["credit_tokens"] is not None:
            hits += f"; the router took {words.count(request['credit_tokens'])} to be cached"
        facts["Hit"] = hits
        facts["Computed"] = counted(request["computed_prompt_tokens"], "prompt token")
        causes = ", ".join(
            f"{words.count(request[f'{cause}_tokens'])} {CAUSE_LABELS[cause]}"
            for cause in CAUSES
            if request[f"{cause}_tokens"]
        )
        facts["Recomputed"] = words.count(request["recomputed_tokens"]) + (f": {causes}" if causes else "")
    if request["pull_end_s"] is not None:
        took = words.seconds(request["pull_end_s"] - request["pull_start_s"])
        facts["KV pulled"] = f"{words.data(request['pulled_bytes'])} in {took}"
    grid = PageTable.grid(padding=(0, 2, 0, 0))
    for name, fact in facts.items():
        grid.add_row(Text(name, style="dim"), Text(fact))
    return Group(Text("What it cost afterwards", style="bold"), grid)


def _alternative(found: Explanation) -> Sequence[RenderableType]:
    """Say what the choice with the fewest recomputed tokens would have been."""
    fewest = found.fewest
    if fewest is None:
        return ()
    chosen = next(choice for choice in found.choices if _EXPECTED in choice.candidates[0])
    spared = fewest.chosen_expected_tokens - fewest.expected_tokens
    tokens = counted(fewest.expected_tokens, "token")
    if fewest.worker == chosen.chosen:
        says = f"the chosen worker, {fewest.worker}: {tokens} expected, no candidate less"
    else:
        cost = next(row["cost"] for row in chosen.candidates if row["chosen"])
        says = (
            f"worker {fewest.worker}: {tokens} expected, {words.count(spared)} less than "
            "worker "
            f"{chosen.chosen}, {_against(fewest.cost - cost)}"
        )
    return (Text(), Text.assemble(("Choice with the fewest recomputed tokens: ", "bold"), says))


def _oracle(found: Explanation) -> Sequence[RenderableType]:
    """Say what who knows the caches themselves would have chosen."""
    regret = found.regret
    if regret is None:
        return ()
    says = "no candidate truly had more of the prompt than the chosen worker"
    if regret.tokens:
        tokens = counted(regret.tokens, "token")
        says = f"the oracle would have chosen worker {regret.worker}: {tokens} less to compute"
    return (Text.assemble(("By the caches themselves: ", "bold"), says),)


def _against(blocks: float) -> str:
    if not blocks:
        return "at the same cost"
    return f"at a cost {_blocks(abs(blocks))} blocks {'higher' if blocks > 0 else 'lower'}"


def _notes(found: Explanation) -> list[str]:
    if found.fewest is None:
        return []
    notes = ["to recompute: tokens of earlier prompts behind the blocks that the index has of a worker"]
    if found.request["retries"]:
        notes.append("what this request's lost workers had computed is in no earlier prompt, and recomputed")
    if found.request["decode_worker"] == found.request["worker"]:
        why = (
            "conditional disaggregation left"
            if found.conditional
            else "without any prefill worker Dynamo leaves"
        )
        notes.append(f"{why} this prompt to its decode worker")
    return notes


def _prompt_blocks(row: Values, block_tokens: int) -> float:
    blocks: float = row["raw_prefill_blocks"] - row["active_prefill_tokens"] / block_tokens
    return blocks


def _blocks(value: float) -> str:
    """Return a number of blocks, with a decimal unless it is whole."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def _any(choice: Choice, column: str) -> bool:
    return any(row[column] for row in choice.candidates)


def _has_prefill(choice: Choice) -> bool:
    return _any(choice, "raw_prefill_blocks")


def _has_decode(choice: Choice) -> bool:
    return _any(choice, "decode_blocks") or not _has_prefill(choice)


def _decode_form(choice: Choice) -> bool:
    """Whether the credit comes off the decode blocks (see `CostTerms`)."""
    return not _has_prefill(choice) and _any(choice, "overlap_credit_blocks")


def _tainted(choice: Choice) -> bool:
    return any(row["taint_factor"] != 1 for row in choice.candidates)
