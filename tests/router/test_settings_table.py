"""The table of `docs/routing.md` has the settings of the router, no more and no less."""

import re
from pathlib import Path

from sim.scenario.sections import RouterSettings

ROUTING = Path(__file__).parents[2] / "docs" / "routing.md"


def test_every_setting_of_the_router_is_in_the_table_and_every_key_there_is_one() -> None:
    settings = ROUTING.read_text(encoding="utf-8").partition("## Settings")[2].partition("\n## ")[0]
    keys = re.findall(r"^\| `(\w+)` \|", settings, flags=re.MULTILINE)
    assert sorted(keys) == sorted(RouterSettings.model_fields)
