"""Every simulation of the tests is checked while it runs, in this process and in those that it starts."""

import os
import signal
import threading

from hypothesis import settings

from sim.cluster.checks.switch import SWITCH

os.environ.setdefault(SWITCH, "1")

# On a busy machine an example may take any time; what must be quick is measured in tests/bench.
settings.register_profile("any time", deadline=None)
settings.load_profile("any time")

# What starts in the background of a shell is deaf to Ctrl-C, and so would be what the tests start and stop.
if (
    threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) == signal.SIG_IGN
):
    signal.signal(signal.SIGINT, signal.default_int_handler)
