"""The base of every settings model: frozen, and unknown keys are errors."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """A part of a scenario. Each room defines its own settings next to the rule they steer."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid", use_attribute_docstrings=True)
