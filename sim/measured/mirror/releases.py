"""What a cluster's releases say of a scenario, and what only newer ones have or log."""

from collections.abc import Iterable, Mapping, Sequence

from sim.measured.formats.engine_log import EngineLog
from sim.measured.formats.flags import Command
from sim.measured.mirror.found import Found
from sim.measured.releases import KEYS, Release, strangers
from sim.scenario.releases import SINCE_0_33

_FLASHINFER = "flashinfer"
"""The one kernel for gated delta nets that saves states inside a chunk (vLLM 0.33.0)."""
_DENSE = "none"


def tell_releases(releases: Iterable[Release], found: Found) -> None:
    """Add whose rules engines and router follow; of a release without rules, that the nearest are taken."""
    releases = [*releases]
    for release in releases:
        found.tell(KEYS[release.software], release.rules, str(release))
    for text in strangers(releases):
        found.not_like(text)


def tell_newer(engines: Sequence[Command], found: Found) -> None:
    """Take engines that have options of vLLM 0.33 for such, where nothing says what they are."""
    names = (key.replace("_", "-") for key in SINCE_0_33)
    newer = next((name for name in names if any(name in engine.options for engine in engines)), None)
    if newer and not found.has(KEYS["vLLM"]):
        found.tell(KEYS["vLLM"], "0.33", f"--{newer}, which 0.28 has not")


def tell_engine_logs(logs: Mapping[str, EngineLog], found: Found) -> None:
    """Add the block that vLLM chose for a hybrid model, and its kernel for prefills."""
    for name, log in logs.items():
        for tokens in log.block_tokens:
            found.tell("engine.block_size", tokens, f"the log of {name}: Setting attention block size")
        for kernel in log.gdn_kernels:
            tell_kernel(kernel, f"the log of {name}: {kernel} GDN prefill kernel", found)


def tell_kernel(kernel: str, source: str, found: Found) -> None:
    """Add the kernel for prefills of gated delta nets: with all but one, rules and blocks are Triton's."""
    taken = _FLASHINFER if kernel.lower() == _FLASHINFER else "triton"
    found.tell("engine.gdn_prefill_backend", taken, source)


def tell_retention(interval: str | None, source: str, found: Found) -> None:
    """Add which states stay findable, as vLLM writes it: a number of tokens, or None for all of them."""
    if interval is None:
        return
    tokens = int(interval) if interval.isdecimal() else None
    if tokens is None and interval.lower() != _DENSE:
        found.not_like(f"{source} = {interval}: neither a number of tokens nor None")
    else:
        found.tell("engine.prefix_cache_retention_interval", "dense" if tokens is None else tokens, source)
