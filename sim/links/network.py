"""KV transfers between workers: over NVLink inside a node, over one network card a node between nodes.

A transfer is set up first: latency, and posting its descriptors one by one. Then it joins the links that it
crosses, one out of the source and one into the target, and meets others there. Nothing here waits: a
`Network` is told the time, and says when to ask it again.
"""

from bisect import insort
from collections.abc import Sequence
from math import inf
from typing import Literal, NamedTuple

from sim.links.settings import NetworkSettings, Wire
from sim.links.sharing import RULES, Route


class LinkUse(NamedTuple):
    """One direction of one link, and what went over it."""

    kind: Literal["nvlink", "roce"]
    owner: int
    """The worker whose NVLink it is, or the node whose card."""
    direction: Literal["out", "in"]
    bandwidth_bytes_per_s: float
    transfers: int
    """Completed ones."""
    n_bytes: int
    """Of completed transfers."""
    busy_s: float
    """Time with bytes under way."""
    waiting_s: float
    """How much longer transfers took than alone, counted on the link that held them up at the time."""


class Network:
    """All links between the workers, and the transfers on them. Times must not decrease from call to call."""

    def __init__(
        self,
        settings: NetworkSettings,
        nodes: Sequence[int],
        gpus: Sequence[int] = (),
        *,
        joins_hosts: bool = False,
    ) -> None:
        """Build the links.

        Each GPU has NVLink of its own: NVSwitch joins the GPUs of a node at full rate, so transfers meet
        only at a worker that they leave or enter, whose GPUs each carry an equal part. The workers of a node
        have its card in common.

        Args:
            settings: of the links.
            nodes: the node of each worker, from 0.
            gpus: of each worker; one if left out.
            joins_hosts: whether host memories are read too, which takes a card even where there is one node.
        """
        self._nodes = nodes
        self._nvlink, self._roce = settings.nvlink, settings.roce
        self._links = [
            _Link("nvlink", i // 2, i % 2, self._nvlink, gpus[i // 2] if gpus else 1)
            for i in range(2 * len(nodes))
        ]
        self._first_card = len(self._links)
        cards = max(nodes) + 1 if max(nodes) or joins_hosts else 0
        self._links += [_Link("roce", i // 2, i % 2, self._roce) for i in range(2 * cards)]
        self._bandwidths = [link.bandwidth for link in self._links]
        self._rates = RULES[settings.sharing]
        self._outages: Sequence[LinkOut] = ()
        self._edges_s: list[float] = []
        """When links go out or come back, those to come."""
        self._now_s = 0.0
        self._started = 0
        self._set_up: list[tuple[float, int, _Transfer]] = []
        """Transfers that have not joined their links yet, in the order in which they will: when, a count."""
        self._joined: list[_Transfer] = []
        """Transfers on their links, in the order in which they joined."""
        self._completed: list[tuple[float, int, Route, int]] = []
        """When, which, over what and how many bytes: those that `finish` has not returned yet."""

    def take_out(self, outages: Sequence["LinkOut"]) -> None:
        """Let links carry nothing at times to come."""
        self._outages = outages
        self._edges_s = sorted({edge_s for outage in outages for edge_s in (outage.start_s, outage.end_s)})

    def start(
        self,
        transfer_id: int,
        n_bytes: int,
        descriptors: int,
        source: int,
        target: int,
        *,
        now_s: float,
        of_host: bool = False,
        posting_s: float | None = None,
    ) -> None:
        """Start a transfer of `n_bytes` between two workers; a descriptor stands for a contiguous piece.

        `of_host`: between their host memories. Inside a node that goes out of its card and in again.
        `posting_s`: how long the descriptors take to be posted; None: the link's time for each.
        """
        self._advance(now_s)
        wire, route = self._way(source, target, of_host=of_host)
        alone = min(self._bandwidths[link] for link in route)
        posting_s = descriptors * wire.per_descriptor_s if posting_s is None else posting_s
        join_s = now_s + wire.latency_s + posting_s
        insort(self._set_up, (join_s, self._started, _Transfer(transfer_id, n_bytes, route, alone)))
        self._started += 1

    def cancel(self, transfer_id: int, *, now_s: float) -> None:
        """Stop a transfer: nothing of it is counted but the time that links were busy with it."""
        self._advance(now_s)
        self._set_up = [entry for entry in self._set_up if entry[2].id != transfer_id]
        self._joined = [transfer for transfer in self._joined if transfer.id != transfer_id]
        for entry in self._completed:
            if entry[1] == transfer_id:  # it has ended at this very instant
                self._count(entry[2], -1, -entry[3])
        self._completed = [entry for entry in self._completed if entry[1] != transfer_id]
        self._share(now_s)

    def next_s(self) -> float:
        """Return when to call `finish` if nothing is started before; infinity if nothing is under way.

        Something changes then: a transfer ends, or only joins its links and so slows others down.
        """
        if self._completed:
            return self._completed[0][0]
        return self._next_change_s()

    def finish(self, now_s: float) -> list[int]:
        """Return the transfers that ended since the last call, by time and then id; there may be none."""
        self._advance(now_s)
        ended = [entry[1] for entry in sorted(self._completed)]
        self._completed.clear()
        return ended

    def links(self, now_s: float) -> list[LinkUse]:
        """Return every link and what it carried until now. Without a second node there are no cards."""
        self._advance(now_s)
        return [link.use() for link in self._links]

    def _way(self, source: int, target: int, *, of_host: bool) -> tuple[Wire, Route]:
        """Return what joins two workers, and the numbers of the links: even ones lead out, odd ones in."""
        source_node, target_node = self._nodes[source], self._nodes[target]
        if source_node == target_node and not of_host:
            return self._nvlink, (2 * source, 2 * target + 1)
        return self._roce, (self._first_card + 2 * source_node, self._first_card + 2 * target_node + 1)

    def _next_change_s(self) -> float:
        if not self._set_up and not self._joined:
            return inf
        join_s = self._set_up[0][0] if self._set_up else inf
        edge_s = self._edges_s[0] if self._edges_s else inf
        return min([join_s, edge_s, *(transfer.end_s for transfer in self._joined)])

    def _advance(self, now_s: float) -> None:
        """Let everything happen that does until now, in order of time; at one time ends come before joins."""
        while self._edges_s and self._edges_s[0] <= self._now_s:
            self._edges_s.pop(0)
        while (self._set_up or self._joined) and (change_s := self._next_change_s()) <= now_s:
            self._pass(change_s)
            self._end(change_s)
            while self._set_up and self._set_up[0][0] <= change_s:
                self._joined.append(self._set_up.pop(0)[2])
            while self._edges_s and self._edges_s[0] <= change_s:
                self._edges_s.pop(0)
            self._share(change_s)
        self._pass(now_s)

    def _share(self, now_s: float) -> None:
        """Let the transfers on links go on at the rates that they have together."""
        bandwidths = self._bandwidths
        if self._outages:
            bandwidths = [
                0.0 if any(_takes_out(outage, link, now_s) for outage in self._outages) else link.bandwidth
                for link in self._links
            ]
        rates = self._rates([transfer.route for transfer in self._joined], bandwidths)
        for transfer, (rate, held_by) in zip(self._joined, rates, strict=True):
            transfer.go_on(rate, held_by, now_s)

    def _pass(self, to_s: float) -> None:
        """Let time pass in which nothing changes."""
        elapsed_s, self._now_s = to_s - self._now_s, to_s
        if not elapsed_s:
            return
        moving = {link for transfer in self._joined if transfer.rate for link in transfer.route}
        for link in moving:
            self._links[link].busy_s += elapsed_s
        for transfer in self._joined:
            self._links[transfer.held_by].waiting_s += elapsed_s * (1 - transfer.rate / transfer.alone)

    def _end(self, now_s: float) -> None:
        ended = [transfer for transfer in self._joined if transfer.end_s <= now_s]
        for transfer in ended:
            self._completed.append((now_s, transfer.id, transfer.route, transfer.n_bytes))
            self._count(transfer.route, 1, transfer.n_bytes)
        if ended:
            self._joined = [transfer for transfer in self._joined if transfer.end_s > now_s]

    def _count(self, route: Route, transfers: int, n_bytes: int) -> None:
        for link in route:
            self._links[link].transfers += transfers
            self._links[link].n_bytes += n_bytes


class LinkOut(NamedTuple):
    """A period, in seconds, in which links carry nothing."""

    start_s: float
    end_s: float
    kind: Literal["nvlink", "roce"]
    owner: int | None
    """The worker or node, as `LinkUse` has it; None: all links of the kind."""


class _Link:
    """One direction of one link: out (0) or in (1)."""

    __slots__ = ("_inward", "bandwidth", "busy_s", "kind", "n_bytes", "owner", "transfers", "waiting_s")

    def __init__(
        self, kind: Literal["nvlink", "roce"], owner: int, inward: int, wire: Wire, wires: int = 1
    ) -> None:
        self.kind, self.owner, self._inward = kind, owner, inward
        self.bandwidth = wires * wire.bandwidth_bytes_per_s
        self.transfers = self.n_bytes = 0
        self.busy_s = self.waiting_s = 0.0

    def use(self) -> LinkUse:
        return LinkUse(
            self.kind,
            self.owner,
            "in" if self._inward else "out",
            self.bandwidth,
            self.transfers,
            self.n_bytes,
            self.busy_s,
            self.waiting_s,
        )


def _takes_out(outage: LinkOut, link: _Link, now_s: float) -> bool:
    """Whether a link carries nothing at this time."""
    if not outage.start_s <= now_s < outage.end_s or link.kind != outage.kind:
        return False
    return outage.owner is None or outage.owner == link.owner


class _Transfer:
    """A transfer under way."""

    __slots__ = ("_left_bytes", "alone", "end_s", "held_by", "id", "n_bytes", "rate", "route")

    def __init__(self, transfer_id: int, n_bytes: int, route: Route, alone: float) -> None:
        self.id = transfer_id
        self.n_bytes = n_bytes
        self.route = route
        self.alone = alone
        """Bytes a second that it would go at without others."""
        self.rate = 0.0
        self.held_by = route[0]
        """The link that lets it go no faster."""
        self.end_s = inf
        """When it ends at this rate: what is compared with the time, so that no rest is left by rounding."""
        self._left_bytes = float(n_bytes)
        """At the last change of rate."""

    def go_on(self, rate: float, held_by: int, now_s: float) -> None:
        """Go on at a rate, which may be the same."""
        self.held_by = held_by
        if rate != self.rate:
            if self.rate:
                self._left_bytes = (self.end_s - now_s) * self.rate
            self.rate = rate
            self.end_s = now_s + self._left_bytes / rate if rate else inf
