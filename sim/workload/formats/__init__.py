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
from sim.workload.formats.foreign import ForeignFormat, foreign_format
from sim.workload.formats.log import LogFormat
from sim.workload.formats.records import RecordFormat
from sim.workload.formats.row import RowFormat

Format = RowFormat | RecordFormat | LogFormat


def _found() -> dict[str, Format]:
    modules = (import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))
    formats: list[Format] = [module.FORMAT for module in modules if hasattr(module, "FORMAT")]
    return {each.name: each for each in sorted(formats, key=lambda each: each.name)}


FORMATS = _found()
"""By name, sorted."""
FormatName = Annotated[str, KnownName(lambda: ["auto", *FORMATS])]
"""A name in `FORMATS`, or "auto": as the rows look."""


def choose(
    name: FormatName, sec_multiplier: float | None, sample: Sequence[tuple[int, Mapping[str, Any]]]
) -> Format:
    """Return the format of that name, its timestamps in units of `sec_multiplier` seconds if that is given.

    For "auto" it is the first that an object of the sample is told to be of, or that of rows that knows most
    keys of the sample. Where several know the same, timestamps tell them apart: a fine unit is written in
    whole numbers, a coarse one with a fraction. The sample has lines and what they hold.

    Raises:
        InputError: no such format, one that is not read, or `sec_multiplier` with one whose unit is fixed.

    """
    if name != "auto" and name not in FORMATS:
        raise InputError(f"format = {shown(name)}: there is none of this name{did_you_mean(name, FORMATS)}")
    found = _told(sample, sec_multiplier) if name == "auto" else FORMATS[name]
    if isinstance(found, RowFormat) and found.any_unit and sec_multiplier is not None:
        return replace(found, units_per_s=found.units_per_s / sec_multiplier)
    if sec_multiplier is None:
        return found
    unit = "seconds" if isinstance(found, LogFormat) else f"units of {1 / found.units_per_s:g} s"
    raise InputError(f"sec_multiplier = {sec_multiplier}: {found.name} timestamps are in {unit}")


def told(record: Mapping[str, Any]) -> Format | None:
    """Return the format that an object is told to be of, None if it may be a row."""
    formats = (each for each in FORMATS.values() if not isinstance(each, RowFormat))
    return next((each for each in formats if each.tells(record)), None)


def is_row(record: Mapping[str, Any]) -> bool:
    """Return whether an object has the lengths and hash ids that some format of rows calls so."""
    fields = ("input_length", "output_length", "hash_ids")
    formats = [each for each in FORMATS.values() if isinstance(each, RowFormat)]
    return any(all(any(key in record for key in each.keys[field]) for field in fields) for each in formats)


def _told(sample: Sequence[tuple[int, Mapping[str, Any]]], sec_multiplier: float | None) -> Format:
    for line, record in sample:
        if (found := told(record)) is not None:
            return found
        if (foreign := foreign_format(record)) is not None:
            raise ForeignFormat(f"line {line}: {foreign}")
    formats = [each for each in FORMATS.values() if isinstance(each, RowFormat) and each.told_by_keys]
    return _nearest(formats, sec_multiplier, [record for _, record in sample])


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
