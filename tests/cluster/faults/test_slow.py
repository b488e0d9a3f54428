"""A slowed law is a step law."""

from hypothesis import strategies as st

from sim.cluster.faults.slow import SlowLaw
from sim.hardware.step_time import StepTime
from tests.hardware.step_law_contract import StepLawContract
from tests.hardware.test_step_time import laws


def slowed(law: StepTime, factor: float) -> StepTime:
    slow = SlowLaw(law)
    slow.factor = factor
    return slow


class TestContract(StepLawContract):
    laws = st.builds(slowed, laws, st.floats(1, 10))
