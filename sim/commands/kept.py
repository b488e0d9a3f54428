"""What `--out` of a command keeps, and what is said where that goes wrong."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sim.base.building import building, real
from sim.base.disk_room import refusing, room_for
from sim.base.errors import InputError, KeptElsewhereError, NoRoomError, Stopped
from sim.base.folder import new_folder
from sim.base.whole_file import check_regular, new_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_PICTURE = ".png"


class OutFolder:
    """The folder of `--out` while results are written, and afterwards; without `--out` nothing is written."""

    def __init__(self, out: Path | None) -> None:
        self._out = out
        self.building: Path | None = None
        """Where to write; None without `--out`, and once the disk was full."""
        self._problem: Exception | None = None

    def write(self, write: Callable[[Path], object]) -> None:
        """Write results into the folder; where the disk is full, that is raised once they are shown."""
        if self.building is None or self._out is None:
            return
        try:
            with room_for(self._out):
                write(self.building)
        except NoRoomError as error:
            self._problem = error.moved(self.building, self._out).advised("nothing is kept")
            self.building = None

    def also(self, write: Callable[[], object], advice: str) -> None:
        """Write what the results can do without; what goes wrong is raised once they are kept and shown."""
        try:
            write()
        except Exception as error:  # a bug as well may not cost the runs
            problem = error
            if isinstance(error, NoRoomError) and self._out is not None:
                if self.building is not None:
                    error = error.moved(self.building, self._out)
                problem = error.advised(f"all else is kept in {self._out}{advice}")
            self._problem = self._problem or problem

    @contextmanager
    def being_made(self, *, force: bool) -> Iterator[None]:
        """Be a folder to write into; at the end of the block it is in its place.

        Raises:
            InputError: there can be none.
            Stopped: Ctrl-C.

        """
        try:
            if self._out is None:
                yield
                return
            with new_folder(self._out, replace=force, on_removed=say_removed) as self.building:
                yield
                if self.building is None and self._problem is not None:
                    raise self._problem
        except KeptElsewhereError as error:
            self._problem = error
        except NoRoomError as error:
            if error is not self._problem:  # of something else than writing the results
                raise
        except KeyboardInterrupt as error:
            raise Stopped("nothing is kept") from error

    def pictures(self, write: Callable[[Path], Sequence[Path]], advice: str) -> None:
        """Write pictures into the folder, as `also`; tell on stderr of those that take more than one page."""
        if (folder := self.building) is not None:
            self.also(lambda: say_pages(write(folder)), advice)

    @contextmanager
    def shown(self, advice: str | None = None) -> Iterator[None]:
        """Print results in the block; at its end say where they are kept, if there is advice to give.

        Raises:
            InputError: they are not, or elsewhere.
            Stopped: Ctrl-C.

        """
        kept = self._out is not None and self._problem is None
        says = f"the results are kept in {self._out}" if kept else "nothing is kept"
        try:
            with room_for("standard output"):
                yield
        except KeyboardInterrupt as error:
            raise Stopped(says, "" if kept else "To begin anew") from error
        except NoRoomError as error:
            raise error.advised(says) if kept else error from error
        if self._problem is not None:
            raise self._problem
        if self._out is not None and advice is not None:
            typer.echo(f"Kept in {self._out}{advice}", err=True)


@contextmanager
def out_folder(out: Path | None, *, force: bool) -> Iterator[OutFolder]:
    """Yield the folder of `--out` to write results into.

    Raises:
        InputError: there can be none.
        Stopped: Ctrl-C.

    """
    made = OutFolder(out)
    with made.being_made(force=force):
        yield made


@contextmanager
def out_file(out: Path, *, force: bool, option: str = "--out") -> Iterator[Path]:
    """Yield the file of `--out`, or what messages call it, checked before the work, whole after it.

    Raises:
        InputError: no file can be made there, or it exists and `force` is not given.
        KeptElsewhereError: it appeared meanwhile.
        Stopped: Ctrl-C.

    """
    if out == Path("-"):
        raise InputError(f"{option} -: nothing is written to standard output; give a file")
    with keeping_nothing(), new_file(out, replace=force, option=f"{option} ", on_removed=say_removed) as file:
        yield file


def check_picture(out: Path | None, *, force: bool) -> None:
    """Refuse, before the work, a file of `--out` whose picture (`draw_beside`) would replace another file.

    Raises:
        InputError: says why.

    """
    if out is None:
        return
    if out.suffix == _PICTURE:
        raise InputError(f"--out {out}: a picture goes there, beside the file; give the file another ending")
    picture = out.with_name(f"{out.stem}{_PICTURE}")
    if picture.exists() and not force:
        raise InputError(
            f"--out {out}: its picture {picture} exists; give a new file, or --force to replace both"
        )


def draw_beside(out: Path | None, plots: "Callable[[], Sequence[Figure]]") -> None:
    """Draw beside a file of `--out` and tell where on stderr: last, once the file is kept and shown."""
    if out is None:
        return
    from sim.show.pictures.pages import write_pages

    written = write_pages(plots(), out.parent, out.stem, _PICTURE.removeprefix("."))
    if written:
        typer.echo(f"Drawn in {', '.join(map(str, written))}", err=True)


def check_place(file: Path) -> None:
    """Refuse where no file can be made, before the work that it is for.

    Raises:
        InputError: says why.

    """
    check_regular(file)
    with refusing(file), building(real(file).parent, file.name, Path.touch):
        pass


@contextmanager
def keeping_nothing() -> Iterator[None]:
    """Let Ctrl-C say that nothing is kept.

    Raises:
        Stopped: Ctrl-C.

    """
    try:
        yield
    except KeyboardInterrupt as error:
        raise Stopped("nothing is kept") from error


def say_removed(path: Path) -> None:
    """Tell of what a killed run had left."""
    typer.echo(f"Removed {path}, which a call that was killed had left", err=True)


def say_pages(written: Sequence[Path]) -> None:
    """Tell on stderr of pictures that one page has no room for."""
    more = [path.name for path in written if re.search(r"-[0-9]+$", path.stem)]
    if more:
        typer.echo(f"More panels than a page has room for: see also {', '.join(more)}", err=True)
