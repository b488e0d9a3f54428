"""Scenarios under several routing policies: which ones are asked for, and what a comparison calls each."""

from collections.abc import Iterable, Sequence

from sim.base.errors import InputError
from sim.base.messages import nearest, suggestion
from sim.router.policies import POLICIES

KEY = "router.policy"
ALL = "all"


def asked_policies(names: str | Iterable[str]) -> list[str]:
    """Return the policies that are asked for: a list, its items perhaps joined by commas, or "all".

    Raises:
        InputError: a policy has no such name, or is named twice; says which there are.

    """
    texts = [names] if isinstance(names, str) else names
    found = [name.strip() for text in texts for name in str(text).split(",")]
    if found == [ALL]:
        return [*POLICIES]
    if not found:
        raise InputError(f"--policies: give at least one of {_either([*POLICIES, ALL])}")
    for name in found:
        if name not in POLICIES:
            near = suggestion(map(repr, nearest(name, POLICIES)))
            raise InputError(f"--policies {name!r}: must be {_either([*POLICIES, ALL])}{near}")
        if found.count(name) > 1:
            raise InputError(f"--policies {name}: is given twice")
    return found


def check_overrides(overrides: Sequence[str]) -> None:
    """Refuse a `--set` of what `--policies` sets.

    Raises:
        InputError: says which of the two to leave out.

    """
    if any(text.partition("=")[0].strip() == KEY for text in overrides):
        raise InputError(f"--policies, --set {KEY}: both say who chooses; give one of them")


def under_policies(scenarios: Sequence[str], policies: Sequence[str]) -> dict[str, tuple[str, list[str]]]:
    """Return the scenario of each name that a comparison has, and the `key=value` for it alone.

    Of one scenario, the policies' names are enough. Their regret is counted: it changes no other number.
    """
    return {
        policy if len(scenarios) == 1 else f"{scenario}/{policy}": (
            scenario,
            [f"{KEY}={policy}", "output.regret=true"],
        )
        for scenario in scenarios
        for policy in policies
    }


def _either(names: Sequence[str]) -> str:
    *first, last = map(repr, names)
    return f"{', '.join(first)} or {last}"
