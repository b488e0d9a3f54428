"""Every simulation of the tests is checked while it runs, in this process and in those that it starts."""

import os

from sim.cluster.checks.watch import SWITCH

os.environ.setdefault(SWITCH, "1")
