"""The page of all commands with their options, from what `--help` is made of."""

import inspect
from collections.abc import Iterator, Sequence
from enum import Enum, EnumType
from typing import Any

import typer

from docs.made.markdown_text import code, keys, paragraphs, sentence, table
from sim.cli import app

TOP = """# Commands

Made from the commands themselves; `sim COMMAND --help` prints the same. [Many runs](../how-to/many-runs.md)
says what `--set`, `--repeat`, `--metric` and `--out` have in common, [What is kept](../what-is-kept.md)
what `--out` writes and what exit statuses say.
"""


def page() -> str:
    """Return the page."""
    return TOP + "".join(_section(words, command) for words, command in commands())


def commands() -> list[tuple[str, Any]]:
    """Return every command that does something, with its words."""
    return sorted(_commands("sim", typer.main.get_command(app)), key=lambda each: each[0])


def _commands(words: str, command: Any) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", {})
    for name, each in inner.items():
        if not each.hidden:
            yield from _commands(f"{words} {name}", each)
    if not inner:
        yield words, command


def _section(words: str, command: Any) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option" and not each.hidden]
    usage = " ".join([words, *(_argument(each) for each in arguments), *(["[OPTIONS]"] if options else [])])
    text = [f"\n## {words}\n\n```sh\n{usage}\n```\n\n", paragraphs(inspect.cleandoc(command.help or ""))]
    if any(each.help for each in arguments):
        rows = [[code(_argument(each)), sentence(each.help or "")] for each in arguments]
        text += ["\n", table(["argument", "what it is"], rows)]
    if options:
        text += ["\n", keys("options", ["option", "default", "what it does"], map(_option, options))]
    return "".join(text)


def _argument(argument: Any) -> str:
    name = (argument.metavar or argument.name.upper()).strip("[]").removesuffix("...")
    name += "..." if argument.nargs != 1 else ""
    return name if argument.required else f"[{name}]"


def _option(option: Any) -> Sequence[str]:
    names = ", ".join(code(name) for name in (*option.opts, *option.secondary_opts))
    takes = "" if option.is_flag else option.metavar or _choices(option) or option.name.upper()
    return [
        f"{names} {code(takes)}".rstrip(),
        _default(option),
        sentence(option.help or "") + (" *Several times.*" if option.multiple else ""),
    ]


def _choices(option: Any) -> str:
    """Return what an option may be, where it is one of a few; versions of Typer keep that in two places."""
    few = getattr(getattr(option, "type_descriptor", None), "annotation", ())
    few = few if isinstance(few, EnumType) else getattr(getattr(option, "type", None), "choices", ())
    return " or ".join(str(getattr(each, "value", each)) for each in few)


def _default(option: Any) -> str:
    value = option.default
    if option.required:
        return "*required*"
    if isinstance(value, Enum):
        value = value.value
    plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    return code(value) if plain and value != "" else ""
