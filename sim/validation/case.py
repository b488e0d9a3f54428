"""A measured run and the scenario of its cluster: what every prediction of it starts from, made once."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sim.measured.run import MeasuredRun
from sim.measured.summary import summarise
from sim.scenario.scenario import Scenario
from sim.validation.predictions.quantities import Numbers, measured_numbers
from sim.validation.replay.recording import Recording, recording
from sim.validation.replay.replay import Replay, replay


@dataclass(frozen=True)
class ValidationCase:
    """What is asked of a run before anything is predicted of it."""

    run: MeasuredRun
    scenario: Scenario

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What the files of the run say, by the keys of `summarise`."""
        return summarise(self.run)

    @cached_property
    def measured(self) -> Numbers:
        """What predictions are compared with."""
        return measured_numbers(self.run, self.summary, self.scenario.capacity().block_bytes)

    @cached_property
    def recording(self) -> Recording:
        """What there is to replay.

        Raises:
            InputError: the run's prompts or send times are not known.

        """
        return recording(self.run)

    @cached_property
    def replayed(self) -> Replay:
        """The recording with recorded workers and times.

        Raises:
            InputError: as `replay`; there is nothing to replay.

        """
        return replay(self.recording, self.scenario, forced=True)
