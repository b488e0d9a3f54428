"""Trace formats: every module here that has a `FORMAT` is one, and nothing else has to know of it.

Names that settings may have, their JSON Schema, messages, and what "auto" tells apart follow from that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any

from sim.base.errors import InputError, shown
from sim.base.known_name import KnownName
from sim.base.messages import did_you_mean
from sim.workload.formats.row import RowFormat


def _found() -> dict[str, RowFormat]:
    modules = (import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))
    formats: list[RowFormat] = [module.FORMAT for module in modules if hasattr(module, "FORMAT")]
    return {each.name: each for each in sorted(formats, key=lambda each: each.name)}


FORMATS = _found()
"""By name, sorted."""
FormatName = Annotated[str, KnownName(lambda: ["auto", *FORMATS])]
"""A name in `FORMATS`, or "auto": as the rows look."""


def choose(name: FormatName, sec_multiplier: float | None, sample: Sequence[Mapping[str, Any]]) -> RowFormat:
    """Return the format of that name, its timestamps in units of `sec_multiplier` seconds if that is given.

    For "auto" it is the one that knows most keys of the sample. Where several know the same, timestamps tell
    them apart: a fine unit is written in whole numbers, a coarse one with a fraction.

    Raises:
        InputError: no such format, or `sec_multiplier` with one whose unit is fixed.

    """
    if name == "auto":
        found = _nearest([each for each in FORMATS.values() if each.told_by_keys], sec_multiplier, sample)
    elif name in FORMATS:
        found = FORMATS[name]
    else:
        raise InputError(f"format = {shown(name)}: there is none of this name{did_you_mean(name, FORMATS)}")
    if sec_multiplier is None:
        return found
    if not found.any_unit:
        raise InputError(
            f"sec_multiplier = {sec_multiplier}: {found.name} timestamps are in units of "
            f"{1 / found.units_per_s:g} s"
        )
    return replace(found, units_per_s=found.units_per_s / sec_multiplier)


def _nearest(
    formats: Sequence[RowFormat], sec_multiplier: float | None, sample: Sequence[Mapping[str, Any]]
) -> RowFormat:
    """Return the format that rows are most likely in: with `sec_multiplier`, of those that take one."""
    formats = [each for each in formats if sec_multiplier is None or each.any_unit]
    known = [sum(len(each.known_keys & record.keys()) for record in sample) for each in formats]
    nearest = [each for each, n in zip(formats, known, strict=True) if n == max(known)]
    keys = {key for each in nearest for key in each.keys["timestamp"]}
    times = [record.get(key) for record in sample for key in keys]
    whole = not any(isinstance(time, float) and time % 1 for time in times)
    return (max if whole else min)(nearest, key=lambda each: each.units_per_s)
