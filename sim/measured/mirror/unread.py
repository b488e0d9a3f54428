"""What of command lines and of the environment is not read: listed, so that nothing is dropped in silence."""

import re
from collections.abc import Collection, Iterator, Sequence

from sim.measured.formats.flags import Command
from sim.measured.mirror.found import Found

_SECRET = re.compile(r"key|token|secret|password|credential", re.IGNORECASE)
_NO_SECRET = re.compile(r"tokens|tokenizer|key-(?:type|dtype)", re.IGNORECASE)
_SHOWN = 40
"""Characters of a value."""


def leave_unread(commands: Sequence[Command], what: str, read: Collection[str], found: Found) -> None:
    """List the options and variables that are not among those `read`; `what` names the commands."""
    options = (item for command in commands for item in _options(command, read))
    found.leave(f"the command line of {what}", options)
    variables = {name for command in commands for name in command.variables} - set(read)
    found.leave(f"the environment of {what}", (_variable(commands, name) for name in sorted(variables)))


def _options(command: Command, read: Collection[str]) -> Iterator[str]:
    known = {*read, *(f"no-{name}" for name in read)}
    for name, value in command.options.items():
        behind = [word for option, word in command.rest if option == name]
        if name not in known:
            text = " ".join([value, *behind])
            yield f"--{name} {shown(name, text)}".rstrip()
        elif behind and behind != [command.served]:
            yield f"{shown(name, ' '.join(behind))} behind --{name} {value}"


def _variable(commands: Sequence[Command], name: str) -> str:
    values = {command.variables.get(name) for command in commands}
    if len(values) > 1:
        return f"{name} (not the same for all)"
    return f"{name}={shown(name, values.pop() or '')}"


def shown(name: str, value: str) -> str:
    """Return a value as it may stand in a file: no secrets, on one line, not too long."""
    if _SECRET.search(_NO_SECRET.sub("", name)):
        return "..."
    text = " ".join(value.split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
