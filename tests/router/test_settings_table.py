"""The table of `docs/routing.md` has the settings of the router, no more and no less."""

import re
from pathlib import Path

from sim.scenario.sections import RouterSettings

ROUTING = Path(__file__).parents[2] / "docs" / "routing.md"

VARIABLES = {"load_aware": "LOAD_AWARE", "use_kv_events": "USE_KV_EVENTS"}
"""Those that are not named after the flag (Dynamo 1.5.0 and 1.6.1)."""


def _rows() -> dict[str, list[str]]:
    settings = ROUTING.read_text(encoding="utf-8").partition("## Settings")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in settings.splitlines() if re.match(r"\| `\w+` \|", line)]
    return {row[0].strip("| `"): [cell.strip("| `") for cell in row[1:]] for row in rows}


def test_every_setting_of_the_router_is_in_the_table_and_every_key_there_is_one() -> None:
    assert sorted(_rows()) == sorted(RouterSettings.model_fields)


def test_a_flag_and_its_variable_have_one_name() -> None:
    named = {key: cells for key, cells in _rows().items() if cells[0]}
    assert len(named) == 35
    for key, (flag, variable, *_) in named.items():
        name = flag.replace("[no-]", "").removeprefix("--")
        own = "" if name.startswith("router-") or key in VARIABLES else "DYN_"
        mode = name == "router-mode"  # the one that has its prefix written out
        expected = VARIABLES.get(key, name if mode else name.removeprefix("router-"))
        expected = expected.upper().replace("-", "_")
        assert variable == ("DYN_" if mode else own) + expected, key
