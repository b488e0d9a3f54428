"""Coefficients fitted to rows."""

import tomllib
from math import log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.base.errors import InputError
from sim.base.uncertainty import Uncertain
from sim.experiments.jobs.engine import local
from sim.hardware.coefficient_file import read_coefficient_file
from sim.hardware.coefficient_toml import to_toml
from sim.published.cells import Point
from sim.published.cluster import read_cluster
from sim.published.fit import Evaluation, Fit, Search, loss, row_loss
from sim.published.fit_file import content
from sim.published.fit_pictures import plots_of_fit
from sim.published.scores import RowScore, score_values
from sim.published.sets import replicates
from sim.published.standard import Standard
from sim.published.study import GENERATED, Maker, Plans, Workload, scenario_at
from sim.published.targets import Target
from tests.published.files import line, target, write_targets

TALK = read_cluster("talk")
FITTED = TALK.fit().coefficients
FITTABLE = target(may_be_fitted="yes")


def at(*numbers: float, row: Target = FITTABLE) -> RowScore:
    values = iter(numbers)
    return score_values(row, lambda cell: [next(values)], "made")


def test_a_row_that_holds_costs_nothing() -> None:
    assert row_loss(at(1.5)) == 0


def test_a_rows_loss() -> None:
    # Twice too high: ln 2 is 2.31 scales of 30 %; a Student density with 4 degrees of freedom.
    assert row_loss(at(4.0)) == pytest.approx(5 * log(1 + log(2) ** 2 / 0.36))
    # The mean over places.
    assert row_loss(at(1.5, 4.0, row=target(sessions_max="8"))) == pytest.approx(row_loss(at(4.0)) / 2)


def test_a_coefficient_costs_its_distance_from_the_prior() -> None:
    assert loss([at(1.5)], (0.0, 2.0, -1.0)) == 5.0


def test_a_scale_with_a_standard_deviation() -> None:
    scale = Standard(Uncertain(750.0, 530.0, 1050.0, 150.0))
    assert [scale.value(z) for z in (0.0, 1.0, -1.0, 9.0, -9.0)] == [750.0, 900.0, 600.0, 1050.0, 530.0]
    assert (scale.low, scale.high) == pytest.approx((-220 / 150, 2.0))
    assert scale.spread(0.0, 1.0) == 150.0


def test_a_scale_without_one_goes_by_factors() -> None:
    scale = Standard(Uncertain(1.0, 0.25, 4.0))
    assert [scale.value(z) for z in (-2.0, -1.0, 0.0, 1.0, 2.0)] == [0.25, 0.5, 1.0, 2.0, 4.0]
    # From 0 on there are no factors.
    assert Standard(Uncertain(1.0, 0.0, 2.0)).value(-1.0) == 0.5


@given(st.floats(-1.4, 1.9))
def test_a_place_on_the_scale_is_found_again(z: float) -> None:
    scale = Standard(Uncertain(750.0, 530.0, 1050.0, 150.0))
    assert scale.z(scale.value(z)) == pytest.approx(z, abs=1e-3)


SENT = Workload(GENERATED, replicates(1, 0))
PLANS = Plans([SENT], ("workload.turns=1",))
SCENARIO = scenario_at(SENT, Point("agg4", 4, "max-concurrency"), SENT.replicates[0], Plans([SENT]))
PRIOR = SCENARIO.coefficients().file


def test_a_search_comes_nearer() -> None:
    assert PRIOR is not None
    # The first turn of 4 cold sessions on 4 workers: mostly prefill. Half of what the priors give is wanted.
    search = Search([FITTABLE], FITTED, PLANS, Maker(local(1)), PRIOR)
    prior = search.evaluate([0.0] * len(FITTED))
    wanted = (prior.rows[0].deciding.median or 0.0) / 2
    row = target(may_be_fitted="yes", low=f"{wanted * 0.9}", high=f"{wanted * 1.1}")
    found = Search([row], FITTED, PLANS, Maker(local(1)), PRIOR).run(rounds=1)

    assert found.best.loss < found.prior.loss
    assert found.values["a_pair_s"] < PRIOR.values["a_pair_s"]
    for name in FITTED:
        low, high = PRIOR.entries[name].range
        assert low <= found.values[name] <= high
        assert found.sigmas[name] > 0


def test_rows_that_may_not_be_fitted_are_left_out() -> None:
    assert PRIOR is not None
    with pytest.raises(InputError, match="may_be_fitted"):
        Search([target()], FITTED, PLANS, Maker(local(1)), PRIOR)


def test_the_file_of_a_fit_is_one_of_coefficients(tmp_path: Path) -> None:
    assert PRIOR is not None
    z = (0.0,) * len(FITTED)
    tried = Evaluation(z, (at(1.5),), 0.0)
    values = {name: PRIOR.values[name] for name in FITTED} | {"a_pair_s": 6e-10}
    fit = Fit(FITTED, tried, tried, values, dict.fromkeys(FITTED, 1e-12), 1)
    cluster = read_cluster("talk", write_targets(tmp_path, line(may_be_fitted="yes")))
    path = tmp_path / "fit.toml"
    path.write_text(to_toml(content(fit, PRIOR, "the prior", cluster, [SCENARIO]), []))

    read = read_coefficient_file(path)
    assert read.origin == "fitted"
    assert "(row)" in read.summary
    assert read.values == PRIOR.values | {"a_pair_s": 6e-10}
    assert read.entries["a_pair_s"].sigma == 1e-12
    assert [entry.rows for entry in read.data] == [1, 80]
    assert (
        tomllib.loads(path.read_text())["step"]["a_pair_s"]["source"]
        == "fitted to the talk; the prior has 750ps"
    )


def test_rows_are_drawn_over_what_is_printed() -> None:
    """Printed 4: 3 and 5 are a quarter off. Of 1 to 2, 1.5 is within and 3 half as much again."""
    printed = target(id="printed", title="printed", may_be_fitted="yes", low="4", high="4", relation="about")
    ranged = target(id="ranged", title="ranged", may_be_fitted="yes", low="1", high="2")
    z = (0.0,) * len(FITTED)
    before = Evaluation(z, (at(3.0, row=printed), at(3.0, row=ranged)), 0.0)
    after = Evaluation(z, (at(5.0, row=printed), at(1.5, row=ranged)), 0.0)
    (figure,) = plots_of_fit(Fit(FITTED, before, after, {}, {}, 2), TALK.settings)
    panel = figure.axes[0]
    assert [label.get_text() for label in panel.get_yticklabels()] == ["printed", "ranged"]
    drawn = {str(one.get_label()): np.asarray(one.get_offsets())[:, 0].tolist() for one in panel.collections}
    assert drawn == {"prior": [0.75, 1.5], "fitted": [1.25, 1.0]}


def test_a_row_without_a_number_is_not_drawn() -> None:
    nothing = score_values(FITTABLE, lambda cell: [], "made")
    tried = Evaluation((0.0,) * len(FITTED), (nothing,), 0.0)
    assert plots_of_fit(Fit(FITTED, tried, tried, {}, {}, 1), TALK.settings) == []
