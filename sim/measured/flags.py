"""Command lines of engines, frontend and client: their options and the variables set before them."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from sim.errors import InputError

_FACTORS = {"k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}


@dataclass(frozen=True, slots=True)
class Command:
    """One command line."""

    words: tuple[str, ...]
    """What stands before the first option: program, module, subcommand, and perhaps the model."""
    options: Mapping[str, str]
    """Option, without dashes in front and with - for _, to its value; "" where it has none."""
    variables: Mapping[str, str]
    """Environment variables that are set in front."""

    def value(self, *names: str) -> str | None:
        """Return the value of the first of these options that is given."""
        return next((self.options[name] for name in names if name in self.options), None)

    def integer(self, *names: str) -> int | None:
        """Return such a value as a whole number; vLLM reads 32k as 32,000 and 32K as 32,768.

        Raises:
            InputError: it is none.

        """
        value = self.value(*names)
        factor = _FACTORS.get(value[-1:], 1) if value else 1
        number = None if value is None else self._real(names[0], value[:-1] if factor > 1 else value) * factor
        if number is not None and not number.is_integer():
            raise InputError(f"--{names[0]} {value}: must be a whole number")
        return None if number is None else int(number)

    def real(self, *names: str) -> float | None:
        """Return such a value as a number.

        Raises:
            InputError: it is none.

        """
        value = self.value(*names)
        return None if value is None else self._real(names[0], value)

    def _real(self, name: str, value: str) -> float:
        try:
            return float(value)
        except ValueError as error:
            raise InputError(f"--{name} {value}: must be a number") from error

    def switch(self, name: str) -> bool | None:
        """Return what `--name` or `--no-name` says; None if neither is given."""
        if f"no-{name}" in self.options:
            return False
        return True if self.options.get(name) in ("", "true", "True") else None


def parse_command(text: str) -> Command:
    """Return a command line as a shell reads it.

    Raises:
        InputError: a quote is not closed.

    """
    try:
        parts = shlex.split(text)
    except ValueError as error:
        raise InputError(f"command line {text[:60]!r}: {error}") from error
    variables = {}
    while parts and "=" in parts[0] and not parts[0].startswith("-"):
        name, _, value = parts.pop(0).partition("=")
        variables[name] = value
    words: list[str] = []
    options: dict[str, str] = {}
    latest = None
    for part in parts:
        if part.startswith("--"):
            name, _, value = part.removeprefix("--").partition("=")
            latest = name.replace("_", "-")
            options[latest] = value
        elif latest is None:
            words.append(part)
        elif not options[latest]:
            options[latest] = part
    return Command(tuple(words), options, variables)
