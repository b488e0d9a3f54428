"""Runs the examples of a page in a folder of their own, as a reader would."""

import contextlib
import io
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import matplotlib.font_manager
from typer.testing import CliRunner

from sim.cli import app
from tests.docs import transcripts
from tests.docs.blocks import CUT, ROOT, Step, steps


class FailedError(AssertionError):
    """An example did not end as it should."""


@contextlib.contextmanager
def folder_of(place: Path) -> Iterator[None]:
    """Work in a folder that is the home as well, with transcripts, and the repository's tests beside it."""
    (place / "tests").symlink_to(ROOT / "tests")
    transcripts.write(place / ".claude" / "projects")
    before, home = Path.cwd(), os.environ.get("HOME")
    with mpl.rc_context({"backend": "agg"}):
        os.chdir(place)
        os.environ["HOME"] = str(place)
        try:
            yield
        finally:
            os.chdir(before)
            os.environ.pop("HOME")
            os.environ |= {} if home is None else {"HOME": home}


def run(text: str, place: Path) -> Iterator[tuple[Step, str]]:
    """Carry out a page; yield every step that shows an output, with what is printed now.

    Raises:
        FailedError: a command or a piece of code failed.

    """
    names: dict[str, object] = {}
    with folder_of(place):
        for step in steps(text):
            printed = _done(step, names)
            if step.output is not None:
                yield step, cut(printed, step.output.text)


def cut(printed: str, shown: str) -> str:
    """Return as much of an output as a page shows of it."""
    lines, before = [line.rstrip() for line in printed.splitlines()], shown.splitlines()
    if before[-1:] == [CUT]:
        lines = [*lines[: len(before) - 1], CUT]
    return "".join(f"{line}\n" for line in lines)


def _done(step: Step, names: dict[str, object]) -> str:
    block = step.block
    if block.said.startswith("file "):
        path = Path(block.said.removeprefix("file "))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        return ""
    if block.language == "python":
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(block.text, "example", "exec"), names)
        return printed.getvalue()
    return "".join(map(_printed, block.text.replace("\\\n", " ").splitlines()))


def _printed(line: str) -> str:
    """Return what a command prints; `sim` runs in this process."""
    program, *arguments = shlex.split(line, comments=True)
    if program == "sim":
        as_a_shell = [str(Path(it).expanduser()) if it.startswith("~") else it for it in arguments]
        result = CliRunner().invoke(app, as_a_shell)
        if result.exit_code:
            raise FailedError(f"{line}\nends with {result.exit_code}\n{result.output}\n{result.exception}")
        return result.stdout
    words = [sys.executable, *arguments] if program == "python" else [program, *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FailedError(f"{line}\nends with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout
