"""Shipped files are found by name, from a checkout and from a wheel."""

from pathlib import Path

import pytest

from sim.base.errors import InputError
from sim.base.shipped import (
    coefficients_named,
    coefficients_path,
    preset,
    preset_names,
    read_toml,
    scenario_names,
    scenario_path,
    shipped_root,
)

ROOT = Path(__file__).resolve().parents[2]


def test_a_checkout_uses_the_folders_beside_the_package() -> None:
    assert shipped_root() == ROOT
    assert coefficients_path("qwen3.8-27b-fp8_h100-80gb") == (
        ROOT / "calibration/qwen3.8-27b-fp8_h100-80gb.toml"
    )


def test_a_wheel_uses_the_folder_inside_the_package(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "sim"
    (package / "_shipped").mkdir(parents=True)
    assert shipped_root(package) == package / "_shipped"


def test_scenarios_are_listed_sorted_and_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "scenarios"
    folder.mkdir()
    for name in ("agg8.toml", "agg4.toml", "notes.md"):
        (folder / name).write_text("")
    monkeypatch.setattr("sim.base.shipped.shipped_root", lambda: tmp_path)
    assert scenario_names() == ["agg4", "agg8"]
    assert scenario_path("agg8") == folder / "agg8.toml"
    with pytest.raises(InputError, match=r"no scenario is called 'ag8'; did you mean 'agg8'\?"):
        scenario_path("ag8")


def test_presets() -> None:
    assert {"qwen3.8-27b-fp8", "qwen3-14b-bf16", "llama-3.1-8b-bf16"} <= set(preset_names("models"))
    assert preset_names("gpus") == ["a100-40gb", "a100-80gb", "b200", "h100-80gb", "h200-141gb", "l40s"]
    assert preset("gpus", "h100-80gb")["memory_bytes"] == "79.22GiB"


@pytest.mark.parametrize("name", ["qwen3.8-27b-fp9", "../gpus/h100-80gb", ""])
def test_an_unknown_preset_names_the_known_ones(name: str) -> None:
    with pytest.raises(
        InputError,
        match=r"no model is called .*known: .*llama-3\.1-8b-bf16, .*; for another, give",
    ):
        preset("models", name)


def test_coefficients_from_tables_stand_behind_all_others() -> None:
    assert coefficients_path("mine_h100-80gb") is None
    assert coefficients_path("qwen3-14b-bf16_h100-80gb-tp2") == (
        ROOT / "calibration/aic/qwen3-14b-bf16_h100-80gb-tp2-aic.toml"
    )
    assert coefficients_path("qwen3-14b-bf16_h100-80gb") == ROOT / "calibration/qwen3-14b-bf16_h100-80gb.toml"
    assert coefficients_named("qwen3-14b-bf16_h100-80gb-aic") == (
        ROOT / "calibration/aic/qwen3-14b-bf16_h100-80gb-aic.toml"
    )


def test_unreadable_toml_names_file_and_place(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: No such file"):
        read_toml(tmp_path / "none.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text('a = 1\nb = "open\n')
    with pytest.raises(InputError, match=r"broken\.toml: not a TOML file: .*line 2"):
        read_toml(broken)
