"""What was measured of requests of each kind, by their tags."""

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from sim.base import words
from sim.base.errors import escaped
from sim.show.text.page_table import PageTable


def tag_table(by_tag: Mapping[str, Any]) -> RenderableType:
    """Return a table with a row for each tag; nothing if there is none."""
    if not by_tag:
        return Group()
    rows = PageTable(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    rows.add_column("Tag", no_wrap=True)
    for heading in ("requests", "TTFT mean", "p50", "p90", "E2E p50", "hit", "output tokens/s"):
        rows.add_column(heading, justify="right", no_wrap=True)
    for tag, found in by_tag.items():
        ttft = found["ttft_s"]
        rows.add_row(
            Text(escaped(tag)),
            words.count(found["requests"]["total"]),
            *(words.seconds(ttft[key]) for key in ("mean", "p50", "p90")),
            words.seconds(found["e2e_s"]["p50"]),
            words.percent(found["hit_share"]),
            words.number(found["output_tokens_per_s"]),
        )
    return Group(Text(), rows)
