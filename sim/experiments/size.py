"""How many GPUs, aggregated or split, and how much host RAM keep a service level objective.

First comes the floor, each request alone: a limit that is below it ends the search before it begins. A
cluster holds if, with every seed, each number keeps its limit and every request completes. One whose first
seed does not hold is not run with the others.
"""

from collections.abc import Sequence
from dataclasses import replace

from sim.base.errors import InputError
from sim.base.limits import Limit
from sim.base.units import SIZE
from sim.base.words import exactly
from sim.experiments.floor import find_floor
from sim.experiments.jobs.counts import check_counts
from sim.experiments.jobs.execute import Runner
from sim.experiments.jobs.job import seeded
from sim.experiments.limits import asked_for, check_limits, check_measured
from sim.hardware.parallel import Parallel
from sim.results.quantities import names_before_runs, names_in
from sim.runs.cost import Price
from sim.runs.layouts import Configuration, Search, aggregated, split
from sim.runs.sizing import Sized
from sim.runs.tried import Tried, by_size
from sim.scenario.load import load_scenario
from sim.scenario.scenario import Scenario

RATIOS = ((1, 3), (1, 1), (3, 1))
"""Prefill to decode workers from which searches start."""


def read_host_sizes(texts: str | None, base: Scenario) -> list[int]:
    """Return sizes of host RAM for each worker: of a list such as "0,32GiB", else 0 and the scenario's.

    Raises:
        InputError: one of them is no size.

    """
    if texts is None:
        return [0, *([base.offload.cpu_bytes] if base.offload else [])]
    try:
        return [int(SIZE.parse(text.strip())) for text in texts.split(",")]
    except ValueError as error:
        raise InputError(f"--host-ram {texts}: {error}") from error


def read_tensor_sizes(texts: str | None, base: Scenario) -> list[Parallel]:
    """Return the sizes of engines: of a list such as "1,2,4", else the scenario's.

    Raises:
        InputError: one of them is no size.

    """
    own = base.workers.parallel
    if texts is None:
        return [own]
    sizes = [text.strip() for text in texts.split(",")]
    if not all(text.isdecimal() and int(text) for text in sizes):
        raise InputError(f"--tensor-parallel {texts}: give GPUs of an engine, such as 1,2,4")
    return [own._replace(tensor=size) for size in dict.fromkeys(map(int, sizes))]


def _of_decode(parallels: Sequence[Parallel], base: Scenario) -> Sequence[Parallel]:
    """Return the sizes of decode engines: all of those, or the scenario's own if there is no choice."""
    return parallels if len(parallels) > 1 else [base.workers.decode_parallel]


class _Tries:
    """Configurations that were tried."""

    def __init__(
        self, source: str, fixed: Sequence[str], limits: Sequence[Limit], seeds: range, run: Runner
    ) -> None:
        self.made: dict[Configuration, Tried] = {}
        self._source, self._fixed, self._limits, self._seeds, self._run = source, fixed, limits, seeds, run

    def make(self, configurations: Sequence[Configuration]) -> None:
        """Try those that were not tried yet: with one seed, and if that holds with the others."""
        new = [found for found in dict.fromkeys(configurations) if found not in self.made]
        self._extend(new, self._seeds[:1])
        if len(self._seeds) > 1:
            self._extend([found for found in new if self.made[found].holds], self._seeds[1:])

    def _extend(self, configurations: Sequence[Configuration], seeds: range) -> None:
        jobs = []
        for configuration in configurations:
            scenario = load_scenario(self._source, [*self._fixed, *configuration.overrides()])
            jobs += seeded({str(configuration): scenario}, {}, seeds)
        runs = self._run(jobs) if jobs else []
        for place, configuration in enumerate(configurations):
            before = self.made[configuration].runs if configuration in self.made else ()
            found = runs[place * len(seeds) : (place + 1) * len(seeds)]
            self.made[configuration] = Tried(configuration, tuple(self._limits), (*before, *found))


def size(
    source: str,
    slo: Sequence[str],
    run: Runner,
    *,
    fixed: Sequence[str] = (),
    most_gpus: int = 16,
    host_ram: str | None = None,
    tensor_parallel: str | None = None,
    repeat: int = 3,
    sessions: int | None = None,
    price: str | None = None,
    anyway: bool = False,
) -> Sized:
    """Find the smallest clusters that hold.

    Args:
        source: a TOML file, or the name of a shipped scenario; its workers and host RAM are replaced.
        slo: limits such as `ttft_s.p95<3`.
        run: makes runs.
        fixed: `key=value` for every run.
        most_gpus: of a cluster.
        host_ram: sizes for each worker that computes prompts, such as "0,64GiB".
        tensor_parallel: GPUs of an engine to choose from, such as "1,2,4"; None: the scenario's.
        repeat: seeds, from the scenario's own on.
        sessions: of the workload, in place of the scenario's; a file that has fewer gives some once more.
        price: of a GPU hour, such as "2.5" or "2.50 EUR".
        anyway: search although a limit is below the floor.

    Raises:
        InputError: one of them cannot be used, or every run failed.

    """
    check_counts(repeat=repeat, max_gpus=most_gpus)
    limits = [Limit.read(text, "--slo") for text in slo]
    check_limits(limits, names_before_runs(), "--slo")
    cost = None if price is None else Price.read(price, "--price-per-gpu-hour")
    fixed = with_sessions(source, fixed, sessions)
    base = load_scenario(source, fixed)
    fixed = [*fixed, *asked_for(base, limits)]
    sizes = read_host_sizes(host_ram, base)
    tries = _Tries(source, fixed, limits, range(base.seed, base.seed + repeat), run)
    parallels = read_tensor_sizes(tensor_parallel, base)
    searches: list[Search] = [
        aggregated(most_gpus, sizes, parallel) for parallel in parallels if parallel.gpus <= most_gpus
    ]
    searches += [
        split(prefill, decode, most_gpus, sizes, parallel=parallel, decode_parallel=decode_parallel)
        for parallel in parallels
        for decode_parallel in _of_decode(parallels, base)
        if parallel.gpus + decode_parallel.gpus <= most_gpus
        for prefill, decode in RATIOS
    ]
    if not searches:
        smallest = min(parallel.gpus for parallel in parallels)
        raise InputError(
            f"--max-gpus {most_gpus}: one engine has {exactly(smallest, 'GPU')}; give more, or smaller "
            "engines"
        )
    floor = find_floor(source, fixed, parallels, base, run)
    if floor is not None:
        check_measured(limits, floor.warm, "--slo")
    sized = Sized(
        source,
        limits,
        range(base.seed, base.seed + repeat),
        [],
        [],
        base.workload.sessions,
        base.disaggregation.placement.gpus_per_node,
        floor,
        cost,
    )
    if sized.in_vain and not anyway:
        return sized
    found = [tries.made[configuration] for configuration in _search(searches, tries, limits)]
    return replace(sized, smallest=_smallest(found), tried=list(tries.made.values()))


def with_sessions(source: str, fixed: Sequence[str], sessions: int | None) -> list[str]:
    """Return the `key=value` that ask for so many sessions, of a file also for more than it has."""
    if sessions is None:
        return [*fixed]
    found = [*fixed, f"workload.sessions={sessions}"]
    if load_scenario(source, found, needs_files=False).workload.path is not None:
        found.append("workload.resample=true")
    return found


def _search(searches: Sequence[Search], tries: _Tries, limits: Sequence[Limit]) -> list[Configuration]:
    """Go through searches side by side, so that what they try next can run at the same time."""
    asked = {search: next(search) for search in searches}
    tries.make(list(asked.values()))
    runs = [run for tried in tries.made.values() for run in tried.runs]
    known = names_in(run.numbers for run in runs)
    if not known:
        raise InputError(runs[0].error)
    check_limits(limits, known, "--slo")
    check_measured(limits, runs, "--slo")
    found: list[Configuration] = []
    while asked:
        tries.make(list(asked.values()))
        for search, configuration in list(asked.items()):
            try:
                asked[search] = search.send(tries.made[configuration].holds)
            except StopIteration as end:
                found += end.value
                del asked[search]
    return list(dict.fromkeys(found))


def _smallest(found: Sequence[Tried]) -> list[Tried]:
    """Return the clusters beside which none of their kind needs no more GPUs and no more host RAM."""
    kept: list[Tried] = []
    for tried in sorted(found, key=by_size):
        layout, host_bytes = tried.configuration.layout, tried.configuration.total_host_bytes
        if not any(
            smaller.configuration.layout.kind == layout.kind
            and smaller.configuration.total_host_bytes <= host_bytes
            for smaller in kept
        ):
            kept.append(tried)
    return kept
