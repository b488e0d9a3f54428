"""Command lines of engines, frontend and client: their options and the variables set before them."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from sim.base.errors import InputError

_SWITCHED = {"": True, "true": True, "1": True, "false": False, "0": False}
_SHORT = {
    "tp": "tensor-parallel-size",
    "pp": "pipeline-parallel-size",
    "dp": "data-parallel-size",
    "q": "quantization",
    "ep": "enable-expert-parallel",
    "sc": "speculative-config",
}
"""vLLM's short options (0.28.0) that a scenario could depend on."""
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
    rest: tuple[tuple[str, str], ...] = ()
    """Words behind the value of an option: (option, word)."""

    @property
    def served(self) -> str | None:
        """The model that `vllm serve` is given without an option."""
        if "serve" not in self.words:
            return None
        behind = self.words[self.words.index("serve") + 1 :]
        if not behind and len(self.rest) == 1:
            behind = (self.rest[0][1],)
        return behind[0] if behind else None

    def value(self, *names: str) -> str | None:
        """Return the value of the first of these options that is given."""
        return next((self.options[name] for name in names if name in self.options), None)

    def integer(self, *names: str) -> int | None:
        """Return such a value as a whole number; vLLM reads 32k as 32,000 and 32K as 32,768.

        Raises:
            InputError: it is none.

        """
        value = self.value(*names)
        if value is None:
            return None
        factor = _FACTORS.get(value[-1:], 1)
        number = _real(value[:-1] if factor > 1 else value)
        if number is None or not (number * factor).is_integer():
            raise InputError(f"--{names[0]} {value}: must be a whole number")
        return int(number * factor)

    def real(self, *names: str) -> float | None:
        """Return such a value as a number.

        Raises:
            InputError: it is none.

        """
        value = self.value(*names)
        number = None if value is None else _real(value)
        if value is not None and number is None:
            raise InputError(f"--{names[0]} {value}: must be a number")
        return number

    def switch(self, name: str) -> bool | None:
        """Return what `--name` or `--no-name` says; None if neither is given.

        Raises:
            InputError: its value is neither true nor false.

        """
        if f"no-{name}" in self.options:
            return False
        value = self.options.get(name)
        if value is not None and value.lower() not in _SWITCHED:
            raise InputError(f"--{name} {value}: must be true or false")
        return None if value is None else _SWITCHED[value.lower()]


def _real(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


def parse_command(text: str) -> Command:
    """Return a command line as a shell reads it.

    Raises:
        InputError: it is empty, or a quote is not closed.

    """
    try:
        parts = shlex.split(text)
    except ValueError as error:
        raise InputError(f"command line {text[:60]!r}: {error}") from error
    if not parts:
        raise InputError(f"command line {text!r}: is empty")
    variables = {}
    while parts and "=" in parts[0] and not parts[0].startswith("-"):
        name, _, value = parts.pop(0).partition("=")
        variables[name] = value
    words: list[str] = []
    options: dict[str, str] = {}
    rest: list[tuple[str, str]] = []
    latest = None
    for part in parts:
        name, _, value = part.lstrip("-").partition("=")
        if part.startswith("--") or (part.startswith("-") and name in _SHORT):
            latest = (name if part.startswith("--") else _SHORT[name]).replace("_", "-")
            options[latest] = value
        elif latest is None:
            words.append(part)
        elif not options[latest]:
            options[latest] = part
        else:
            rest.append((latest, part))
    return Command(tuple(words), options, variables, tuple(rest))
