"""Pictures of calibrations: which ratios are drawn, on which line."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

from sim.calibration.forward_fit import compared
from sim.calibration.kernel_file import KernelCalibration, calibrate
from sim.calibration.kernel_tables import read_tables
from sim.calibration.pictures import plots_of_kernels, plots_of_steps
from sim.hardware.model import GpuSettings, ModelSettings
from sim.hardware.presets import resolve
from sim.hardware.step_time import StepCoefficients, StepLaw
from sim.measured.formats.forward_json import ForwardCase
from tests.calibration.synthetic import write_tables


def dots(figure: Figure) -> dict[str, list[tuple[float, float]]]:
    """Where the dots of each colour are."""
    found: dict[str, list[tuple[float, float]]] = {}
    for drawn in figure.axes[0].collections:
        assert isinstance(drawn, PathCollection)
        found[str(drawn.get_label())] = np.asarray(drawn.get_offsets()).tolist()
    return found


def lines(figure: Figure) -> list[str]:
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> KernelCalibration:
    tables = read_tables(write_tables(tmp_path_factory.mktemp("tables"), "bfloat16")[:3])
    model = ModelSettings.model_validate(resolve("models", "llama-3.1-8b-bf16"))
    return calibrate(tables, model, GpuSettings.model_validate(resolve("gpus", "h100-80gb")), 2)


def test_a_step_is_on_the_line_of_its_tokens(kernels: KernelCalibration) -> None:
    found = {
        "prefill steps": [(512, 1.1), (600, 0.9), (2048, 1.2)],
        "decode steps": [(1, 1.0), (512, 1.3)],
    }
    (figure,) = plots_of_steps(kernels.content, found, "some steps")
    assert lines(figure) == ["1 token", "512 to 600 tokens", "2,048 tokens"]
    drawn = dots(figure)
    assert [(x, round(y)) for x, y in drawn["prefill steps"]] == [(1.1, 1), (0.9, 1), (1.2, 2)]
    assert [(x, round(y)) for x, y in drawn["decode steps"]] == [(1.0, 0), (1.3, 1)]


def test_without_a_step_nothing_is_drawn(kernels: KernelCalibration) -> None:
    nothing: dict[str, Sequence[tuple[int, float]]] = {"prefill steps": []}
    assert plots_of_steps(kernels.content, nothing, "no steps") == []


def test_timed_batches_beside_a_law() -> None:
    """A step takes 1 ms, to nine digits, and 1 ms more a sequence."""
    law = StepLaw(
        StepCoefficients(
            t_floor_s=1e-3,
            c_tok_s_per_token=1e-12,
            smooth_max_p=8.0,
            a_pair_s=0,
            c_kv_s_per_token=0,
            c_seq_s=1e-3,
        )
    )
    cases = [
        ForwardCase("a", (), 1, 100, 4e-3, 0.0),
        ForwardCase("b", ((8, 0),), 0, 0, 1e-3, 0.0),
        ForwardCase("c", ((8, 0),), 3, 300, 6.25e-3, 0.0),
    ]
    found = compared(law, cases)
    assert {kind: [tokens for tokens, _ in steps] for kind, steps in found.items()} == {
        "prefill steps": [8],
        "decode steps": [1],
        "steps of both": [11],
    }
    assert [ratio for steps in found.values() for _, ratio in steps] == pytest.approx([2.0, 0.5, 0.8])


def test_kernels_that_follow_a_law_are_at_one(kernels: KernelCalibration) -> None:
    figures = plots_of_kernels(kernels)
    drawn = [dots(figure) for figure in figures]
    assert {series for found in drawn for series in found} == {"other shapes", "the model's own shapes"}
    for found in drawn:
        for places in found.values():
            assert all(x == pytest.approx(1, abs=0.01) for x, _ in places)
    names = [name.replace("\n", " ") for figure in figures for name in lines(figure)]
    assert names[0] == "GEMM bfloat16, from 1 us on"
    assert len(names) == len(set(names))


def test_a_kernel_that_takes_twice_its_law_is_at_a_half(kernels: KernelCalibration) -> None:
    one = kernels.fits[0]
    slower = replace(one.kernel, measured_s=2 * one.kernel.measured_s)
    found = KernelCalibration(kernels.content, [replace(one, kernel=slower)])
    for places in dots(plots_of_kernels(found)[0]).values():
        assert all(x == pytest.approx(0.5, abs=0.005) for x, _ in places)
