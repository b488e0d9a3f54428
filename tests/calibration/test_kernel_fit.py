"""Tables that follow known rates give these rates back; shapes that do not show in errors and draws."""

from pathlib import Path

import numpy as np
import pytest

from sim.base.errors import InputError
from sim.base.shipped import preset
from sim.calibration.kernel_draws import drawn_rates
from sim.calibration.kernel_fit import Kernel, fit, held_out_errors, resampled
from sim.calibration.kernel_rows import kernels
from sim.calibration.kernel_tables import read_tables
from sim.hardware.model import ModelSettings
from tests.calibration.synthetic import (
    GEMM,
    PREFILL,
    Factor,
    gemm_rows,
    prefill_rows,
    write,
    write_tables,
)

QWEN27 = ModelSettings.model_validate(preset("models", "qwen3.8-27b-fp8"))
HYBRID = QWEN27.model_copy(update={"head_dim": 128})
"""With the head of the tables."""


def of(folder: Path, model: ModelSettings = HYBRID, version: str | None = None) -> dict[str, Kernel]:
    return kernels(read_tables(write_tables(folder)), model, version)


def with_prefill(folder: Path, factor: Factor) -> dict[str, Kernel]:
    """The same with shapes of prefill attention off the law."""
    off = write(folder / "off.csv", PREFILL, prefill_rows(factor=factor))
    others = [path for path in write_tables(folder) if path.stem != "prefill"]
    return kernels(read_tables([off, *others]), HYBRID)


KNOWN = {
    "weights": {"flop_per_s": 800e12, "bytes_per_s": 2.5e12, "launch_s": 5e-6, "p": 2.0},
    "head": {"flop_per_s": 800e12, "bytes_per_s": 2.5e12, "launch_s": 5e-6, "p": 2.0},
    "prefill": {"flop_per_s": 500e12, "bytes_per_s": 1.25e12, "launch_s": 20e-6},
    "decode": {"bytes_per_s": 2e12, "launch_s": 10e-6},
    "gdn convolution": {"bytes_per_s": 2e12, "launch_s": 3e-6},
    "gdn scan": {
        "launch_s": 10e-6,
        "s_per_head": 50e-9,
        "alone_s_per_token": 40e-9,
        "full_s_per_token_and_head": 0.5e-9,
    },
    "gdn convolution update": {"launch_s": 2e-6, "s_per_channel": 4e-12},
    "gdn update": {"launch_s": 4e-6, "s_per_head": 30e-9},
}


def test_known_rates_come_back_and_hit_what_was_held_out(tmp_path: Path) -> None:
    found = of(tmp_path)
    assert list(found) == list(KNOWN)
    for name, kernel in found.items():
        assert fit(kernel) == pytest.approx(KNOWN[name], rel=1e-4), name
        assert held_out_errors(kernel).mape < 1e-4


def test_the_models_own_shapes_and_a_quarter_of_the_others_are_held_out(tmp_path: Path) -> None:
    prefill = of(tmp_path)["prefill"]
    errors = held_out_errors(prefill)
    # One of its own and two of the other five, each with two batches of four lengths that are not short.
    assert (prefill.shapes, len(prefill.own), errors.shapes, errors.rows) == (6, 1, 3, 24)
    other = HYBRID.model_copy(update={"attention_heads": 12})
    without = kernels(read_tables(write_tables(tmp_path)), other)["prefill"]
    assert (held_out_errors(without).shapes, held_out_errors(without).own) == (2, None)


def test_a_model_without_recurrent_layers_needs_no_table_of_them(tmp_path: Path) -> None:
    plain = HYBRID.model_copy(update={"linear_attention_layers": 0})
    tables = read_tables(write_tables(tmp_path)[:3])
    assert list(kernels(tables, plain)) == ["weights", "head", "prefill", "decode"]
    with pytest.raises(InputError, match="a table of gdn is missing; given: gemm, prefill attention, decode"):
        kernels(tables, HYBRID)


def test_the_newest_version_counts_unless_one_is_named(tmp_path: Path) -> None:
    gemm = write(
        tmp_path / "versions.csv",
        GEMM,
        gemm_rows(version="0.9.0", factor=lambda _: 2.0),
        gemm_rows(version="0.25.0"),
        gemm_rows("bfloat16"),
    )
    tables = read_tables([gemm, *write_tables(tmp_path)[1:]])
    assert kernels(tables, HYBRID)["weights"].version == "0.25.0"
    with pytest.raises(InputError, match=r"versions\.csv: no row has vllm_version = 0\.9\.0; there"):
        kernels(tables, HYBRID, "0.9.0")
    with pytest.raises(InputError, match=r"prefill\.csv: no row has head_dim = 256; there are 128"):
        kernels(tables, QWEN27)


def test_shapes_off_the_law_are_errors_where_they_are_held_out(tmp_path: Path) -> None:
    """The model's own shape, (24, 4), is number 3: it takes 1.3 times as long as the law of the others."""
    chosen = with_prefill(tmp_path, lambda shape: 1.3 if shape == 3 else 1.0)
    errors = held_out_errors(chosen["prefill"])
    assert errors.own == pytest.approx(1 - 1 / 1.3, rel=1e-4)
    assert errors.mape == pytest.approx(errors.own / errors.shapes, rel=1e-4)


def test_draws_spread_as_shapes_deviate_and_not_at_all_if_they_do_not(tmp_path: Path) -> None:
    exact = of(tmp_path)
    for k in (1, 2):
        for name, rates in drawn_rates(HYBRID, exact, k).items():
            assert rates == pytest.approx(KNOWN[name], rel=1e-3), name
    # Half of the shapes take 1.2 times as long: so do the model's kernels, in about half of the draws.
    chosen = with_prefill(tmp_path, lambda shape: 1.2 if shape % 2 else 1.0)
    drawn = [drawn_rates(HYBRID, chosen, k)["prefill"]["flop_per_s"] for k in range(1, 41)]
    fast = [rate for rate in drawn if rate > 500e12 / 1.1]
    assert 10 <= len(fast) <= 30
    assert np.median(fast) == pytest.approx(500e12, rel=0.03)
    assert np.median([rate for rate in drawn if rate not in fast]) == pytest.approx(500e12 / 1.2, rel=0.03)
    assert drawn_rates(HYBRID, chosen, 7) == drawn_rates(HYBRID, chosen, 7)


def test_resampled_fits_see_each_shape_as_often_as_it_is_drawn(tmp_path: Path) -> None:
    kernel = with_prefill(tmp_path, lambda shape: 1 + shape / 10)["prefill"]
    assert fit(kernel, [1, 0, 0, 0, 0, 0])["flop_per_s"] == pytest.approx(500e12, rel=1e-4)
    assert fit(kernel, [0, 0, 0, 0, 0, 2])["flop_per_s"] == pytest.approx(500e12 / 1.5, rel=1e-4)
    assert len({resampled(kernel, k)["flop_per_s"] for k in range(1, 9)}) == 8


def test_too_few_shapes_are_refused(tmp_path: Path) -> None:
    prefill = tmp_path / "few.csv"
    rows = [row for row in prefill_rows() if ",24,4,128," in row or ",8,1,128," in row]
    prefill.write_text("\n".join([PREFILL, *rows]))
    tables = read_tables([prefill, *(path for path in write_tables(tmp_path) if path.stem != "prefill")])
    with pytest.raises(InputError, match=r"few\.csv: .* has 2 shapes, of which 2 test the fit: too"):
        held_out_errors(kernels(tables, HYBRID)["prefill"])
