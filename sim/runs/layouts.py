"""Clusters that a size search tries: how many GPUs, aggregated or split, and how much host RAM.

Searches are generators: they yield what is to be tried, are sent whether it holds, and return what they
found. Nothing here knows how a try is made.
"""

from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple

from sim.base.units import format_bytes


class Layout(NamedTuple):
    """The engines of a cluster, each on a GPU of its own."""

    prefill: int
    """Workers that compute prompts; of an aggregated cluster, all."""
    decode: int = 0
    """0: an aggregated cluster."""

    @property
    def gpus(self) -> int:
        """Workers of all kinds."""
        return self.prefill + self.decode

    @property
    def kind(self) -> str:
        """Whether prefill and decode are apart."""
        return "disaggregated" if self.decode else "aggregated"

    def __str__(self) -> str:
        return f"{self.prefill}P{self.decode}D" if self.decode else str(self.prefill)


class Configuration(NamedTuple):
    """A cluster to try."""

    layout: Layout
    host_bytes: int
    """Host RAM for KV blocks, for each worker that computes prompts; 0: none."""

    @property
    def total_host_bytes(self) -> int:
        """Host RAM of the whole cluster: decode workers have none."""
        return self.layout.prefill * self.host_bytes

    def __str__(self) -> str:
        return f"{self.layout}, {format_bytes(self.host_bytes) if self.host_bytes else 'no'} host RAM"

    def overrides(self) -> list[str]:
        """Return the `key=value` that make a scenario have this cluster; nodes are filled in order."""
        prefill, decode = self.layout
        workers = f"{{prefill={prefill}, decode={decode}}}" if decode else f"{{count={prefill}}}"
        host = f"offload.cpu_bytes={self.host_bytes}" if self.host_bytes else "offload=none"
        nodes = [f"disaggregation.placement.{pool}_nodes=none" for pool in ("prefill", "decode")]
        return [f"workers={workers}", host, *nodes]


Search = Generator[Configuration, bool, list[Configuration]]
"""Yields what to try, is sent whether it holds, and returns the smallest that hold."""


def aggregated(most: int, host_bytes: Sequence[int]) -> Search:
    """Find the fewest aggregated workers, up to `most`, for each size of host RAM."""
    found, guess = [], 0
    for size in sorted(host_bytes, reverse=True):
        fewest = yield from _fewest(Layout, size, 1, most, guess)
        if fewest:
            found.append(Configuration(Layout(fewest), size))
            guess = fewest
    return found


def split(prefill: int, decode: int, most: int, host_bytes: Sequence[int]) -> Search:
    """Find small clusters of about this ratio: the fewest GPUs, then a worker less as long as that holds."""

    def layout(gpus: int) -> Layout:
        first = min(gpus - 1, max(1, round(gpus * prefill / (prefill + decode))))
        return Layout(first, gpus - first)

    found, guess = [], 0
    for size in sorted(host_bytes, reverse=True):
        fewest = yield from _fewest(layout, size, 2, most, guess)
        if fewest:
            found.append((yield from _without_spare_workers(Configuration(layout(fewest), size))))
            guess = fewest
    return found


def _fewest(
    layout: Callable[[int], Layout], host_bytes: int, least: int, most: int, guess: int
) -> Generator[Configuration, bool, int | None]:
    """Find the fewest GPUs by bisection, starting with a guess if there is one (not 0).

    That more GPUs are better is likely but not certain: one and two fewer than what was found are tried as
    well, and half of `most` where that does not hold.
    """
    fails, holds = least - 1, most + 1
    probe = guess or most
    while holds - fails > 1:
        if (yield Configuration(layout(probe), host_bytes)):
            holds = probe
            probe = holds - 1 if probe == guess else (fails + holds) // 2
        else:
            fails = probe
            probe = (fails + holds) // 2
        probe = max(probe, fails + 1)
    if holds > most:
        holds = most // 2
        if holds < least or not (yield Configuration(layout(holds), host_bytes)):
            return None
    while True:
        for fewer in (holds - 1, holds - 2):
            if fewer >= least and (yield Configuration(layout(fewer), host_bytes)):
                holds = fewer
                break
        else:
            return holds


def _without_spare_workers(start: Configuration) -> Generator[Configuration, bool, Configuration]:
    """Take out a prefill or a decode worker as long as what is left holds."""
    (prefill, decode), size = start
    for smaller in (Layout(prefill - 1, decode), Layout(prefill, decode - 1)):
        if smaller.prefill and smaller.decode and (yield Configuration(smaller, size)):
            return (yield from _without_spare_workers(Configuration(smaller, size)))
    return start
