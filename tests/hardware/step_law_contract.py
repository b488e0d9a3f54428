"""What every step law keeps. A test of a law inherits it, and says with `laws` which laws that are."""

from math import inf
from typing import ClassVar

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim.hardware.step_time import StepTime

contexts = st.integers(0, 10**7)
batches = st.integers(0, 1024)
chunks = st.lists(st.tuples(st.integers(1, 16_384), st.integers(0, 10**6)), max_size=4)

inherited = settings(suppress_health_check=[HealthCheck.differing_executors])
"""Hypothesis takes the subclasses of a test for a mistake."""


class StepLawContract:
    laws: ClassVar[st.SearchStrategy[StepTime]]
    """Of laws whose steps have no full budget: that may tell a law something."""

    @inherited
    @given(data=st.data())
    def test_a_step_without_tokens_takes_no_time(self, data: st.DataObject) -> None:
        assert data.draw(self.laws).step_s([], 0, 0) == 0.0

    @inherited
    @given(data=st.data(), prefill=chunks, batch=batches, context=contexts)
    def test_any_other_takes_some(
        self, data: st.DataObject, prefill: list[tuple[int, int]], batch: int, context: int
    ) -> None:
        if prefill or batch:
            assert 0 < data.draw(self.laws).step_s(prefill, batch, context) < inf

    @inherited
    @given(data=st.data(), prefill=chunks, batch=batches, context=contexts, more=st.integers(1, 1000))
    def test_more_of_anything_never_takes_less(
        self, *, data: st.DataObject, prefill: list[tuple[int, int]], batch: int, context: int, more: int
    ) -> None:
        law = data.draw(self.laws)
        least = law.step_s(prefill, batch, context) * (1 - 1e-12)
        if batch:
            assert law.step_s(prefill, batch, context + more) >= least
        assert law.step_s(prefill, batch + more, context) >= least
        assert law.step_s([*prefill, (more, 0)], batch, context) >= least
        if prefill:
            i = data.draw(st.integers(0, len(prefill) - 1))
            new, prefix = prefill[i]
            for larger in ((new + more, prefix), (new, prefix + more)):
                assert law.step_s([*prefill[:i], larger, *prefill[i + 1 :]], batch, context) >= least

    @inherited
    @given(data=st.data(), batch=st.integers(1, 1024), context=contexts, n=st.integers(0, 200))
    def test_successive_decodes_are_the_single_steps_bit_for_bit(
        self, data: st.DataObject, batch: int, context: int, n: int
    ) -> None:
        law = data.draw(self.laws)
        steps_s = law.decode_s(batch, context, n)
        assert steps_s.shape == (n,)
        assert steps_s.tolist() == [law.step_s([], batch, context + batch * k) for k in range(n)]

    @inherited
    @given(
        data=st.data(),
        batch=st.integers(1, 64),
        context=contexts,
        n=st.integers(0, 100),
        more=st.integers(1, 100),
    )
    def test_successive_decodes_can_be_cut_anywhere(
        self, *, data: st.DataObject, batch: int, context: int, n: int, more: int
    ) -> None:
        law = data.draw(self.laws)
        whole = law.decode_s(batch, context, n + more).tolist()
        rest = law.decode_s(batch, context + batch * n, more).tolist()
        assert law.decode_s(batch, context, n).tolist() + rest == whole
