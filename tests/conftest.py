"""Every simulation of the tests is checked while it runs, in this process and in those that it starts."""

import os

from hypothesis import settings

from sim.cluster.checks.switch import SWITCH

os.environ.setdefault(SWITCH, "1")

# On a busy machine an example may take any time; what must be quick is measured in tests/bench.
settings.register_profile("any time", deadline=None)
settings.load_profile("any time")
