"""The step times that runs are predicted with: the scenario's own, and those that it has to beat."""

from dataclasses import dataclass

from sim.base.errors import InputError
from sim.base.shipped import FROM_TABLES, coefficients_named
from sim.scenario.scenario import Scenario

KERNELS = "kernels"
"""Variant of a file of coefficients: from kernel measurements alone."""


@dataclass(frozen=True, slots=True)
class Law:
    """One way to predict."""

    name: str
    label: str
    """For a table."""
    scenario: Scenario


def laws(scenario: Scenario) -> list[Law]:
    """Return the scenario as it is, then with each of the other laws in place of its step times.

    The laws of kernel measurements stand among them where a file `<model>_<gpu>-kernels` is shipped, or one
    from AIConfigurator's tables.
    """
    found = [Law("scenario", "this scenario", scenario)]
    for name, variant, label in (
        ("kernels", f"-{KERNELS}", "kernel priors, no fit"),
        ("aiconfigurator", FROM_TABLES, "AIConfigurator, no fit"),
    ):
        file = f"{scenario.model.name}_{scenario.gpu.name}{variant}"
        if _is_shipped(file):
            found.append(Law(name, label, _with_timing(scenario, coefficients=file)))
    for preset, label in (
        ("roofline", "achieved roofline"),
        ("peak-roofline", "peak-spec roofline"),
        ("dynamo-mocker", "Dynamo's mocker"),
    ):
        found.append(Law(preset, label, _with_timing(scenario, preset=preset)))
    return found


def _with_timing(scenario: Scenario, **timing: str) -> Scenario:
    """Return the scenario with other step times, and with the front door's times that come with them."""
    bare = scenario.frontend.model_copy(
        update={"alpha_in_s": None, "alpha_in_s_per_token": None, "alpha_out_s": None}
    )
    settings = type(scenario.timing)(**timing)
    return scenario.model_copy(update={"timing": settings, "frontend": bare})


def _is_shipped(file: str) -> bool:
    try:
        coefficients_named(file)
    except InputError:
        return False
    return True
