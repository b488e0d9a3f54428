"""Clusters that a size search tries: how many workers of how many GPUs, aggregated or split, and host RAM.

Searches are generators: they yield what is to be tried, are sent whether it holds, and return what they
found. Nothing here knows how a try is made.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, NamedTuple

from sim.base.words import format_bytes
from sim.hardware.parallel import ONE_GPU, Engines, Parallel, cluster_name


class Layout(NamedTuple):
    """The engines of a cluster."""

    prefill: int
    """Workers that compute prompts; of an aggregated cluster, all."""
    decode: int = 0
    """0: an aggregated cluster."""
    parallel: Parallel = ONE_GPU
    """How each of them is spread over GPUs, decode workers as `decode_parallel` says."""
    decode_parallel: Parallel = ONE_GPU

    @property
    def gpus(self) -> int:
        """GPUs of the cluster."""
        return self.prefill * self.parallel.gpus + self.decode * self.decode_parallel.gpus

    @property
    def kind(self) -> str:
        """Whether prefill and decode are apart."""
        return "disaggregated" if self.decode else "aggregated"

    def __str__(self) -> str:
        return cluster_name(Engines(self.prefill, self.parallel), Engines(self.decode, self.decode_parallel))


def layout_of(workers: Mapping[str, Any]) -> Layout:
    """Return the engines that a scenario's `workers` say, as scenario.toml has them."""
    sizes = {name: workers.get(f"{name}_parallel", one) for name, one in ONE_GPU._asdict().items()}
    own = {name: workers.get(f"decode_{name}_parallel", size) for name, size in sizes.items()}
    first = workers.get("prefill") or workers.get("count") or 1
    return Layout(first, workers.get("decode") or 0, Parallel(**sizes), Parallel(**own))


class Configuration(NamedTuple):
    """A cluster to try."""

    layout: Layout
    host_bytes: int
    """Host RAM for KV blocks, for each worker that computes prompts; 0: none."""

    @property
    def total_host_bytes(self) -> int:
        """Host RAM of the whole cluster: decode workers have none."""
        return self.layout.prefill * self.layout.parallel.data * self.host_bytes

    def __str__(self) -> str:
        return f"{self.layout}, {format_bytes(self.host_bytes) if self.host_bytes else 'no'} host RAM"

    def overrides(self) -> list[str]:
        """Return the `key=value` that make a scenario have this cluster; nodes are filled in order."""
        workers = f"{{{', '.join(self._workers())}}}"
        host = f"offload.cpu_bytes={self.host_bytes}" if self.host_bytes else "offload=none"
        nodes = [f"disaggregation.placement.{pool}_nodes=none" for pool in ("prefill", "decode")]
        return [f"workers={workers}", host, *nodes]

    def _workers(self) -> list[str]:
        prefill, decode, parallel, decode_parallel = self.layout
        counts = [f"prefill={prefill}", f"decode={decode}"] if decode else [f"count={prefill}"]
        counts += [
            f"{name}_parallel={str(size).lower()}"
            for name, size, one in zip(Parallel._fields, parallel, ONE_GPU, strict=True)
            if size != one
        ]
        if decode and decode_parallel != parallel:
            own = decode_parallel._asdict().items()
            counts += [
                f"decode_{name}_parallel={str(size).lower()}" for name, size in own if name != "pipeline"
            ]
        return counts


Search = Generator[Configuration, bool, list[Configuration]]
"""Yields what to try, is sent whether it holds, and returns the smallest that hold."""


def aggregated(most_gpus: int, host_bytes: Sequence[int], parallel: Parallel = ONE_GPU) -> Search:
    """Find the fewest aggregated workers, on up to `most_gpus`, for each size of host RAM."""

    def layout(workers: int) -> Layout:
        return Layout(workers, 0, parallel)

    found, guess = [], 0
    for size in sorted(host_bytes, reverse=True):
        fewest = yield from _fewest(layout, size, 1, most_gpus // parallel.gpus, guess)
        if fewest:
            found.append(Configuration(layout(fewest), size))
            guess = fewest
    return found


def split(
    prefill: int,
    decode: int,
    most_gpus: int,
    host_bytes: Sequence[int],
    *,
    parallel: Parallel = ONE_GPU,
    decode_parallel: Parallel = ONE_GPU,
) -> Search:
    """Find small clusters of about this ratio of workers: the fewest, then one less as long as that holds."""

    def layout(workers: int) -> Layout:
        first = min(workers - 1, max(1, round(workers * prefill / (prefill + decode))))
        return Layout(first, workers - first, parallel, decode_parallel)

    most = 1
    while layout(most + 1).gpus <= most_gpus:
        most += 1
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
    """Find the fewest workers by bisection, starting with a guess if there is one (not 0).

    That more workers are better is likely but not certain: caches are split among more of them. One and two
    fewer than what was found are tried as well, then the least; where `most` does not hold, half of it, half
    of that, and so on to the least.
    """
    if most < least:
        return None
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
        for holds in _halves(most, least):
            if (yield Configuration(layout(holds), host_bytes)):
                break
        else:
            return None
    while holds > least:
        for fewer in dict.fromkeys((holds - 1, max(least, holds - 2), least)):
            if (yield Configuration(layout(fewer), host_bytes)):
                holds = fewer
                break
        else:
            break
    return holds


def _halves(most: int, least: int) -> list[int]:
    """Return half of `most`, half of that, and so on; `least` last."""
    halves = [most >> step for step in range(1, most.bit_length()) if most >> step > least]
    return [*halves, least] if most > least else []


def _without_spare_workers(start: Configuration) -> Generator[Configuration, bool, Configuration]:
    """Take out a prefill or a decode worker as long as what is left holds."""
    (prefill, decode, *sizes), size = start
    for smaller in (Layout(prefill - 1, decode, *sizes), Layout(prefill, decode - 1, *sizes)):
        if smaller.prefill and smaller.decode and (yield Configuration(smaller, size)):
            return (yield from _without_spare_workers(Configuration(smaller, size)))
    return start
