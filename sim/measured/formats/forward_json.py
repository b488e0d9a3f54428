"""What `vllm bench forward --output-json` of vLLM 0.33.0 writes: the GPU time of exact batches, a case each.

A list of objects with `case`, `requests` (each `query_len`, `kv_len` after the step, `num_draft_tokens`) with
the lengths that were drawn, `median_us`, and under `ranks` what each GPU says.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from sim.base import reading
from sim.base.errors import InputError

_MOST_TOKENS = 2**31 - 1
STEADY_PERCENT = 0.5
"""Spread of a case's samples above which vLLM itself calls it unstable."""


@dataclass(frozen=True, slots=True)
class ForwardCase:
    """One exact batch."""

    name: str
    prefill: tuple[tuple[int, int], ...]
    """Tokens computed and tokens computed before, of each prefill."""
    decode_batch: int
    decode_context_tokens: int
    """Of all decodes together, before the step."""
    time_s: float
    """Of the forward pass: no sampling, no scheduler, nothing of the host."""
    spread_percent: float
    """How far apart the medians of its samples are."""

    @property
    def tokens(self) -> int:
        """Tokens of the step."""
        return self.decode_batch + sum(new for new, _ in self.prefill)

    @property
    def pairs(self) -> float:
        """Pairs of a new token of a prefill and a token that it attends to."""
        return sum(new * (prefix + new / 2) for new, prefix in self.prefill)


@dataclass(frozen=True, slots=True)
class ForwardFile:
    """All cases of a file."""

    path: Path
    sha256: str
    cases: tuple[ForwardCase, ...]
    gpus: int
    """GPUs of the engine."""


def read_forward(path: Path) -> ForwardFile:
    """Return the cases of a file.

    Raises:
        InputError: the file cannot be read, is no such file, or has a case that no step-time law can use.

    """
    try:
        text = reading.text(path, reading.MOST_FILE_BYTES)
        value = reading.json_value(text, "the file", "a JSON list")
    except (OSError, InputError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    if not isinstance(value, list) or not value:
        raise InputError(f"{path}: must be a list of cases, as vllm bench forward --output-json writes it")
    cases, gpus = [], set()
    for i, entry in enumerate(value):
        where = f"{path}: case {i + 1}"
        if not isinstance(entry, dict):
            raise InputError(f"{where}: a {type(entry).__name__}, must be an object")
        cases.append(_case(where, entry))
        gpus.add(len(_list(where, entry, "ranks")))
    if len(gpus) > 1:
        raise InputError(f"{path}: cases of {' and '.join(map(str, sorted(gpus)))} ranks; give one engine's")
    return ForwardFile(path, sha256(text.encode()).hexdigest(), tuple(cases), gpus.pop())


def _case(where: str, entry: Mapping[str, Any]) -> ForwardCase:
    name = entry.get("case")
    if not isinstance(name, str):
        raise InputError(f"{where}: case = {name!r}: must be a name")
    where = f"{where} ({name[:60]!r})"
    prefill, contexts = [], []
    for request in _list(where, entry, "requests"):
        if not isinstance(request, dict):
            raise InputError(f"{where}: requests: a {type(request).__name__}, must be an object")
        new = _integer(where, request, "query_len", least=1)
        length = _integer(where, request, "kv_len", least=new)
        if _integer(where, request, "num_draft_tokens", least=0, default=0):
            raise InputError(
                f"{where}: num_draft_tokens: the law has no draft tokens; run the cases without :D"
            )
        if new == 1 and length > 1:
            contexts.append(length - 1)
        else:
            prefill.append((new, length - new))
    spread = 0.0
    for rank in _list(where, entry, "ranks"):
        spread = max(spread, _rank_spread(where, rank))
    time_us = _number(where, entry, "median_us")
    if not 0 < time_us < 1e9:
        raise InputError(f"{where}: median_us = {time_us}: must be above 0 and below 1e9")
    return ForwardCase(name, tuple(prefill), len(contexts), sum(contexts), time_us * 1e-6, spread)


def _rank_spread(where: str, rank: object) -> float:
    """Return the spread of one GPU's samples; raises InputError if its result is not to be used."""
    if not isinstance(rank, dict):
        raise InputError(f"{where}: ranks: a {type(rank).__name__}, must be an object")
    scope = rank.get("timing_scope", "target_only")
    if scope != "target_only":
        raise InputError(
            f"{where}: timing_scope = {scope!r}: a drafter was timed with it; add --exclude-drafter"
        )
    if rank.get("finite") is False:
        raise InputError(f"{where}: finite = false: the model gave numbers that are none; run it again")
    latency = rank.get("latency_us")
    if not isinstance(latency, dict) or "sample_spread_pct" not in latency:
        return 0.0
    return _number(where, latency, "sample_spread_pct")


def _list(where: str, entry: Mapping[str, Any], key: str) -> list[Any]:
    value = entry.get(key)
    if not isinstance(value, list) or not value:
        raise InputError(f"{where}: {key}: must be a list of 1 or more")
    return value


def _integer(
    where: str, entry: Mapping[str, Any], key: str, *, least: int, default: int | None = None
) -> int:
    value = entry.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _MOST_TOKENS:
        raise InputError(f"{where}: {key} = {value!r}: must be a whole number of {least} or more")
    return value


def _number(where: str, entry: Mapping[str, Any], key: str) -> float:
    value = entry.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 1e12:
        raise InputError(f"{where}: {key} = {value!r}: must be a number of 0 or more")
    return float(value)
