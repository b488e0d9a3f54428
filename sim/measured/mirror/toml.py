"""Settings that were told as the TOML of a scenario, each with its source, and what is open."""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import wrap

import tomlkit
from tomlkit.items import Item, Table

from sim.base import reading
from sim.base.errors import InputError
from sim.measured.mirror.found import Found, KeyPath, Setting
from sim.scenario.load import load_scenario

_ORDER = ("workload", "replay", "model", "workers", "engine", "offload", "disaggregation", "router")
_OPEN = {
    ("gpu",): "h100-80gb",
    ("workload", "profile"): "talk",
    ("workload", "sessions"): 8,
    ("model", "preset"): "qwen3-14b-bf16",
    ("workers", "count"): 1,
}
"""What a scenario must have, where nothing told it."""
_NOT_TOLD = "not told: an example"
_NOT_THE_MODEL = "an example, NOT the cluster's model"
_WHOLE_MODEL = ("preset", "config", "name")
"""Keys that a model starts from; the others change something of it."""
_EXPECTED: tuple[KeyPath, ...] = (
    *(
        ("engine", key)
        for key in ("version", "block_size", "kv_blocks", "max_num_seqs", "max_num_batched_tokens")
    ),
    ("engine", "max_model_len"),
    ("router", "policy"),
    ("replay", "client"),
)
"""What every cluster has set, whether or not a source tells it."""
_WIDTH = 98


def to_toml(found: Found, title: str) -> str:
    """Return the scenario's text. Whatever it does not name has its default: `sim schema` lists them."""
    document = tomlkit.document()
    settings = {**found.settings, **examples(found)}
    for line in _head(found, settings):
        document.add(tomlkit.comment(line))
    document.add("title", tomlkit.item(title))
    _put(document, {"gpu": settings["gpu",]})
    for section in _ORDER:
        told = {path[1]: setting for path, setting in settings.items() if path[0] == section}
        if told:
            table = tomlkit.table()
            _put(table, told)
            document.add(tomlkit.nl())
            document.add(section, table)
    return tomlkit.dumps(document)


def _head(found: Found, settings: Mapping[KeyPath, Setting]) -> Iterator[str]:
    """Yield the comments on top, as lines of a length that can be read."""
    unknown = [".".join(path) for path in _EXPECTED if path not in settings]
    paragraphs = [
        "Made by sim init. Behind each value stands where it is from; what is not here has its default. "
        "Step times are those of the model and GPU here: a mirror of caching and routing, not of time.",
        *([f"Not told, so the default holds: {', '.join(unknown)}."] if unknown else []),
        *remarks(found),
    ]
    for paragraph in paragraphs:
        yield from wrap(paragraph, _WIDTH)


def remarks(found: Found) -> list[str]:
    """Return what a reader must know of the scenario: notes, and what was not read, a paragraph each."""
    unread = (f"Not read, of {source}: {', '.join(items)}." for source, items in found.unread.items())
    texts = (*(f"Note: {note}." for note in found.notes), *unread)
    # A comment holds no control characters.
    return ["".join(char if char.isprintable() else "?" for char in text) for text in texts]


def check(text: str, folder: Path | None) -> None:
    """Load the text as a scenario that stands in `folder`; None: anywhere, its paths are absolute.

    Raises:
        InputError: what was told makes no scenario.
        OSError: nothing can be written to the folder.

    """
    with tempfile.NamedTemporaryFile("w", suffix=".toml", dir=folder, encoding="utf-8") as file:
        file.write(text)
        file.flush()
        try:
            load_scenario(Path(file.name))
        except InputError as error:
            raise InputError(str(error).replace(file.name, "the scenario made of this")) from error


def examples(found: Found) -> dict[KeyPath, Setting]:
    """Return what stands in for what is missing: a section as a whole, so that parts do not mix."""
    told = {path[0] for path in found.settings if path[0] != "model" or path[1] in _WHOLE_MODEL}
    shown = {path: Setting(value, _NOT_TOLD) for path, value in _OPEN.items() if path[0] not in told}
    if found.named_model and ("model", "preset") in shown:
        source = f"{_NOT_THE_MODEL}, {found.named_model}"
        shown["model", "preset"] = Setting(_OPEN["model", "preset"], source)
    return shown


def still_examples(path: Path) -> list[str]:
    """Return the keys that step times rest on and that a mirror's file, by its comments, has no source of."""
    document = tomlkit.parse(reading.text(path, reading.MOST_FILE_BYTES))
    model = document.get("model")
    items = {
        "gpu": document.get("gpu"),
        "model.preset": model.get("preset") if isinstance(model, dict) else None,
    }
    return [
        key
        for key, item in items.items()
        if isinstance(item, Item)
        and item.trivia.comment.removeprefix("# ").startswith((_NOT_TOLD, _NOT_THE_MODEL))
    ]


def _put(table: Table | tomlkit.TOMLDocument, settings: Mapping[str, Setting]) -> None:
    """Add settings with their sources as comments, in one column."""
    items = {key: tomlkit.item(setting.value).comment(setting.source) for key, setting in settings.items()}
    width = max(len(f"{key}{item.as_string()}") for key, item in items.items())
    for key, item in items.items():
        item.trivia.comment_ws = " " * (width - len(f"{key}{item.as_string()}") + 2)
        table.add(key, item)
