"""Which response comes before which in a conversation: by links between lines, not by their order.

That holds for turns that follow each other, for those that were taken back and asked again, for sessions that
branch off others, and for their copies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from sim.workload.findings import Findings
from sim.workload.formats.claude_code.responses import Response
from sim.workload.formats.claude_code.streams import Stream

_Above = Response | Literal["boundary", "start", "missing"]


@dataclass(slots=True)
class _Links:
    """Where a line leads to, by its id."""

    parent_of: dict[str, str | None]
    boundaries: set[str]
    owner: dict[str, Response]
    known: dict[str, _Above]

    def above(self, uuid: str | None) -> _Above:
        """Return the response that a line is of, or is behind; or the boundary or start before that."""
        path: list[str] = []
        found: _Above = "start"
        while uuid is not None:
            if uuid in self.owner:
                found = self.owner[uuid]
            elif uuid in self.boundaries:
                found = "boundary"
            elif uuid in self.known:
                found = self.known[uuid]
            elif uuid not in self.parent_of:
                found = "missing"
            else:
                # A circle ends where it comes back to itself.
                self.known[uuid] = "start"
                path.append(uuid)
                uuid = self.parent_of[uuid]
                continue
            break
        for each in path:
            self.known[each] = found
        return found


def set_predecessors(
    streams: Sequence[Stream],
    responses: Sequence[Response],
    compactions: Sequence[Response],
    findings: Findings,
) -> None:
    """Give responses and compactions the response that each goes on from, if there is one."""
    links = _links(streams, responses)
    before = _before_in_file([*responses, *compactions])
    n_missing = 0
    for response in responses:
        found = _above(response, links)
        if found == "missing":
            n_missing += 1
            found = before.get(id(response)) or "start"
        if isinstance(found, Response):
            if found.why == "compaction":
                response.why = "after a boundary"
            else:
                response.predecessor = found
        elif found == "boundary":
            response.why = "after a boundary"
    for compaction in compactions:
        found = links.above(compaction.rows[0].parent)
        if not isinstance(found, Response):
            found = before.get(id(compaction)) or "start"
        if isinstance(found, Response) and found.why != "compaction":
            compaction.predecessor = found
    findings.fix(
        "responses that go on from a line in no file, taken to go on from the one before them",
        n_missing,
    )


def _links(streams: Sequence[Stream], responses: Sequence[Response]) -> _Links:
    parent_of: dict[str, str | None] = {}
    boundaries = set()
    for stream in streams:
        for entry in stream.entries:
            if entry.uuid is None:
                continue
            if parent_of.get(entry.uuid) is None:
                parent_of[entry.uuid] = entry.parent
            if entry.boundary is not None:
                boundaries.add(entry.uuid)
    owner = {uuid: response for response in responses for uuid in response.uuids}
    return _Links(parent_of, boundaries, owner, {})


def _above(response: Response, links: _Links) -> _Above:
    """Return what is before the first row of a response."""
    own = {row.uuid for row in response.rows}
    outside = [row.parent for row in response.rows if row.parent is None or row.parent not in own]
    found = [links.above(parent) for parent in outside]
    return next((each for each in found if each is not response), "start")


def _before_in_file(responses: Sequence[Response]) -> dict[int, Response]:
    """Return what comes before each response in its stream."""
    order = sorted(responses, key=lambda each: (each.stream.name, each.place))
    return {id(after): before for before, after in pairwise(order) if before.stream is after.stream}
