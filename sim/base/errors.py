"""What goes wrong because of the input, not because of the program."""

import re
from pathlib import Path

_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class InputError(ValueError):
    """A scenario, trace or option that cannot be used; the message says where, what, and what is allowed.

    The command line prints it and exits with status 2.
    """


def escaped(message: str) -> str:
    """Return a message as it can be shown anywhere: characters that steer a terminal become escapes."""
    return _STEERING.sub(lambda found: ascii(found[0])[1:-1], message)


def is_inert(text: str) -> bool:
    """Whether nothing in a text steers the terminal or page that shows it, and all of it can be written."""
    return escaped(text) == text and "\n" not in text and "\t" not in text


def shown(value: object, most: int = 60) -> str:
    """Return a value as messages have it: escaped, quoted, and cut where it is long."""
    found = repr(value)
    return found if len(found) <= most else found[: most - 3] + "..."


class InvariantError(Exception):
    """A rule that holds in every simulation was broken: a fault of the simulator, not of the input.

    The message is one line that names request, worker, simulated time and rule, as far as there are any. The
    command line prints it and exits with status 5.
    """

    def __init__(
        self,
        rule: str,
        detail: str,
        *,
        request: int | None = None,
        worker: int | None = None,
        now_s: float | None = None,
    ) -> None:
        self.rule = rule
        self.detail = detail
        self.request = request
        self.worker = worker
        self.now_s = now_s
        super().__init__(rule, detail)

    def __str__(self) -> str:
        named = {"request": self.request, "worker": self.worker}
        where = [f"{name} {number}" for name, number in named.items() if number is not None]
        where += [f"at {self.now_s:g} s"] if self.now_s is not None else []
        return f"{', '.join(where) or 'whole run'}: {self.detail} (rule: {self.rule})"

    def __reduce__(self) -> tuple[object, ...]:
        """Keep all that is named on the way out of another process."""
        return _again, (self.rule, self.detail, self.request, self.worker, self.now_s)


def _again(
    rule: str, detail: str, request: int | None, worker: int | None, now_s: float | None
) -> InvariantError:
    return InvariantError(rule, detail, request=request, worker=worker, now_s=now_s)


class NoRoomError(InputError):
    """A disk or its quota is full, or takes no more for another reason; the message names the file."""

    def __init__(self, written: Path | str, reason: str, advice: str = "") -> None:
        """Say what could not be written, and why; `advice` says what is kept, and what to do."""
        super().__init__(f"{written}: {reason}" + (f"; {advice}" if advice else ""))
        self.written = written
        self.reason = reason

    def moved(self, building: Path, final: Path) -> "NoRoomError":
        """Return the same of a file by the name that it would have got."""
        written = Path(self.written)
        if not written.is_relative_to(building):
            return self
        return NoRoomError(final / written.relative_to(building), self.reason)

    def advised(self, advice: str) -> "NoRoomError":
        """Return the same with advice."""
        return NoRoomError(self.written, self.reason, advice)


class KeptElsewhereError(InputError):
    """Results are complete, but not where they were to go; the command line exits with status 4."""

    def __init__(self, wanted: Path | str, error: OSError, kept: Path) -> None:
        """Say where the results were to go, why they did not, and where they are."""
        appeared = "something appeared there meanwhile, and stays as it is"
        reason = appeared if isinstance(error, FileExistsError) else error.strerror or str(error)
        super().__init__(f"{wanted}: {reason}; the results are kept in {kept}")
        self.kept = kept


class Stopped(KeyboardInterrupt):
    """Ctrl-C, or a signal that means the same; the message says what is kept, and how to go on.

    `again` is what the command line says before the call itself: what that would do. "" if nothing is left.
    """

    def __init__(self, message: str, again: str = "To begin anew") -> None:
        super().__init__(message)
        self.again = again
