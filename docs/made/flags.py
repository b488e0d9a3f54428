"""The flags of Dynamo that docs/routing.md names for the keys of `[router]`."""

import re
from pathlib import Path

ROUTING = Path(__file__).resolve().parents[1] / "routing.md"


def router_flags() -> dict[str, str]:
    """Return the flag of each key that has one."""
    rows = re.findall(r"^\| `(\w+)` \| `(--[^`]+)` \|", ROUTING.read_text(encoding="utf-8"), re.MULTILINE)
    return dict(rows)
