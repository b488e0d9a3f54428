"""What a user says of step times: whose they are, and coefficients of one's own."""

from typing import TYPE_CHECKING, Self

from pydantic import create_model, model_validator

from sim.base.bounds import CountOrZero
from sim.base.settings import Settings, all_unset
from sim.hardware.coefficients import Preset
from sim.hardware.step_laws import LAWS
from sim.hardware.step_time import StepCoefficients


class _Whose(Settings):
    preset: Preset | None = None
    """Times in place of those of a file: from the kernel tables of NVIDIA's AIConfigurator, for almost any
    model and GPU; or, to compare with, of Dynamo's mocker, a law of its own; of a roofline from shapes and
    achieved peaks; or from the datasheet's peaks, without any fixed cost."""
    coefficients: str | None = None
    """A file of coefficients, by its path or, if it is a shipped one, by its name in `calibration/`; unset:
    the one that is named after model and GPU."""
    draw: CountOrZero = 0
    """From 1 on: that draw of the file's coefficients over their ranges, and of bandwidths and latencies of
    links where those are left at their defaults; 0: the values."""


if TYPE_CHECKING:
    _Given = _Whose
else:
    _Given = create_model("_Given", __base__=_Whose, __module__=__name__, **all_unset(StepCoefficients))


class TimingSettings(_Given):
    """The step-time law. Unset coefficients are those shipped for model and GPU, else those of a roofline."""

    label: str | None = None
    """What the coefficients given here rest on; is printed with the results."""

    @model_validator(mode="after")
    def _one_law(self) -> Self:
        rivals: dict[str, object] = {"coefficients": self.coefficients}
        if self.preset != "aiconfigurator":
            rivals["draw"] = self.draw or None
        if self.preset in LAWS:
            rivals |= {key: getattr(self, key) for key in StepCoefficients.model_fields}
        given = [key for key, value in rivals.items() if value is not None]
        if self.preset and given:
            raise ValueError(
                f'preset = "{self.preset}" is a law of its own: leave out either preset or {", ".join(given)}'
            )
        return self
