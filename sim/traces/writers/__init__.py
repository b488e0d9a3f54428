"""Formats that traces are written in: every module here that has a `WRITER` is one."""

from importlib import import_module
from pkgutil import iter_modules

from sim.base.errors import InputError, shown
from sim.base.messages import did_you_mean
from sim.traces.writers.writer import Writer


def _found() -> dict[str, Writer]:
    modules = (import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))
    writers: list[Writer] = [module.WRITER for module in modules if hasattr(module, "WRITER")]
    return {each.name: each for each in sorted(writers, key=lambda each: each.name)}


WRITERS = _found()
"""By name, sorted."""


def writer(name: str) -> Writer:
    """Return the format of that name.

    Raises:
        InputError: there is none.

    """
    if name not in WRITERS:
        raise InputError(f"--to {shown(name)}: no trace is written so{did_you_mean(name, WRITERS)}")
    return WRITERS[name]
