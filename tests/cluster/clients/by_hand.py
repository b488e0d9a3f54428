"""Clients before a server that takes a time for each request: what leaves when."""

from array import array
from collections.abc import Callable, Iterable
from math import nan
from typing import Any, NamedTuple

from sim.cluster.clients.client import Client
from sim.cluster.clients.make import make_client
from sim.events.clock import Clock, Phase
from sim.workload.request import Request, Trace
from sim.workload.settings import ReplaySettings

Service = Callable[[Request], float]


class Played(NamedTuple):
    """A client that has played its trace."""

    client: Client
    due_s: list[float]
    notes: list[str]


def trace(
    *rows: tuple[str, float | None, float | None] | tuple[str, float | None, float | None, Iterable[int]],
) -> Trace:
    """Build a trace from rows of (session, timestamp, delay), and what they wait for."""
    turns: dict[str, int] = {}
    requests = []
    for index, (session, timestamp_s, delay_s, *waits) in enumerate(rows):
        turn = turns[session] = turns.get(session, -1) + 1
        waits_for = tuple(waits[0]) if waits else ()
        requests.append(
            Request(index, session, turn, timestamp_s, delay_s, 16, 1, (index,), waits_for=waits_for)
        )
    return Trace(tuple(requests), 16, "test")


def replay(
    rows: Trace, service: float | Service, start_s: float = 0.0, **settings: Any
) -> tuple[list[tuple[str, float]], Played]:
    """Replay against a server that takes `service` seconds; 0 answers inside the call, as a rejection."""
    env = Clock(start_s)
    log: list[tuple[str, float]] = []
    due_s = array("d", [nan]) * len(rows.requests)

    def send(request: Request) -> None:
        log.append((f"{request.session}{request.turn}", env.now))
        takes_s = service(request) if callable(service) else service
        if takes_s == 0:
            client.ended(request)
        else:
            env.at(env.now + takes_s, Phase.OUTPUT, request.index, lambda: client.ended(request))

    client = make_client(env, rows, ReplaySettings.model_validate(settings), send, due_s)
    client.start()
    env.run()
    return log, Played(client, list(due_s), client.notes)
