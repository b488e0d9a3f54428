"""When which links are out, as streams and networks take it."""

from collections.abc import Iterable

from sim.links.network import LinkOut
from sim.links.transfer import Outage
from sim.scenario.faults import Fault, LinkOutage


def tier_outages(faults: Iterable[Fault], worker: int, link: str, begun_s: float) -> list[Outage]:
    """Return when a worker's links of a kind are out, in order of time; periods that meet are one.

    Times of faults count from `begun_s`.
    """
    periods = sorted(
        (begun_s + fault.at_s, begun_s + (fault.at_s + fault.for_s))
        for fault in faults
        if isinstance(fault, LinkOutage) and fault.link == link and fault.owner in (None, worker)
    )
    joined: list[Outage] = []
    for start_s, end_s in periods:
        if joined and start_s <= joined[-1].end_s:
            joined[-1] = Outage(joined[-1].start_s, max(end_s, joined[-1].end_s))
        else:
            joined.append(Outage(start_s, end_s))
    return joined


def network_outages(faults: Iterable[Fault], begun_s: float) -> list[LinkOut]:
    """Return when links between workers are out; times of faults count from `begun_s`."""
    return [
        LinkOut(begun_s + fault.at_s, begun_s + (fault.at_s + fault.for_s), fault.link, fault.owner)
        for fault in faults
        if isinstance(fault, LinkOutage) and fault.link != "pcie"
    ]
