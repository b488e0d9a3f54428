"""What goes wrong because of the input, not because of the program."""

from pathlib import Path


class InputError(ValueError):
    """A scenario, trace or option that cannot be used; the message says where, what, and what is allowed.

    The command line prints it and exits with status 2.
    """


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
    """Ctrl-C, or a signal that means the same; the message says what is kept, and how to go on."""
