"""Whether a simulation is checked: as its caller says, else as the environment does."""

import os

from sim.cluster.checks.watch import Watch

SWITCH = "SIM_CHECK"
"""Environment variable that, if set and not 0, has every simulation checked that does not say otherwise."""


def switched_on() -> bool:
    """Whether the environment asks for checks."""
    return os.environ.get(SWITCH, "0") not in ("", "0")


def watch_wanted(check: bool | None = None) -> type[Watch] | None:
    """Return what makes the checks of a cluster, if they are wanted; None: as the environment says."""
    return Watch if (switched_on() if check is None else check) else None
