"""What a run says of its front ends, and of how they hear of the workers' caches."""

from sim.base import words
from sim.scenario.scenario import Scenario

_BALANCED = {
    "session": "a session keeps its front end",
    "round-robin": "requests come to them in turn",
    "random": "requests come to any of them",
}


def front_end_notes(scenario: Scenario) -> list[str]:
    """Return what a person must know, a sentence each."""
    front, router, notes = scenario.frontend, scenario.router, []
    if front.replicas > 1:
        shared = "not shared"
        if router.replica_sync:
            lost = router.replica_sync_loss
            shared = f"shared {words.seconds(router.replica_sync_delay_s)} later"
            shared += f", but for {words.percent(lost)} of the messages" if lost else ""
        notes.append(f"{front.replicas} front ends, bookings {shared}; {_BALANCED[front.load_balancing]}")
    if front.event_loss:
        then = "recovered with the next ones" if front.event_loss_recovered else "lost for good"
        each = " to each front end" if front.replicas > 1 else ""
        notes.append(f"KV events of {words.percent(front.event_loss)} of the outputs{each} are lost: {then}")
    if front.event_jitter_s:
        usual_s, latest_s = front.event_delay_s, front.event_delay_s + front.event_jitter_s
        notes.append(f"KV events take {words.seconds(usual_s)} to {words.seconds(latest_s)}, a draw each")
    return notes
