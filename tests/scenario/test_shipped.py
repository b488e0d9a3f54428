"""What is shipped works: every scenario runs, every model and GPU is read."""

import pytest

from sim import run
from sim.base.shipped import preset, preset_names, scenario_names, scenario_path
from sim.hardware.coefficients import roofline_coefficients
from sim.hardware.model import GpuSettings, ModelSettings
from sim.scenario.load import load_scenario

MODELS, GPUS = preset_names("models"), preset_names("gpus")


@pytest.mark.parametrize("name", scenario_names())
def test_a_shipped_scenario_needs_no_file_of_yours_and_has_a_pool(name: str) -> None:
    scenario = load_scenario(name)
    trace = scenario.workload.path
    assert trace is None or trace.parent == scenario_path(name).parent.resolve() / "traces"
    assert scenario.title
    assert scenario.capacity().num_blocks > 2


@pytest.mark.parametrize("name", scenario_names())
def test_the_first_session_of_a_shipped_scenario_runs(name: str) -> None:
    generated = load_scenario(name).workload.profile is not None
    short = {"workload.sessions": 1, **({"workload.turns": 2} if generated else {})}
    result = run(name, short)
    assert result.numbers["requests.completed"] == len(result.requests) > 0


@pytest.mark.parametrize("name", MODELS)
def test_a_shipped_model_is_read_under_the_name_of_its_file(name: str) -> None:
    assert ModelSettings.model_validate(preset("models", name)).name == name


@pytest.mark.parametrize("name", GPUS)
def test_a_shipped_gpu_is_read_under_the_name_of_its_file(name: str) -> None:
    assert GpuSettings.model_validate(preset("gpus", name)).name == name


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("model", MODELS)
def test_a_shipped_model_has_times_on_a_shipped_gpu(model: str, gpu: str) -> None:
    shapes = ModelSettings.model_validate(preset("models", model))
    peaks = GpuSettings.model_validate(preset("gpus", gpu))
    assert roofline_coefficients(shapes, peaks, "").step.t_floor_s > 0
