"""`python -m tests.fuzz`: as many tries as the time allows; status 1 if one broke a rule."""

import argparse
import random
import sys
import time

from tests.fuzz.case import Case
from tests.fuzz.mutate import mutated
from tests.fuzz.targets import TARGETS

MOST_BROKEN = 10


def fuzz(
    target: str, seconds: float, seed: int, most: int | None = None
) -> tuple[int, list[tuple[Case, str]]]:
    """Return how many tries were made, and those that broke a rule, one for each last line of a traceback."""
    draw, tries = random.Random(seed), 0
    broken: dict[str, tuple[Case, str]] = {}
    seeds = TARGETS[target].seeds()
    end = time.monotonic() + seconds
    while time.monotonic() < end and len(broken) < MOST_BROKEN and (most is None or tries < most):
        name, content = draw.choice(seeds)
        alike = [other for also, other in seeds if also.rpartition(".")[2] == name.rpartition(".")[2]]
        case = Case(target, name, draw.randrange(2**32), mutated(draw, [content, content, *alike]))
        tries += 1
        if (rule := case.broken_rule()) is not None:
            place = [line for line in rule.splitlines() if line.lstrip().startswith("File ")][-1:]
            broken.setdefault("".join(place) or rule, (case, rule))
    return tries, [*broken.values()]


def main() -> int:
    """Run the targets that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; all if none is given"
    )
    parser.add_argument("--seconds", type=float, default=30.0, help="for each target")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of what is drawn")
    options = parser.parse_args()
    if unknown := set(options.targets) - set(TARGETS):
        parser.error(f"no target is called {min(unknown)!r}; there are {', '.join(TARGETS)}")
    failed = False
    for target in options.targets or TARGETS:
        tries, broken = fuzz(target, options.seconds, options.seed)
        print(f"{target}: {tries:,} tries with seed {options.seed}, {len(broken)} broke a rule", flush=True)
        for case, rule in broken:
            failed = True
            print(f"\n{rule.rstrip()}\nkept as {case.keep()}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
