"""One try of a target, within limits of time and memory, and what is kept of those that break a rule."""

import hashlib
import json
import random
import resource
import signal
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sim.base.errors import InputError
from tests.fuzz.targets import DATA, TARGETS

KEPT = DATA / "fuzz"
MOST_CPU_S, MOST_S = 10, 60
MOST_BYTES = 4 << 30
LONGEST_MESSAGE = 20_000


class TooSlowError(Exception):
    """A try that takes longer than `MOST_CPU_S`, or waits for `MOST_S`."""


class Case(NamedTuple):
    """A damaged file, what it is called, and the seed of the choices made in reading it."""

    target: str
    name: str
    seed: int
    content: bytes

    def broken_rule(self) -> str | None:
        """Read it; return the traceback or the rule that was broken, None if all is well."""
        with tempfile.TemporaryDirectory() as folder, _limited():
            path = Path(folder) / self.name
            path.write_bytes(self.content)
            try:
                TARGETS[self.target].read(path, random.Random(self.seed))
            except InputError as error:
                message = str(error)
                return None if message and len(message) < LONGEST_MESSAGE else f"{len(message)} characters"
            except (Exception, TooSlowError):
                return traceback.format_exc()
        return None

    def keep(self) -> Path:
        """Write it to where the tests find it."""
        KEPT.mkdir(parents=True, exist_ok=True)
        path = KEPT / f"{self.target}-{hashlib.sha256(self.content).hexdigest()[:12]}"
        path.with_suffix(".json").write_text(
            json.dumps(self._asdict() | {"content": self.content.hex()}) + "\n"
        )
        return path.with_suffix(".json")


def kept() -> list[Path]:
    """Return the files of cases that once broke a rule."""
    return sorted(KEPT.glob("*.json"))


def read_kept(path: Path) -> Case:
    """Return a case that was kept."""
    found = json.loads(path.read_text())
    return Case(**(found | {"content": bytes.fromhex(found["content"])}))


@contextmanager
def _limited() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooSlowError(f"more than {MOST_CPU_S} s of computing, or {MOST_S} s")

    before = {number: signal.signal(number, stop) for number in (signal.SIGALRM, signal.SIGPROF)}
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, hard))
    signal.alarm(MOST_S)
    signal.setitimer(signal.ITIMER_PROF, MOST_CPU_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
