"""Who goes first where requests have priorities: vLLM 0.28.0's `--scheduling-policy priority`.

Smaller numbers are more urgent, and of equals who came first. All that wait are kept in this order, those
that were preempted too; one that was passed over goes on competing with the others. Who finds no blocks
preempts the least urgent that runs, which may be in the step already, or be itself. Source: the Python of
vLLM 0.28.0 (`request_queue.py`, `Scheduler.schedule`).
"""

from collections import deque

from sim.engine.active import ActiveRequest


def is_before(one: ActiveRequest, other: ActiveRequest) -> bool:
    """Whether a request is more urgent than another."""
    if one.priority != other.priority:
        return one.priority < other.priority
    return one.arrival < other.arrival


def insert(queue: deque[ActiveRequest], request: ActiveRequest) -> None:
    """Put a request where it belongs."""
    place = len(queue)
    while place and is_before(request, queue[place - 1]):
        place -= 1
    queue.insert(place, request)


def next_of(skipped: deque[ActiveRequest], waiting: deque[ActiveRequest]) -> deque[ActiveRequest]:
    """Return the queue with the most urgent request; one of them is not empty."""
    if skipped and waiting:
        return waiting if is_before(waiting[0], skipped[0]) else skipped
    return waiting or skipped


def least_urgent(running: list[ActiveRequest]) -> int:
    """Return the place of who is to be preempted."""
    last = 0
    for place, request in enumerate(running):
        if is_before(running[last], request):
            last = place
    return last
