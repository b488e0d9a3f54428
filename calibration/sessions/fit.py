"""Fits a profile of the generator to recorded sessions, by a fixed procedure, and writes it as TOML.

    python -m calibration.sessions.fit TRACES --sessions NAMES --name kct --source "..." --out FILE

Every distribution is the quantiles of what was recorded at the shares `SHARES`; every probability is a count
over turns. What goes together in a session is a correlation of normal scores, and what goes on from turn to
turn three variances and a ratio, by moments. What a session is made of, and the bands below, were chosen
while looking at all of the recordings; given those, no number is moved to bring what is generated closer.
"""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm, rankdata

from calibration.sessions.recorded import BLOCK_TOKENS, Numbers, Session, read_sessions
from sim.workload.profiles import FRESH_TOKENS, LARGE_WINDOW_TOKENS, SMALL_WINDOW_TOKENS

SHARES = (0, 0.01, 0.02, 0.05, *(k / 20 for k in range(2, 19)), 0.95, 0.98, 0.99, 0.995, 0.999, 1)
BANDS = {
    "fresh_small": (30_000, 60_000, 120_000, 140_000, 150_000, 160_000, SMALL_WINDOW_TOKENS),
    "fresh_large": (60_000, 120_000, SMALL_WINDOW_TOKENS, LARGE_WINDOW_TOKENS),
    "resumed": (60_000, 120_000, 140_000, 160_000, SMALL_WINDOW_TOKENS, LARGE_WINDOW_TOKENS),
}
"""Contexts up to which probabilities of compactions, edits and breaks are counted apart."""
OUTPUT_BANDS = (100, 200, 400, 800, 1_600, 1_000_000)
EXTERNAL_BANDS = (20_000, 30_000, 40_000, SMALL_WINDOW_TOKENS, LARGE_WINDOW_TOKENS)
"""Contexts up to which the distribution of what is added behind answers is one of its own, where at least
`LEAST_VALUES` turns are known: sessions pass small contexts quickly."""
LEAST_VALUES = 100
LEAST_TURNS = 5
"""A session's level is known from so many turns at least."""
FAR_LAGS = range(20, 41)
"""So many turns apart, two turns share no more than the session's level."""


def fit(sessions: Sequence[Session]) -> dict[str, Any]:
    """Return the numbers of a profile."""
    before = np.concatenate([s.prompt[:-1] for s in sessions])
    growth = np.concatenate([s.growth for s in sessions])
    kept = np.concatenate([s.kept[1:] for s in sessions])
    lost = np.concatenate([s.lost_blocks for s in sessions]) * BLOCK_TOKENS
    kind_of = np.concatenate([np.full(s.growth.size, _kind(s)) for s in sessions])
    output = np.concatenate([s.output[:-1] for s in sessions])
    think = np.concatenate([s.think_s for s in sessions])
    user = np.concatenate([s.user[1:] for s in sessions])
    appends = np.concatenate([s.appends for s in sessions])
    breaks = np.concatenate([s.breaks for s in sessions])
    compactions = growth <= -before / 2
    edits = (growth < 0) & ~compactions
    kinds = np.stack([compactions, edits, breaks])
    timed = ~np.isnan(think)
    partial = appends & (growth < output)
    kept_of_new = np.minimum(kept, before + growth)
    lost_of_new = before + growth - kept_of_new
    external = (growth - output)[appends & ~partial]
    deep, quantiles = {}, {}
    for name, of, kept_tokens, lost_tokens in (
        ("compacted", compactions, kept_of_new, lost_of_new),
        ("edited", edits, kept_of_new, lost_of_new),
        ("broken", breaks, kept, lost),
    ):
        is_deep = kept_tokens < lost_tokens
        deep[name] = _share(is_deep[of])
        quantiles[f"{name}_kept_tokens"] = _quantiles(kept_tokens[of & is_deep])
        quantiles[f"{name}_lost_tokens"] = _quantiles(lost_tokens[of & ~is_deep])
    quantiles |= {
        "first_tokens": _quantiles([s.prompt[0] for s in sessions]),
        "turns": _quantiles([s.prompt.size for s in sessions]),
        "output_tokens": _quantiles(np.concatenate([s.output for s in sessions])),
        "partial_share": _quantiles(growth[partial] / output[partial], least=0.001),
        "compacted_tokens": _quantiles((before + growth)[compactions]),
        "edited_tokens": _quantiles(-growth[edits]),
        "broken_growth_tokens": _quantiles(growth[breaks]),
        "user_think_s": _quantiles(think[timed & user], least=0.1),
        "tool_think_s": _quantiles(think[timed & ~user], least=0.1),
    }
    return {
        "sessions": len(sessions),
        "requests": sum(s.prompt.size for s in sessions),
        "small_window_share": {
            name: _share([_is_small(s) for s in sessions if of(s)])
            for name, of in (("fresh", _is_fresh), ("resumed", _is_resumed_below_the_small_window))
        },
        "user_turn_share": _share(user[timed]),
        "shares": list(SHARES),
        "deep_share": deep,
        **_levels(sessions),
        "partial": _shares(OUTPUT_BANDS, output[appends], partial[None, appends]),
        "events": {
            kind: _shares(ends, before[kind_of == kind], kinds[:, kind_of == kind])
            for kind, ends in BANDS.items()
        },
        "quantiles": quantiles,
        "external": {
            "up_to_tokens": list(EXTERNAL_BANDS),
            "tokens": [_quantiles(values) for values in _in_bands(external, before[appends & ~partial])],
        },
    }


def _is_small(session: Session) -> bool:
    """Whether a session never had more context than the small window."""
    return bool(session.prompt.max() <= SMALL_WINDOW_TOKENS)


def _is_fresh(session: Session) -> bool:
    return bool(session.prompt[0] < FRESH_TOKENS)


def _is_resumed_below_the_small_window(session: Session) -> bool:
    return bool(FRESH_TOKENS <= session.prompt[0] <= SMALL_WINDOW_TOKENS)


def _kind(session: Session) -> str:
    """Return by which bands a session's compactions, edits and breaks are counted."""
    if not _is_fresh(session):
        return "resumed"
    return "fresh_small" if _is_small(session) else "fresh_large"


def _quantiles(values: Any, least: float = 1.0) -> list[float]:
    """Return the values at the shares of `SHARES`, none below `least`; of nothing, `least`."""
    found = np.quantile(values, SHARES) if len(values) else np.full(len(SHARES), least)
    return [float(f"{value:.4g}") for value in np.maximum(found, least)]


def _share(of: Any) -> float:
    """Return the share that is true, 0 of nothing."""
    return float(np.mean(of)) if len(of) else 0.0


def _in_bands(values: Numbers, context: Numbers) -> list[Numbers]:
    """Return the values at contexts of each band; all of them where it has few."""
    place = np.searchsorted(EXTERNAL_BANDS, context)
    inside = [values[place == band] for band in range(len(EXTERNAL_BANDS))]
    return [found if found.size >= LEAST_VALUES else values for found in inside]


def _shares(ends: Sequence[int], at: Numbers, kinds: Any) -> dict[str, list[Any]]:
    """Return how often each kind occurs in each band; in a band without turns, as often as in all."""
    place = np.searchsorted(ends, at)
    shares = []
    for band in range(len(ends)):
        inside = kinds[:, place == band] if (place == band).any() else kinds
        shares.append([round(_share(kind), 6) for kind in inside])
    return {"up_to_tokens": list(ends), "shares": shares}


def _levels(sessions: Sequence[Session]) -> dict[str, Any]:
    """Return what goes together in a session, and how what is drawn goes on from turn to turn."""
    scores = {"external": _external_scores(sessions), "output": _scores([s.output for s in sessions])}
    of_sessions = [
        _scores_of(np.array([s.prompt[0] for s in sessions])),
        _scores_of(np.array([s.prompt.size for s in sessions], float)),
    ]
    bursts, correlation, sds = {}, np.eye(4), [1.0, 1.0]
    for place, (name, found) in enumerate(scores.items()):
        bursts[name], level = _bursts(found)
        of_sessions.append(level)
        sds.append(bursts[name]["level_sd"])
        for other in range(place + 2):
            correlation[place + 2, other] = _common_correlation(
                of_sessions[other],
                level,
                [1, 1, bursts["external"]["level_sd"]][other],
                bursts[name]["level_sd"],
            )
    correlation[1, 0] = np.corrcoef(of_sessions[0], of_sessions[1])[0, 1]
    triangle = np.linalg.cholesky(_positive(np.tril(correlation) + np.tril(correlation, -1).T))
    rows = [[round(float(x), 4) for x in row[: k + 1]] for k, row in enumerate(triangle)]
    return {
        "together": rows,
        "output_after_external": _output_after_external(scores["external"], scores["output"], bursts),
        "bursts": bursts,
    }


def _bursts(scores: Sequence[Numbers]) -> tuple[dict[str, float], Numbers]:
    """Return how scores go on from turn to turn, and each session's mean; nan where it has few turns."""
    near, next_but_one = (_correlation(scores, lag) for lag in (1, 2))
    far = max(float(np.mean([_correlation(scores, lag) for lag in FAR_LAGS])), 0.01)
    ratio = float(np.clip((next_but_one - far) / max(near - far, 0.01), 0.05, 0.95))
    lasting = float(np.clip((near - far) / ratio, 0, 0.95 - far))
    own = 1 - far - lasting
    counts = np.array([np.isfinite(score).sum() for score in scores])
    known = counts >= LEAST_TURNS
    means = np.array([np.nanmean(score) if of else np.nan for score, of in zip(scores, known, strict=True)])
    noise = (own + lasting * _turns_alike(ratio, counts[known])) / counts[known]
    found = {
        "level_mean": np.nanmean(means),
        "level_sd": np.sqrt(max(np.nanvar(means) - noise.mean(), 0.01)),
        "lasting_sd": lasting**0.5,
        "ratio": ratio,
        "own_sd": own**0.5,
    }
    return {name: round(float(value), 4) for name, value in found.items()}, means


def _output_after_external(
    external: Sequence[Numbers], output: Sequence[Numbers], bursts: dict[str, dict[str, float]]
) -> float:
    """Return how what is added goes on in the answer to it, more than in the answer before."""
    after, before = (
        _pairs([(z, answers[at]) for z, answers in zip(external, output, strict=True)])
        for at in (slice(1, None), slice(None, -1))
    )
    own = bursts["external"]["own_sd"] * bursts["output"]["own_sd"]
    return round(float(np.clip((after - before) / own, 0, 0.9)), 4)


def _turns_alike(ratio: float, turns: Numbers) -> Numbers:
    """Return how many times the variance of independent turns that of the mean of lasting ones is."""
    found: Numbers = (1 + ratio) / (1 - ratio) - 2 * ratio * (1 - ratio**turns) / turns / (1 - ratio) ** 2
    return found


def _common_correlation(left: Numbers, right: Numbers, left_sd: float, right_sd: float) -> float:
    """Return the correlation of levels with these deviations, whose means over turns are given."""
    known = np.isfinite(left) & np.isfinite(right)
    return float(np.clip(np.cov(left[known], right[known])[0, 1] / left_sd / right_sd, -0.9, 0.9))


def _external_scores(sessions: Sequence[Session]) -> list[Numbers]:
    """Return normal scores, within bands, of what is added; nan where a turn adds less than the answer."""
    external = np.concatenate([np.where(s.appends, s.growth - s.output[:-1], -1.0) for s in sessions])
    context = np.concatenate([s.prompt[:-1] for s in sessions])
    scores = np.full(external.size, np.nan)
    place = np.searchsorted(EXTERNAL_BANDS, context)
    for band in range(len(EXTERNAL_BANDS)):
        inside = (external >= 0) & (place == band)
        scores[inside] = _scores_of(external[inside])
    return np.split(scores, np.cumsum([s.growth.size for s in sessions])[:-1])


def _scores(values: Sequence[Numbers]) -> list[Numbers]:
    """Return normal scores of the values of all sessions together."""
    return np.split(_scores_of(np.concatenate(values)), np.cumsum([each.size for each in values])[:-1])


def _scores_of(values: Numbers) -> Numbers:
    found: Numbers = norm.ppf((rankdata(values) - 0.5) / values.size)
    return found


def _correlation(scores: Sequence[Numbers], lag: int) -> float:
    """Return the correlation of turns of a session that are so far apart, over all sessions."""
    return _pairs([(score[:-lag], score[lag:]) for score in scores])


def _pairs(pairs: Sequence[tuple[Numbers, Numbers]]) -> float:
    left, right = (np.concatenate(side) for side in zip(*pairs, strict=True))
    known = np.isfinite(left) & np.isfinite(right)
    return float(np.corrcoef(left[known], right[known])[0, 1])


def _positive(correlation: Numbers) -> Numbers:
    """Return the nearest correlation whose least eigenvalue is no less than 0.05."""
    values, vectors = np.linalg.eigh(correlation)
    mended = vectors @ np.diag(np.maximum(values, 0.05)) @ vectors.T
    scale = np.sqrt(np.diag(mended))
    found: Numbers = mended / np.outer(scale, scale)
    return found


def as_toml(profile: dict[str, Any], name: str, source: str) -> str:
    """Return a profile as the text of its file."""
    head = f"# Profile {name!r} of the generator of sessions, made by `calibration.sessions.fit`.\n\n"
    return head + "\n".join(_lines({"source": source, **profile}, "")) + "\n"


def _lines(table: dict[str, Any], path: str) -> Iterator[str]:
    yield from (f"{key} = {_text(value)}" for key, value in table.items() if not isinstance(value, dict))
    for key, value in table.items():
        if isinstance(value, dict):
            yield f"\n[{path}{key}]"
            yield from _lines(value, f"{path}{key}.")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return '"' + value.replace('"', '\\"') + '"'
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    return repr(value) if isinstance(value, int) else f"{value:.6g}"


def main() -> None:
    """Fit a profile and write it."""
    parser = ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else None)
    parser.add_argument("traces", type=Path, help="traces_710_rle.jsonl.gz, or a folder of trace_*.json")
    parser.add_argument("--sessions", type=Path, help="JSON with the names of the sessions to take")
    parser.add_argument("--name", required=True)
    parser.add_argument("--source", required=True, help="repository, commit and licence of the traces")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    profile = fit(read_sessions(given.traces, given.sessions))
    given.out.write_text(as_toml(profile, given.name, given.source), encoding="utf-8")


if __name__ == "__main__":
    main()
