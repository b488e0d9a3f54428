"""What a person reads of the releases whose rules hold."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.text import Text

from sim.runs.comparison import Comparison
from sim.runs.versions import KEY, same_under_all_rules, versions_in

DIFFERENCES = (
    "requests carry overrides of the router's weights (1.6 heeds none of credit, scale and temperature), or "
    "the router's queue has several policy classes (who is next after a request that did not wait)"
)
"""When Dynamo 1.6.1 routes what comes through its frontend otherwise than 1.5.0, as measured on both."""


def rules_text(summaries: Iterable[Mapping[str, Any]]) -> str:
    """Return whose rules runs follow: "router Dynamo 1.5, engine vLLM 0.28"; nothing if they do not say."""
    return ", ".join(f"{what} {releases}" for what, releases in versions_in(summaries).items())


def rules_line(summaries: Iterable[Mapping[str, Any]]) -> Iterator[Text]:
    """Yield the line of a head that says whose rules runs follow; none where they do not say."""
    text = rules_text(summaries)
    if text:
        yield Text(text, style="dim")


def versions_note(comparison: Comparison) -> list[str]:
    """Return what the rules of other releases do to this traffic, where several were tried."""
    same = same_under_all_rules(comparison)
    if same is None:
        return []
    texts = " and ".join(comparison.written(KEY, value) for value in comparison.values_of(KEY))
    where = f"they differ where {DIFFERENCES}"
    if same:
        return [
            f"{KEY} {texts}: every number is equal, these rule sets route this traffic alike; {where}: "
            "nothing of the kind acts here"
        ]
    return [f"{KEY} {texts}: these rule sets do not route this traffic alike; {where}"]
