"""Prints what is generated beside what was recorded: percentiles 10, 50 and 90, and the KS distance.

    python -m calibration.sessions.compare TRACES --sessions NAMES --name kct [--halves]

With `--halves` the profile is fitted to every other session and set beside those left out, both ways; the
distance of the two halves of the recording from each other says what no fit can go below.
"""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import ks_2samp

from calibration.sessions.fit import fit
from calibration.sessions.recorded import BLOCK_TOKENS, Numbers, Session, read_sessions
from sim.workload.conversation import Conversation
from sim.workload.growing import Turn
from sim.workload.profiles import Profile, profile_named, profile_of, recorded_service_s

SEEDS = 4
SESSIONS = 400
"""As many sessions are generated for each of so many seeds."""


def generated(profile: Profile, seeds: int = SEEDS, sessions: int = SESSIONS) -> list[Session]:
    """Return generated sessions."""
    return [
        _session([*Conversation(profile, seed, session).turns()])
        for seed in range(seeds)
        for session in range(sessions)
    ]


def _session(turns: Sequence[Turn]) -> Session:
    prompt = np.array([turn.prompt_tokens for turn in turns], float)
    output = np.array([turn.output_tokens for turn in turns], float)
    kept = np.array([0, *(turn.kept_tokens for turn in turns[1:])], float) // BLOCK_TOKENS * BLOCK_TOKENS
    think_s = np.array([turn.think_s for turn in turns[1:]], float)
    service_s = [recorded_service_s(turn.prompt_tokens, turn.output_tokens) for turn in turns[:-1]]
    sent_s = np.rint(np.cumsum([0.0, *(think_s + service_s)]))  # as recorded ones are, in whole seconds
    user = np.zeros(len(turns), bool)
    return Session(prompt, output, kept, kept, think_s, np.diff(sent_s), user)


def quantities(sessions: Sequence[Session]) -> dict[str, Numbers]:
    """Return the values whose distributions are compared."""
    several = [s for s in sessions if s.prompt.size > 1]
    return {
        "context": np.concatenate([s.prompt for s in sessions]),
        "growth, append turns": np.concatenate([s.growth[s.appends] for s in sessions]),
        "new tokens, later turns": np.concatenate([(s.prompt - s.seen)[1:] for s in sessions]),
        "output": np.concatenate([s.output for s in sessions]),
        "turns": np.array([s.prompt.size for s in sessions], float),
        "think (s)": np.concatenate([s.think_s[~np.isnan(s.think_s)] for s in sessions]),
        "gap, start to start (s)": np.concatenate([s.gap_s for s in sessions]),
        "first context": np.array([s.prompt[0] for s in sessions]),
        "last context": np.array([s.prompt[-1] for s in sessions]),
        "net growth a turn, by session": np.array(
            [(s.prompt[-1] - s.prompt[0]) / (s.prompt.size - 1) for s in several]
        ),
        "drop of a shrink": np.concatenate([-s.growth[s.shrinks] for s in sessions]),
        "tokens lost by a break": np.concatenate([s.lost_blocks[s.breaks] for s in sessions]) * BLOCK_TOKENS,
    }


def shares(sessions: Sequence[Session]) -> dict[str, float]:
    """Return the single numbers that are compared."""
    later = sum(s.growth.size for s in sessions)
    growth = np.concatenate([s.growth[s.appends] for s in sessions])
    answer = np.concatenate([s.output[:-1][s.appends] for s in sessions])
    think = np.concatenate([s.think_s[~np.isnan(s.think_s)] for s in sessions])
    prompts = sum(s.prompt.sum() for s in sessions)
    return {
        "turns, mean": float(np.mean([s.prompt.size for s in sessions])),
        "ideal hit, own session (%)": 100 * sum(s.seen.sum() for s in sessions) / prompts,
        "shrinks a turn (%)": 100 * sum(s.shrinks.sum() for s in sessions) / later,
        "breaks a turn (%)": 100 * sum(s.breaks.sum() for s in sessions) / later,
        "growth below the answer (%)": 100 * float((growth < answer).mean()),
        "answers in growth (%)": 100 * float(np.minimum(growth, answer).sum() / growth.sum()),
        "growth, append turns, mean": float(growth.mean()),
        "lag-1 correlation of log growth": _lag_one(sessions, within=False),
        "the same within sessions": _lag_one(sessions, within=True),
        "think, mean (s)": float(think.mean()),
        "think, mean cut at 60 s (s)": float(np.minimum(think, 60).mean()),
        "think above 5 minutes (%)": 100 * float((think > 300).mean()),
    }


def _lag_one(sessions: Sequence[Session], within: bool) -> float:
    left, right = [], []
    for s in sessions:
        log_growth = np.where(s.appends, np.log(np.maximum(s.growth, 1)), np.nan)
        if within and np.isfinite(log_growth).any():
            log_growth -= np.nanmean(log_growth)
        pairs = np.isfinite(log_growth[:-1]) & np.isfinite(log_growth[1:])
        left.append(log_growth[:-1][pairs])
        right.append(log_growth[1:][pairs])
    return float(np.corrcoef(np.concatenate(left), np.concatenate(right))[0, 1])


def table(recorded: Sequence[Session], others: dict[str, Sequence[Session]]) -> Iterator[str]:
    """Yield the lines of a table in Markdown: the recording, and others beside it."""
    yield "| quantity, p10 / p50 / p90 | recorded | " + " | ".join(f"{name} | KS" for name in others) + " |"
    yield "|---" * (2 + 2 * len(others)) + "|"
    known, found = quantities(recorded), [quantities(sessions) for sessions in others.values()]
    for name, values in known.items():
        cells = [_percentiles(values)]
        for each in found:
            cells += [_percentiles(each[name]), f"{ks_2samp(values, each[name]).statistic:.3f}"]
        yield f"| {name} | {' | '.join(cells)} |"
    single, of_others = shares(recorded), [shares(sessions) for sessions in others.values()]
    for name, value in single.items():
        cells = [f"{value:.4g}"]
        for other in of_others:
            cells += [f"{other[name]:.4g}", ""]
        yield f"| {name} | {' | '.join(cells)} |"


def _percentiles(values: Numbers) -> str:
    found = np.percentile(values, (10, 50, 90))
    return " / ".join(f"{value:,.4g}" if value < 1e4 else f"{value / 1e3:,.1f}K" for value in found)


def main() -> None:
    """Print the table."""
    parser = ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else None)
    parser.add_argument("traces", type=Path, help="traces_710_rle.jsonl.gz, or a folder of trace_*.json")
    parser.add_argument("--sessions", type=Path, help="JSON with the names of the sessions to take")
    parser.add_argument("--name", required=True, help="the shipped profile")
    parser.add_argument("--halves", action="store_true", help="fit to one half, compare with the other")
    given = parser.parse_args()
    recorded = read_sessions(given.traces, given.sessions)
    if not given.halves:
        print(*table(recorded, {"generated": generated(profile_named(given.name))}), sep="\n")
        return
    halves = recorded[::2], recorded[1::2]
    for fitted, held_out in (halves, halves[::-1]):
        others = {"generated from the other half": generated(profile_of(fit(fitted))), "other half": fitted}
        print(*table(held_out, others), sep="\n", end="\n\n")


if __name__ == "__main__":
    main()
