"""What the slides leave open, moved one at a time to what else it could be: which rows hang on it?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sim.published.variants import Variant
from sim.scenario.scenario import Scenario

_CHOICES = (
    ("trace window", "workload.window", "first"),
    ("replay", "replay.client", "turn-dependent"),
    ("token budget", "engine.max_num_batched_tokens", "16384"),
    ("asynchronous scheduling", "engine.async_scheduling", "false"),
    ("host-tier events", "offload.kv_events", "self-describing"),
)
"""Name, key, and the other value: there is nothing in between."""

_SETTINGS = (
    ("session starts apart", "workload.start_gap_s", "s", 1.0, (60.0,)),
    ("timestamps faster by", "replay.speedup", "", 1.0, (0.5,)),
    ("output lengths times", "workload.output_factor", "", 1.0, (2.0,)),
    ("PCIe", "offload.link.bandwidth_bytes_per_s", "GB/s", 1e9, (20.0,)),
    ("NVLink", "disaggregation.network.nvlink.bandwidth_bytes_per_s", "GB/s", 1e9, (0.5,)),
    ("RoCE", "disaggregation.network.roce.bandwidth_bytes_per_s", "GB/s", 1e9, (4.3,)),
)
"""Name, key, unit, what it is in the scenario's, other values. Of links: the slow end of their ranges."""

_COEFFICIENTS = (
    ("prefill attention", "timing", "a_pair_s", "ps", 1e-12),
    ("decode attention", "timing", "c_kv_s_per_token", "ns", 1e-9),
    ("tokenising", "frontend", "alpha_in_s_per_token", "us", 1e-6),
)
"""Name, section, key, unit and what it is in seconds; other values: the ends of its range in its file."""


@dataclass(frozen=True, slots=True)
class Moved:
    """An assumption, moved to another value."""

    name: str
    key: str
    """The scenario's."""
    text: str
    """The other value, as it is set."""
    numbers: tuple[float, float] | None = None
    """The assumed and the other value, where there is something in between."""
    unit: str = ""
    """Of these numbers."""

    @property
    def variant(self) -> Variant:
        """The simulator with it."""
        return Variant(f"{self.name} {self.text}", (f"{self.key}={self.text}",))


def moved(scenarios: Sequence[Scenario]) -> Iterator[Moved]:
    """Yield every assumption with every other value.

    What is assumed now is what the first of these scenarios says that has the section; without one, there is
    nothing to move.
    """
    for name, key, text in _CHOICES:
        if any(_section(scenario, key) for scenario in scenarios):
            yield Moved(name, key, text)
    for name, key, unit, scale, others in _SETTINGS:
        having = [scenario for scenario in scenarios if _section(scenario, key)]
        for other in others if having else ():
            assumed = _value(having[0], key) / scale
            yield Moved(name, key, f"{other:g}{unit}", (assumed, other), unit)
    times = scenarios[0].coefficients()
    entries = times.file.entries if times.file else {}
    for name, section, key, unit, scale in _COEFFICIENTS:
        part = times.step if section == "timing" else times.frontend
        assumed = getattr(part, key) / scale
        ends = [end / scale for end in entries[key].range] if key in entries else []
        for other in ends:
            yield Moved(name, f"{section}.{key}", f"{other:g}{unit}", (assumed, other), unit)


def _section(scenario: Scenario, key: str) -> object:
    """Return the section of a key, None where the scenario has none or it means nothing."""
    section = key.partition(".")[0]
    if section == "disaggregation" and scenario.workers.count:
        return None
    found: object = getattr(scenario, section)
    return found


def _value(scenario: Scenario, key: str) -> float:
    node: object = scenario
    for part in key.split("."):
        node = getattr(node, part)
    assert isinstance(node, int | float)
    return float(node)
