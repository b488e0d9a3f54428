"""A scenario file of a few lines, and what is said of one that is refused."""

from pathlib import Path

import pytest

from sim.base.errors import InputError
from sim.scenario.load import load_scenario

MINIMAL = """\
model = "qwen3-14b-bf16"
gpu = "h100-80gb"

[workload]
profile = "kct"
sessions = 3

[workers]
count = 2
"""


def refusal(path: Path | str, *overrides: str) -> str:
    """Return the message with which a scenario is refused."""
    with pytest.raises(InputError) as caught:
        load_scenario(path, overrides)
    return str(caught.value)
