"""Random faults for clusters of tests."""

from random import Random
from typing import Any


def random_faults(random: Random, *, workers: int, disaggregated: bool, offload: bool, until_s: float):
    """Return faults as a scenario has them: of each kind at most one a worker, so that none overlap."""
    faults: list[dict[str, Any]] = []
    pieces = 64

    def moment(least: float = 0.0) -> float:
        return least + random.randint(0, pieces) * until_s / pieces

    for worker in range(workers):
        away = random.choice(["worker-dies", "worker-drains", None])
        if away is None:
            continue
        fault = {"kind": away, "worker": worker, "at_s": moment()}
        if random.random() < 0.7:
            fault["back_after_s"] = moment(1 / 64)
        if away == "worker-dies":
            fault["connections"] = random.choice(["close", "hang"])
            fault["detected_after_s"] = random.choice([0, moment()])
            fault["connect_timeout_s"] = random.choice([0, moment()])
        else:
            fault["grace_s"] = random.choice([0, moment()])
            fault["timeout_s"] = moment(1 / 64)
        faults.append(fault)
    lasting = {"at_s": moment(), "for_s": moment(1 / 64)}
    one = random.choice([{}, {"worker": random.randrange(workers)}])
    if random.random() < 0.4:
        faults.append({"kind": "slow-gpu", "factor": random.choice([0.5, 1.7, 3]), **one, **lasting})
    if random.random() < 0.4:
        kind = random.choice(["kv-events-lost", "kv-events-late"])
        more = {"delay_s": moment(1 / 64)}
        if kind == "kv-events-lost":
            more = {"share": random.choice([0.3, 1]), "recovered": random.random() < 0.5}
        faults.append({"kind": kind, **more, **one, **lasting})
    if random.random() < 0.3:
        faults.append(
            {
                "kind": "frontend-restarts",
                "at_s": moment(),
                "down_s": random.choice([0, moment()]),
                "in_flight": random.choice(["fail", "keep"]),
                "index": random.choice(["recovered", "lost"]),
            }
        )
    if random.random() < 0.4:
        share = random.choice([0.4, 1])
        faults.append({"kind": "clients-cancel", "at_s": moment(), "after_s": moment(), "share": share})
    if offload and random.random() < 0.5:
        faults.append({"kind": "link-outage", "link": "pcie", **lasting})
    if disaggregated and random.random() < 0.5:
        faults.append({"kind": "link-outage", "link": "nvlink", **lasting})
    return faults


def random_limits(random: Random, until_s: float) -> dict[str, dict[str, Any]]:
    """Return the keys that say what becomes of requests, by section."""
    return {
        "frontend": {"migration_limit": random.choice([0, 0, 1, 3])},
        "replay": {"timeout_s": random.choice([None, None, 0.3 * until_s])},
    }
