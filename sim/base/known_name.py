"""Strings of which only some are known, where those are listed elsewhere and may become more."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema


class KnownName(NamedTuple):
    """Marks a string that must be one of the known names: in validation, its message and the JSON Schema."""

    known: Callable[[], Sequence[str]]
    """Says which names there are; asked each time."""

    def _check(self, name: str) -> str:
        names = self.known()
        if name in names:
            return name
        *first, last = map(repr, names)
        allowed = f"{', '.join(first)} or {last}"
        raise PydanticCustomError("unknown_name", "must be {allowed}", {"allowed": allowed})

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Check what is a string."""
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """List the names."""
        return {"type": "string", "enum": [*self.known()]}
