"""Runs of a real H100, if their file is beside the repository: how far predictions are off."""

from pathlib import Path

import pytest

from sim.base.shipped import coefficients_named
from sim.hardware.coefficient_file import read_coefficient_file
from sim.measured.formats.requests_csv import RequestsFile, read_requests
from sim.scenario.load import load_scenario
from sim.validation.requests.kinds import is_saturated, kind_of
from sim.validation.requests.latencies import PERCENTILES, errors, measured, predicted

ROOT = Path(__file__).resolve().parents[3]
FILE = ROOT.parent / "shared" / "calibration" / "h100_vllm023_qwen3_14b_requests.csv.gz"
FITTED = read_coefficient_file(coefficients_named("qwen3-14b-bf16_h100-80gb"))

pytestmark = pytest.mark.skipif(not FILE.is_file(), reason=f"no recorded requests at {FILE}")


@pytest.fixture(scope="module")
def file() -> RequestsFile:
    return read_requests(FILE)


def test_the_shipped_coefficients_name_their_data(file: RequestsFile) -> None:
    assert FITTED.data[0].sha256 == file.sha256
    kinds = {run.name: kind_of(run, FITTED.fitted_runs) for run in file.runs}
    assert sum(kind.seen == "fitted" for kind in kinds.values()) == len(FITTED.fitted_runs) == 5
    assert {name for name in kinds if is_saturated(file.run(name))} == {
        "w5_sweep/agg24",
        "w7_sweep/agg18",
        "w7_sweep/agg24",
    }


@pytest.mark.parametrize("name", ["sweep_tenants/1T_agg_2rps/vanilla", "sweep_tenants/2T_agg_4rps/vanilla"])
@pytest.mark.slow
def test_held_out_runs_are_predicted(file: RequestsFile, name: str) -> None:
    run = file.run(name)
    off = dict(
        zip(PERCENTILES, errors(measured(run), predicted(run, load_scenario("h100-qwen3-14b"))), strict=True)
    )
    for percentile in (("ttft_s", 50), ("ttft_s", 90)):
        assert abs(off[percentile]) < 0.04
    for percentile in (("tpot_s", 50), ("tpot_s", 99), ("e2e_s", 50), ("e2e_s", 99)):
        assert abs(off[percentile]) < 0.03
