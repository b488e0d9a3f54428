"""What the slowest requests of a run waited for: `time_spent` of its summary, if `output.time_spent` asks.

- `slowest`: for all requests (`all`), for first and later turns (`by_turn`) and for each tag (`by_tag`) the
  means over those of the completed ones whose time to first token is that of their 95th percentile or longer:
  `ttft_s`, and of it `router_s`, from sending to the router's choice, with the wait behind a busy gate or in
  the router's queue; `queue_s` in the queues of workers, loads from lower tiers included; `prefill_s`,
  scheduled until computed, steps shared with others included; `transfer_s` of KV to the decode worker;
  `rest_s`, all else. `n` is how many they are.
- `decoding_s`: seconds from first to last token, of all requests together; over the time and the decode
  workers of the run that is the mean batch.
- `links`: by kind of link how busy the busiest was (`utilisation`), how much longer transfers took than alone
  (`waiting_s`, summed), and `n_bytes`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.base.sums import added
from sim.results.rows import Table
from sim.results.within import parts

_SLOWEST = 95
"""Those from this percentile on."""


def time_spent(requests: Table, links: Table) -> dict[str, Any]:
    """Return the table of the summary; `requests` are those that count."""
    completed = requests.values("status").values == "completed"
    answered = completed & requests.values("first_token_s").measured
    slowest: dict[str, Any] = {}
    for part, mask in parts(requests):
        table, _, name = (part or "all").partition(".")
        found = _slowest(requests, mask & answered)
        if name:
            slowest.setdefault(table, {})[name] = found
        else:
            slowest[table] = found
    end, first = requests.values("end_s").values, requests.values("first_token_s").values
    return {
        "slowest": slowest,
        "decoding_s": added((end - first)[answered].tolist()),
        "links": _links(links),
    }


def _slowest(requests: Table, mask: NDArray[np.bool_]) -> dict[str, float | int | None]:
    ttft = requests.values("ttft_s").values
    chosen = mask.copy()
    if mask.any():
        chosen &= ttft >= np.percentile(ttft[mask], _SLOWEST)
    spans = {
        "router_s": _span(requests, "send_s", "routed_s"),
        "queue_s": requests.values("queue_s").values + _span(requests, "decode_queued_s", "pull_start_s"),
        "prefill_s": _prefill(requests),
        "transfer_s": _span(requests, "pull_start_s", "pull_end_s"),
    }
    spans["rest_s"] = ttft - sum(spans.values(), np.zeros(len(requests)))
    n = int(chosen.sum())
    means = {
        name: added(values[chosen].tolist()) / n if n else None
        for name, values in {"ttft_s": ttft, **spans}.items()
    }
    return {"n": n, **means}


def _span(requests: Table, begin: str, end: str) -> NDArray[np.float64]:
    """Return how long each request took between two times, 0 where it did not come to both."""
    begun, ended = requests.values(begin), requests.values(end)
    took: NDArray[np.float64] = np.where(begun.measured & ended.measured, ended.values - begun.values, 0.0)
    return took


def _prefill(requests: Table) -> NDArray[np.float64]:
    """Return how long prompts took once scheduled: to the prefill worker's answer, or to the first token."""
    apart = requests.values("prefilled_s").measured
    to_answer = _span(requests, "first_scheduled_s", "prefilled_s")
    return np.where(apart, to_answer, _span(requests, "first_scheduled_s", "first_token_s"))


def _links(links: Table) -> dict[str, Any]:
    kinds = links.column("kind")
    found: dict[str, Any] = {}
    for kind in dict.fromkeys(kinds):
        chosen = links.where(np.array([one == kind for one in kinds], np.bool_))
        found[kind] = {
            "utilisation": float(chosen.values("utilisation").values.max()),
            "waiting_s": added(chosen.values("waiting_s").values.tolist()),
            "n_bytes": int(chosen.values("n_bytes").values.sum()),
        }
    return found
