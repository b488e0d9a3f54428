"""The page of all keys that a scenario may have, from the JSON Schema."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from docs.made.flags import router_flags
from docs.made.markdown_text import anchored, code, sentence
from docs.made.markdown_text import keys as keys_table
from sim.scenario.scenario import Scenario

Node = Mapping[str, Any]

TOP = """# Scenario keys

Made from the JSON Schema (`sim schema`), so it is what this release takes. A scenario is a TOML file; the
names in brackets are its tables. On the command line `--set router.temperature=0.5` sets the same key,
`--set offload=none` leaves a table out. [How to write a scenario](../how-to/scenario.md) begins with an
example.

Quantities take a number in the unit of the column, or a text with a unit: `"64GiB"`, `"100Gbps"`,
`"250ms"`, `"213K"`. *Required* keys have no default. *Unset* means that nothing is set: what follows from
that stands in the last column.
"""
_UNITS = {
    "_bytes_per_s": "bytes/s",
    "_flop_per_s": "FLOP/s",
    "_s_per_token": "s/token",
    "_s_per_descriptor": "s/piece",
    "_bytes": "bytes",
    "_tokens": "tokens",
    "_blocks": "blocks",
    "_secs": "s",
    "_s": "s",
}
_MOST = 1e6
"""Bounds beyond this only keep results finite, and say nothing to a reader."""


class Place(NamedTuple):
    """A table of a scenario: where it stands, its schema, and what it is one of several kinds of."""

    path: tuple[str, ...]
    node: Node
    kind: str = ""


def page() -> str:
    """Return the page."""
    schema = Scenario.model_json_schema()
    flags = {("router", key): flag for key, flag in router_flags().items()}
    top, *below = list(_places(schema, Place((), schema)))
    text = [TOP, "\n## At the top\n\n", _rows(schema, top, flags)]
    for place in below:
        depth = "##" if len(place.path) == 1 and not place.kind else "###"
        title = ".".join(place.path) + (f", {place.kind}" if place.kind else "")
        text += [f"\n{depth} {title}\n\n", sentence(place.node.get("description", "")), "\n\n"]
        text.append(_rows(schema, place, flags))
    return "".join(text)


def keys() -> list[str]:
    """Return every key, dotted, in the order of the page; of kinds of a table each has its own."""
    schema = Scenario.model_json_schema()
    return [
        ".".join((*place.path, key)) for place in _places(schema, Place((), schema)) for key in _keys(place)
    ]


def _keys(place: Place) -> Node:
    found: Node = place.node.get("properties", {})
    return found


def _places(schema: Node, place: Place) -> Iterator[Place]:
    yield place
    for key, node in _keys(place).items():
        for inner in _tables(schema, node):
            kind = str(inner["properties"].get("kind", {}).get("const", ""))
            yield from _places(schema, Place((*place.path, key), inner, kind))


def _tables(schema: Node, node: Node) -> Iterator[Node]:
    """Yield the tables that a value may be, or whose list it may be."""
    if "$ref" in node:
        node = schema["$defs"][node["$ref"].rpartition("/")[2]]
        if "properties" in node:
            yield node
    for alternative in (*node.get("anyOf", ()), *node.get("oneOf", ())):
        yield from _tables(schema, alternative)
    if "items" in node:
        yield from _tables(schema, node["items"])


def _rows(schema: Node, place: Place, flags: Mapping[tuple[str, ...], str]) -> str:
    wanted = place.node.get("required", ())
    named = {key: flags.get((*place.path, key), "") for key in _keys(place)}
    with_flags = any(named.values())
    rows = []
    for key, node in _keys(place).items():
        anchor = ".".join(filter(None, (*place.path, place.kind, key)))
        default = "*required*" if key in wanted else _default(schema, node)
        row = [anchored(key, anchor), _kind(schema, node), _unit(key, node), default]
        about = sentence(node.get("description", ""))
        rows.append([*row, *([code(named[key])] if with_flags else []), about])
    head = ["key", "type", "unit", "default", *(["Dynamo's flag"] if with_flags else []), "what it is"]
    return keys_table("scenario", head, rows)


def _default(schema: Node, node: Node) -> str:
    """Return the default; that of a table is what its own keys have."""
    if "default" not in node:
        return ""
    value = node["default"]
    if value is None:
        return "unset"
    if list(_tables(schema, node)):
        return ""
    return code(json.dumps(value) if not isinstance(value, float) else f"{value:.6g}")


def _kind(schema: Node, node: Node) -> str:
    return " or ".join(dict.fromkeys(_kinds(schema, node)))


def _kinds(schema: Node, node: Node) -> Iterator[str]:
    if "$ref" in node:
        inner = schema["$defs"][node["$ref"].rpartition("/")[2]]
        yield from ["table"] if "properties" in inner else _kinds(schema, inner)
    elif "enum" in node:
        yield ", ".join(code(json.dumps(value)) for value in node["enum"])
    elif "const" in node:
        yield code(json.dumps(node["const"]))
    elif "pattern" in node:
        yield "text with a unit" if "|" in node["pattern"] else "text"
    elif node.get("type") == "array":
        items = node.get("items") or {"anyOf": node.get("prefixItems", ())}
        yield f"list of {_kind(schema, items) or 'values'}"
    elif node.get("type") in ("integer", "number"):
        yield ("whole number" if node["type"] == "integer" else "number") + _range(node)
    elif node.get("type") == "string":
        yield "path" if node.get("format") == "path" else "text"
    elif node.get("type") == "object":
        yield "table"
    elif node.get("type") == "boolean":
        yield "true or false"
    for alternative in (*node.get("anyOf", ()), *node.get("oneOf", ())):
        yield from _kinds(schema, alternative)


def _range(node: Node) -> str:
    least, above = node.get("minimum"), node.get("exclusiveMinimum")
    most, below = node.get("maximum"), node.get("exclusiveMaximum")
    words: Sequence[str] = [
        f"from {least:g}" if least is not None else f"above {above:g}" if above is not None else "",
        f"to {most:g}" if most is not None and most < _MOST else "",
        f"below {below:g}" if below is not None and below < _MOST else "",
    ]
    said = " ".join(filter(None, words))
    return f" {said}" if said else ""


def _unit(key: str, node: Node) -> str:
    said = re.search(r"\((B|s|bit/s|B/s)\|", json.dumps(node))
    for ending, unit in _UNITS.items():
        if key.endswith(ending):
            return unit
    return said[1] if said else ""
