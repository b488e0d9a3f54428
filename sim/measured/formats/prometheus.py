"""Prometheus text of workers and of the frontend: single scrapes, pairs of before and after, series.

Counters count from the start of a process: what a run did is what they rose by. A counter that is smaller
than before was restarted, and counts from 0 on.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, isfinite, isnan
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from sim.base.errors import InputError
from sim.base.sums import added
from sim.measured.formats.records import Record, read_lines, text_of

_LONGEST = 200
"""Characters of what the parser says: it may quote a whole line."""
_OURS = ("vllm:", "dynamo_")
"""Metrics of engines and of Dynamo: none of them is ever infinite, or not a number."""

Labels = frozenset[tuple[str, str]]
Samples = Mapping[str, Mapping[Labels, float]]
"""Name to labels to value."""


@dataclass(frozen=True)
class Scrape:
    """What one process exported at one moment."""

    samples: Samples
    time_s: float | None = None
    """Unix time; None where the file does not say."""

    def has(self, prefix: str) -> bool:
        """Whether the name of any sample starts so."""
        return any(name.startswith(prefix) for name in self.samples)

    def total(self, name: str, **labels: str) -> float | None:
        """Return the sum of a name's samples that carry these labels; None if there is none."""
        found = [value for _, value in self.matching(name, labels)]
        return added(found) if found else None

    def label(self, name: str, label: str) -> list[str]:
        """Return the values that a label takes in a name's samples, sorted."""
        found = {value for labels in self.samples.get(name, ()) for key, value in labels if key == label}
        return sorted(found)

    def matching(self, name: str, labels: Mapping[str, str]) -> Iterator[tuple[Labels, float]]:
        """Yield (labels, value) of a name's samples that carry these labels."""
        wanted = labels.items()
        for found, value in self.samples.get(name, {}).items():
            if found >= wanted:
                yield found, value


def parse(text: str, where: str, time_s: float | None = None) -> Scrape:
    """Return the samples of Prometheus text; `where` is for messages.

    Raises:
        InputError: not such text; names the line.

    """
    samples: defaultdict[str, dict[Labels, float]] = defaultdict(dict)
    try:
        for sample in _samples(text):
            samples[sample.name][frozenset(sample.labels.items())] = sample.value
    except (ValueError, KeyError, IndexError, OverflowError) as error:
        raise InputError(
            f"{where}: {_bad_line(text)}not Prometheus text ({str(error)[:_LONGEST]})"
        ) from error
    return Scrape(dict(samples), time_s)


def read_scrape(path: Path) -> Scrape:
    """Return the one scrape of a text file, plain or gzipped.

    Raises:
        InputError: the file cannot be read, or is not Prometheus text.

    """
    return parse(text_of(path), str(path))


class _Row(Record):
    t: float
    target: str
    text: str


def read_series(path: Path, names: Collection[str]) -> dict[str, list[Scrape]]:
    """Return the scrapes of each target, in order, with the samples of these names only.

    A line of the file is one scrape: `{"t": Unix seconds, "target": name, "text": Prometheus text}`.

    Raises:
        InputError: a line is not such an object, or its text is not Prometheus'.

    """
    # A name of a histogram stands for its samples too. Most of a scrape is skipped before the slow parser.
    wanted = re.compile(rf"^(?:{'|'.join(map(re.escape, names))})(?:_bucket|_sum|_count)?[ {{].*$", re.M)
    found: dict[str, list[Scrape]] = {}
    for number, row in read_lines(path, _Row):
        text = "".join(f"{line}\n" for line in wanted.findall(row.text))
        scrape = parse(text, f"{path}, line {number}: text", row.t)
        found.setdefault(row.target, []).append(scrape)
    return found


@dataclass(frozen=True)
class Histogram:
    """How often a duration or size fell below each bound; what lies inside a bucket is not known."""

    bounds: Sequence[float]
    """Upper ends of the buckets, ascending, the last one infinite."""
    counts: Sequence[float]
    """Observations up to each bound."""
    sum: float

    @property
    def count(self) -> float:
        """Observations."""
        return self.counts[-1] if self.counts else 0.0

    @property
    def mean(self) -> float | None:
        """Sum over count; None without observations."""
        return self.sum / self.count if self.count else None

    def __add__(self, other: "Histogram") -> "Histogram":
        """Return the observations of both, which have the same buckets."""
        if list(self.bounds) != list(other.bounds):
            raise InputError(f"buckets {self.bounds} and {other.bounds} do not add up")
        counts = [ours + theirs for ours, theirs in zip(self.counts, other.counts, strict=True)]
        return Histogram(self.bounds, counts, self.sum + other.sum)

    def bucket(self, share: float) -> tuple[float, float] | None:
        """Return the ends of the bucket with the quantile `share` (0 to 1); None without observations."""
        if not self.count:
            return None
        place = next(i for i, count in enumerate(self.counts) if count >= share * self.count)
        return (self.bounds[place - 1] if place else 0.0, self.bounds[place])

    def quantile(self, share: float) -> float | None:
        """Return the quantile `share` as Prometheus does: values are spread evenly within each bucket.

        The lower end of a bucket without an upper one; None without observations.
        """
        ends = self.bucket(share)
        if ends is None:
            return None
        place = list(self.bounds).index(ends[1])
        below = self.counts[place - 1] if place else 0.0
        inside = self.counts[place] - below
        if ends[1] == inf or not inside:
            return ends[0]
        return ends[0] + (ends[1] - ends[0]) * (share * self.count - below) / inside


@dataclass(frozen=True)
class Window:
    """One process over a run: what its counters rose by from the first scrape to the last.

    A single scrape means: since the process started.
    """

    scrapes: Sequence[Scrape]

    @property
    def last(self) -> Scrape:
        """The scrape after everything: gauges are read here."""
        return self.scrapes[-1]

    @property
    def since_start(self) -> bool:
        """Whether there is nothing to subtract."""
        return len(self.scrapes) == 1

    def increase(self, name: str, **labels: str) -> float | None:
        """Return what a counter rose by, summed over label sets that carry these; None if it is absent."""
        found = [self._increase(name, found) for found, _ in self.last.matching(name, labels)]
        return added(found) if found else None

    def histogram(self, name: str, **labels: str) -> Histogram | None:
        """Return a histogram's observations during the run; None if it is absent."""
        total = self.increase(f"{name}_sum", **labels)
        if total is None:
            return None
        bounds = sorted(self.last.label(f"{name}_bucket", "le"), key=float)
        counts = [self.increase(f"{name}_bucket", le=bound, **labels) or 0.0 for bound in bounds]
        if not bounds:
            bounds, counts = [str(inf)], [self.increase(f"{name}_count", **labels) or 0.0]
        return Histogram([float(bound) for bound in bounds], counts, total)

    def restarted(self, name: str) -> bool:
        """Whether any counter of this name was set back."""
        return any(
            self._value(after, name, labels) < self._value(before, name, labels)
            for before, after in pairwise(self.scrapes)
            for labels in self.last.samples.get(name, ())
        )

    def _increase(self, name: str, labels: Labels) -> float:
        rises = 0.0
        for before, after in pairwise([Scrape({}), *self.scrapes] if self.since_start else self.scrapes):
            old, new = self._value(before, name, labels), self._value(after, name, labels)
            rises += new - old if new >= old else new
        return rises

    def _value(self, scrape: Scrape, name: str, labels: Labels) -> float:
        return scrape.samples.get(name, {}).get(labels, 0.0)


def _samples(text: str) -> Iterator[Sample]:
    """Yield the samples of Prometheus text; raises what its parser does, ValueError for what is no number."""
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            value = float(sample.value)  # a whole number may be too large for one
            if sample.name.startswith(_OURS) and not isfinite(value):
                raise ValueError(f"{sample.name} is {value}")
            if isnan(float(sample.labels.get("le", "0"))):
                raise ValueError(f"{sample.name} has a bucket without an end")
            yield sample


def _bad_line(text: str) -> str:
    """Return "line n: content: " of the first line that cannot be parsed by itself, "" if all can."""
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            for _ in _samples(line + "\n"):
                pass
        except (ValueError, KeyError, IndexError, OverflowError):
            return f"line {number}: {line[:60]!r}: "
    return ""
