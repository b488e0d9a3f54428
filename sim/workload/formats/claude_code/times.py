"""When requests were sent and their answers complete, and what came in between."""

from collections.abc import Iterator, Sequence

from sim.workload.findings import Findings
from sim.workload.formats.claude_code.entries import Entry
from sim.workload.formats.claude_code.responses import Response
from sim.workload.formats.claude_code.streams import Stream


def set_times(streams: Sequence[Stream], responses: Sequence[Response], findings: Findings) -> None:
    """Give responses their times, and the tools whose results they were sent with.

    A request leaves when the last that it answers was there: the latest row of the user, with results of
    tools, or attachment since the first row of the response before. Its answer is complete with its last row;
    rows are written when a block is complete, so that nothing tells when the first token came.
    """
    owner = {uuid: response for response in responses for uuid in response.uuids}
    of: dict[str, dict[int, Response]] = {stream.name: {} for stream in streams}
    for response in responses:
        of[response.stream.name][response.place] = response
    n_silent = n_late = 0
    for stream in streams:
        for response, since in _windows(stream, of[stream.name], owner):
            n_silent += not any(row.prompt is not None and row.prompt.sends for row in since)
            n_late += _set(response, since)
    findings.fix(
        "requests that answer nothing, sent when the first row of their answer was written", n_silent
    )
    findings.fix("requests answered before they were sent, as a clock ran backwards", n_late)


def _windows(
    stream: Stream, own: dict[int, Response], owner: dict[str, Response]
) -> Iterator[tuple[Response, list[Entry]]]:
    """Yield the responses of a stream in order, and what was written since the one before began.

    That something had ended while a request ran is told to the next one: who is yielded a response gives it
    its time before going on.
    """
    seen: set[int] = set()
    since: list[Entry] = []
    for place, entry in enumerate(stream.entries):
        response = own.get(place) or owner.get(entry.uuid or "")
        if response is None:
            if entry.prompt is not None:
                since.append(entry)
            continue
        if id(response) not in seen:
            seen.add(id(response))
            late: list[Entry] = []
            if response.stream is stream:
                yield response, since
                late = [each for each in since if each.kind == "notice" and _is_behind(each, response)]
            since = late


def _is_behind(entry: Entry, response: Response) -> bool:
    return entry.time_us is not None and entry.time_us > response.send_us


def _set(response: Response, since: Sequence[Entry]) -> bool:
    """Give a response what its window says; return whether all of that was written after its first row."""
    prompts = [(entry, entry.prompt) for entry in since if entry.prompt is not None]
    response.results = [tool for _, prompt in prompts for tool in prompt.results]
    written = [row.time_us or 0 for row in response.rows]
    first_us, response.end_us = written[0], max(written)
    sent = [entry.time_us or 0 for entry, prompt in prompts if prompt.sends]
    if sent:
        response.by_tool = bool(response.results)
    response.send_us = max((time for time in sent if time <= first_us), default=first_us)
    response.ended = [
        tool
        for entry, prompt in prompts
        if entry.kind != "notice" or not _is_behind(entry, response)
        for tool in prompt.ended
    ]
    return bool(sent) and min(sent) > first_us
