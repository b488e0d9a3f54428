"""What the client of a measured run sent, or would send if the answers came at other times."""

from dataclasses import replace

from sim.scenario.scenario import Scenario
from sim.validation.replay.recording import Recording
from sim.validation.replay.sending import at_times, limit_in_flight


def as_the_client_would(recorded: Recording, scenario: Scenario) -> tuple[Recording, Scenario]:
    """Return the recording in the order of sending, without times, and the scenario with the run's client.

    Requests of an open-loop client are sent when they were, those of one with a limit when the trace says.
    """
    limit = limit_in_flight(recorded)
    due_s = [_due_s(recorded, index, from_trace=bool(limit)) for index in range(len(recorded.requests))]
    sent = replace(at_times(recorded, due_s), times={})
    client = {"client": "max-concurrency", "max_concurrency": limit} if limit else {"client": "open-loop"}
    replay = scenario.replay.model_copy(update={**client, "speedup": 1.0})
    output = scenario.output.model_copy(update={"tables": ()})
    return sent, scenario.model_copy(update={"replay": replay, "output": output})


def _due_s(recorded: Recording, index: int, *, from_trace: bool) -> float:
    request = recorded.requests[index]
    in_trace_s = request.trace.timestamp_s if request.trace and from_trace else None
    known = (in_trace_s, request.send_s, recorded.trace.requests[index].timestamp_s)
    return next((time_s for time_s in known if time_s is not None), 0.0)
