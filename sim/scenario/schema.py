"""Which keys a scenario may have at which place, read from its JSON Schema."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sim.base.messages import did_you_mean, nearest, suggestion

JsonSchema = Mapping[str, Any]
KeyPath = tuple[str, ...]


def keys_at(schema: JsonSchema, path: Sequence[str]) -> list[str]:
    """Return the keys that the table at `path` may have; none if there is no table at that place."""
    table = _properties(schema, schema)
    for key in path:
        table = _properties(schema, table.get(key, {}))
    return list(table)


def known_part(schema: JsonSchema, path: Sequence[str]) -> KeyPath:
    """Return the start of `path` that leads to a key of the schema."""
    for depth, key in enumerate(path):
        if key not in keys_at(schema, path[:depth]):
            return tuple(path[:depth])
    return tuple(path)


def unknown_key(schema: JsonSchema, path: Sequence[str], kind: str | None = None) -> str:
    """Return what to say of a path whose last key the table, or its kind, does not have: the nearest ones."""
    *table, name = path
    known = keys_at(schema, table) if kind is None else _keys_of_kind(schema, table, kind)
    if not known:
        return f"unknown key: {'.'.join(table)} is a value, not a table"
    if nearest(name, known):
        return f"unknown key{did_you_mean(name, known)}"
    elsewhere = [".".join(place) for place in sorted(_places(schema, ()), key=len) if place[-1] == name]
    return f"unknown key{suggestion(map(repr, elsewhere[:1]))} (known here: {', '.join(sorted(known))})"


def description(schema: JsonSchema, path: Sequence[str]) -> str:
    """Return what the key at `path` means."""
    table = _properties(schema, schema)
    for key in path[:-1]:
        table = _properties(schema, table.get(key, {}))
    text: str = table.get(path[-1], {}).get("description", "")
    return text


def kinds_at(schema: JsonSchema, path: Sequence[str]) -> Mapping[str, str]:
    """Return where the kinds of the table at `path` are described, or those of the entries of a list there.

    None if it has no kinds.
    """
    node: JsonSchema = {"properties": _properties(schema, schema)}
    for key in path:
        node = _properties(schema, node).get(key, {})
    nodes = [node, node.get("items", {}), *node.get("anyOf", ())]
    mappings = [each.get("discriminator", {}).get("mapping", {}) for each in nodes]
    return {kind: place for mapping in mappings for kind, place in mapping.items()}


def _keys_of_kind(schema: JsonSchema, table: Sequence[str], kind: str) -> list[str]:
    return list(_properties(schema, {"$ref": kinds_at(schema, table)[kind]}))


def takes_whole_numbers(schema: JsonSchema, path: Sequence[str]) -> bool:
    """Whether the numbers that the key at `path` may have are whole ones."""
    table = _properties(schema, schema)
    for key in path[:-1]:
        table = _properties(schema, table.get(key, {}))
    kinds = set(_kinds(table.get(path[-1], {})))
    return "integer" in kinds and "number" not in kinds


def _kinds(node: JsonSchema) -> Iterator[str]:
    if "type" in node:
        yield node["type"]
    for alternative in node.get("anyOf", ()):
        yield from _kinds(alternative)


def _places(schema: JsonSchema, table: KeyPath) -> Iterator[KeyPath]:
    for key in keys_at(schema, table):
        yield (*table, key)
        yield from _places(schema, (*table, key))


def _properties(schema: JsonSchema, node: JsonSchema) -> dict[str, JsonSchema]:
    """Return the properties that a node allows in any of its alternatives."""
    found: dict[str, JsonSchema] = dict(node.get("properties", {}))
    alternatives = [*node.get("anyOf", ()), *node.get("oneOf", ())]
    if "items" in node:  # the keys of a list are those of its entries
        alternatives.append(node["items"])
    if "$ref" in node:
        alternatives.append(schema["$defs"][node["$ref"].rpartition("/")[2]])
    for alternative in alternatives:
        found |= _properties(schema, alternative)
    return found
