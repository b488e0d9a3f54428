"""One mistake: what is written in a file of `sim/`, what stands there instead, and which tests must fail."""

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


class Mutant(BaseModel):
    """A mistake in one place of one file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    says: str
    """The mistake in words: a name among the mutants."""
    file: str
    """Below the top of the checkout."""
    old: str
    """Stands in the file exactly once."""
    new: str
    tests: tuple[str, ...] = Field(min_length=1)
    """Files of tests, or names in them as pytest has them: at least one must fail."""

    def mutated(self, text: str) -> str:
        """Return the file's text with the mistake.

        Raises:
            ValueError: the old text is not there exactly once, so the mutant is out of date.

        """
        found = text.count(self.old)
        if found != 1:
            raise ValueError(f"{self.says}: the old text is in {self.file} {found} times, not once")
        return text.replace(self.old, self.new)


def read_mutants() -> list[Mutant]:
    """Return the mutants of the repository."""
    content = tomllib.loads((HERE / "mutants.toml").read_text(encoding="utf-8"))
    return [Mutant.model_validate(entry) for entry in content["mutant"]]
