"""One object of a `config.json`, with its place in the file for messages."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.base.bounds import MOST
from sim.base.errors import InputError
from sim.base.reading import MOST_TEXT_BYTES, json_file

DTYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}


@dataclass(frozen=True, slots=True)
class ConfigPart:
    """An object of the file, with its place in it for messages."""

    path: Path
    prefix: str
    values: Mapping[str, Any]
    outer: Mapping[str, Any]
    """The whole file: where newer files keep `dtype` and `quantization_config`."""

    @classmethod
    def read(cls, path: Path) -> "ConfigPart":
        """Return the whole of a file; raises InputError if it cannot be read or holds no object."""
        values = json_file(path, MOST_TEXT_BYTES)
        return cls(path, "", values, values)

    def nested(self, key: str) -> "ConfigPart | None":
        """Return the object under a key; None if there is none."""
        values = self.values.get(key)
        return ConfigPart(self.path, f"{key}.", values, self.outer) if isinstance(values, dict) else None

    def refusal(self, key: str, why: str) -> InputError:
        """Return the error that a value cannot be used."""
        value = json.dumps(self.values.get(key, self.outer.get(key)))
        return InputError(f"{self.path}: {self.prefix}{key} = {value[:80]}: {why}")

    def integer(self, key: str, most: int = MOST) -> int:
        """Return a whole number of 1 or more; raises InputError if it is missing or something else."""
        if key not in self.values:
            raise InputError(f"{self.path}: the key {self.prefix}{key} is missing")
        value = self.values[key]
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
            raise self.refusal(key, f"must be a whole number of 1 or more, at most {most:,}")
        return value

    def first(self, *keys: str) -> int:
        """Return the whole number under the first of `keys` that is set; raises as `integer`, of the first
        key."""
        return self.integer(next((key for key in keys if self.values.get(key)), keys[0]))

    def integer_or(self, key: str, otherwise: int) -> int:
        """Return a whole number of 1 or more; `otherwise` if it is missing, null or 0."""
        return self.integer(key) if self.values.get(key) else otherwise

    def dtype(self, *keys: str) -> str:
        """Return the number format under the first of `keys` that is set, here or in the whole file."""
        for values in (self.values, self.outer):
            for key in keys:
                if values.get(key) is not None:
                    name = str(values[key])
                    if name not in DTYPES:
                        raise self.refusal(key, f"must be one of {', '.join(DTYPES)}")
                    return DTYPES[name]
        raise InputError(f"{self.path}: the key {self.prefix}{keys[0]} is missing")
