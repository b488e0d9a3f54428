"""Random faults for clusters of tests."""

from collections.abc import Iterator
from random import Random
from typing import Any


def random_faults(random: Random, *, workers: int, disaggregated: bool, offload: bool, until_s: float):
    """Return faults as a scenario has them: of each kind at most one a worker, so that none overlap."""
    faults: list[dict[str, Any]] = []
    segments = 64

    def moment(least: float = 0.0) -> float:
        return least + random.randint(0, segments) * until_s / segments

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


def faults_of_a_long_run(random: Random, workers: int, until_s: float) -> list[dict[str, Any]]:
    """Return faults of aggregated workers with CPU tiers: of all kinds, but most requests are served."""
    faults: list[dict[str, Any]] = []
    for worker in range(workers):
        for at_s in _moments(random, until_s, mean_s=250.0, apart_s=90.0):
            faults.append({"worker": worker, "at_s": at_s} | _absence(random))
        for at_s in _moments(random, until_s, mean_s=300.0, apart_s=60.0):
            slow = {"factor": random.choice([0.7, 1.5, 4.0]), "for_s": random.uniform(1, 60)}
            faults.append({"kind": "slow-gpu", "worker": worker, "at_s": at_s} | slow)
        for at_s in _moments(random, until_s, mean_s=500.0, apart_s=0.0):
            outage = {"link": "pcie", "owner": worker, "for_s": random.uniform(0.1, 10)}
            faults.append({"kind": "link-outage", "at_s": at_s} | outage)
        # Such a worker fast-forwards nothing: only some are so.
        for at_s in _moments(random, until_s, mean_s=60.0, apart_s=40.0) if worker % 4 == 3 else ():
            faults.append({"worker": worker, "at_s": at_s, "for_s": random.uniform(1, 40)} | _news(random))
    for at_s in _moments(random, until_s, mean_s=120.0, apart_s=2.0):
        restart = {
            "in_flight": random.choice(["fail", "keep"]),
            "index": random.choice(["recovered", "lost"]),
        }
        faults.append(
            {"kind": "frontend-restarts", "at_s": at_s, "down_s": random.choice([0, 0.5, 2])} | restart
        )
    for at_s in _moments(random, until_s, mean_s=100.0, apart_s=60.0):
        cancel = {"for_s": random.uniform(1, 60), "after_s": random.uniform(0, 2), "share": 0.3}
        faults.append({"kind": "clients-cancel", "at_s": at_s} | cancel)
    return faults


def _moments(random: Random, until_s: float, *, mean_s: float, apart_s: float) -> Iterator[float]:
    """Yield times that are `mean_s` apart in the mean, and `apart_s` at least."""
    at_s = random.expovariate(1 / mean_s)
    while at_s < until_s:
        yield at_s
        at_s += apart_s + random.expovariate(1 / (mean_s - apart_s))


def _absence(random: Random) -> dict[str, Any]:
    """Return how a worker goes, for 90 s at most."""
    back = {"back_after_s": random.uniform(1, 60)}
    if random.random() < 0.5:
        grace = {"grace_s": random.choice([0, 5]), "timeout_s": random.choice([1, 10, 30])}
        return {"kind": "worker-drains"} | back | grace
    known = {"detected_after_s": random.choice([0, 10]), "connect_timeout_s": random.choice([0, 5])}
    return {"kind": "worker-dies", "connections": random.choice(["close", "hang"])} | back | known


def _news(random: Random) -> dict[str, Any]:
    """Return what becomes of KV events."""
    if random.random() < 0.3:
        return {"kind": "kv-events-late", "delay_s": random.uniform(0.01, 5)}
    recovered = random.random() < 0.5
    return {"kind": "kv-events-lost", "share": random.choice([0.3, 1.0]), "recovered": recovered}
