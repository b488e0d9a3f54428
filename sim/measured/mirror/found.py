"""Settings of a scenario that sources tell, each with the source that told it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

KeyPath = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Setting:
    """One value and where it is from."""

    value: Any
    source: str


@dataclass(slots=True)
class Found:
    """What was told so far: the first source to tell a setting wins, what others say is noted."""

    settings: dict[KeyPath, Setting] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """What does not go into the scenario, a sentence each."""
    not_modelled: list[str] = field(default_factory=list)
    """What the simulator's engines and router do otherwise than those told of; also in the notes."""
    unread: dict[str, list[str]] = field(default_factory=dict)
    """By source: what stands there and nothing here depends on, or nobody looked at."""
    named_model: str | None = None
    """A model that a source names, where no preset and no configuration is known of it."""
    _refused: list[tuple[KeyPath, Any]] = field(default_factory=list)

    def tell(self, key: str, value: Any, source: str) -> None:
        """Take a setting; None is no value."""
        if value is None:
            return
        path = tuple(key.split("."))
        known = self.settings.setdefault(path, Setting(value, source))
        if known.value != value and (path, value) not in self._refused:
            self._refused.append((path, value))
            self.note(f"{key} = {value} by {source}, but {known.value} by {known.source} is taken")

    def note(self, text: str) -> None:
        """Add a note, once."""
        if text not in self.notes:
            self.notes.append(text)

    def not_like(self, text: str) -> None:
        """Note what is not modelled of the engines or the router."""
        if text not in self.not_modelled:
            self.not_modelled.append(text)
        self.note(text)

    def leave(self, source: str, items: Iterable[str]) -> None:
        """List what of a source is not read, each item once."""
        known = self.unread.setdefault(source, [])
        known += [item for item in dict.fromkeys(items) if item not in known]
        if not known:
            del self.unread[source]

    def has(self, key: str) -> bool:
        """Whether a setting was told."""
        return tuple(key.split(".")) in self.settings
