from pathlib import Path

import pytest

from sim.base.shipped import preset
from sim.hardware.coefficient_file import read_coefficient_file
from sim.hardware.model import ModelSettings
from tests.calibration.eager_file import FOLDER, NAME, text, unfused_bytes_per_token


def test_the_shipped_file_is_what_the_tables_of_the_larger_card_give() -> None:
    assert (FOLDER / f"{NAME}.toml").read_text(encoding="utf-8") == text()


def test_what_memory_bounds_takes_longer_on_the_slower_memory() -> None:
    shipped: Path = FOLDER / f"{NAME}.toml"
    here = read_coefficient_file(shipped).values
    tables = read_coefficient_file(FOLDER / "aic" / "qwen3-8b-bf16_a100-80gb-aic.toml").values
    for name in ("t_floor_s", "c_kv_s_per_token"):
        assert here[name] / tables[name] == pytest.approx(2.039 / 1.555, rel=1e-3)
    assert here["a_pair_s"] == tables["a_pair_s"]
    # 36 layers x 2 B: 32 + 8 heads of 128 read and written twice, 8 keys and 8 values read and written once.
    assert unfused_bytes_per_token(ModelSettings.model_validate(preset("models", "qwen3-8b-bf16"))) == (
        36 * 2 * (4 * 40 * 128 + 4 * 8 * 128)
    )
    # At 80 % of 1.555 TB/s; and 3.12 us of the tables' own at 1.311 times that.
    assert here["c_tok_s_per_token"] - tables["c_tok_s_per_token"] == pytest.approx(
        1_769_472 / (0.8 * 1.555e12) + 25.55e-3 / 8192 * (2.039 / 1.555 - 1), abs=0.01e-6
    )
