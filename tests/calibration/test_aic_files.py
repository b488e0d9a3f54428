"""The shipped files from AIConfigurator's tables: those that are listed, small, and of the right formats."""

from pathlib import Path

import pytest

from sim.hardware.coefficient_file import FrontendCoefficients, file_name, read_coefficient_file
from sim.hardware.step_time import StepCoefficients, StepLaw
from tests.calibration.aic_files import FOLDER, engines

ENGINES = {engine.file: engine for engine in engines()}
FILES = sorted(FOLDER.glob("*.toml"))


def test_each_listed_engine_has_its_file() -> None:
    assert [path.name for path in FILES] == sorted(ENGINES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_is_what_its_name_says(path: Path) -> None:
    content, engine = read_coefficient_file(path), ENGINES[path.name]
    name = file_name(content.model, content.gpu, content.parallel.parallel)
    assert path.stem == f"{name}-aic"
    assert content.origin == "aiconfigurator"
    assert content.dense is not None
    assert len(content.held_out) == 3
    assert set(content.step) | {
        "tile_tokens",
        "c_mixed_s_per_token",
        "c_pf_s",
        "c_step_s",
        "t_launch_s",
    } == set(StepCoefficients.model_fields)
    assert set(content.frontend) == set(FrontendCoefficients.model_fields)
    assert path.stat().st_size < 6000
    assert dict(content.formats) == engine.asked.formats


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_law_is_near_the_tables(path: Path) -> None:
    """Steps of one kind within 11 % on average; of both within 20 %, where FP8 tables jump."""
    prefill, decode, both = read_coefficient_file(path).held_out
    assert prefill.mape < 0.05
    assert decode.mape < 0.11
    assert both.mape < 0.20


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_times_are_of_the_order_that_hardware_allows(path: Path) -> None:
    content = read_coefficient_file(path)
    law = StepLaw(content.step_coefficients(content.values), content.dense)
    assert 1e-3 < law.step_s([], 1, 4096) < 0.1
    assert (
        law.step_s([], 1, 4096) < law.step_s([], 128, 128 * 4096) < law.step_s([(8192, 0)], 128, 128 * 4096)
    )
