"""The base of every settings model: frozen, and unknown keys are errors."""

from typing import Annotated, Any, Optional

from pydantic import BaseModel, ConfigDict, Field


class Settings(BaseModel):
    """A part of a scenario. Each room defines its own settings next to the rule they steer."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid", use_attribute_docstrings=True)


def all_unset(settings: type[Settings]) -> dict[str, Any]:
    """Return the fields of other settings for `pydantic.create_model`: the same bounds and words, each unset.

    For what may be given in place of values that are known from elsewhere.
    """
    return {
        name: (
            Optional[Annotated[field.annotation, *field.metadata]],  # noqa: UP045 - made, not written
            Field(default=None, description=field.description),
        )
        for name, field in settings.model_fields.items()
    }
