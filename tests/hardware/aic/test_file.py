"""Files from AIConfigurator: what they say, that they are kept, and what is refused."""

import os
from pathlib import Path

import pytest

from sim.base.errors import InputError
from sim.base.shipped import preset
from sim.hardware.aic import file as aic_file
from sim.hardware.aic import library
from sim.hardware.aic.asked import Asked, asked
from sim.hardware.aic.cache import cache_folder, fingerprint
from sim.hardware.aic.file import aic_coefficients
from sim.hardware.coefficient_toml import to_toml
from sim.hardware.coefficients import times
from sim.hardware.model import GpuSettings, ModelSettings
from sim.hardware.parallel import ONE_GPU, Parallel
from tests.hardware.aic.made_up import MadeUp

LLAMA8 = ModelSettings.model_validate(preset("models", "llama-3.1-8b-bf16"))
QWEN27 = ModelSettings.model_validate(preset("models", "qwen3.8-27b-fp8"))
H100 = GpuSettings.model_validate(preset("gpus", "h100-80gb"))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Asked]:
    """Put the made-up library in place; what it was asked for."""
    seen: list[Asked] = []

    def open_made_up(question: Asked) -> MadeUp:
        seen.append(question)
        return MadeUp()

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(aic_file, "opened", open_made_up)
    monkeypatch.setattr(aic_file, "installed_version", lambda: "0.12.0")
    return seen


def test_the_file_says_what_it_rests_on(opened: list[Asked]) -> None:
    found = aic_coefficients(LLAMA8, H100, Parallel(tensor=2))
    assert (found.model, found.gpu, found.parallel.parallel) == (LLAMA8.name, H100.name, Parallel(tensor=2))
    assert found.origin == "aiconfigurator"
    assert found.summary.startswith(
        "kernel tables of AIConfigurator 0.12.0 (h100_sxm, weights bfloat16, kv bfloat16), nothing fitted"
    )
    assert "of a chunk on 64K and 100% of a decode step" in found.summary
    assert "% (prefill)" in found.summary
    # Scaled by 30 %, measured by 10 %.
    a_pair, c_kv = found.step["a_pair_s"], found.step["c_kv_s_per_token"]
    assert a_pair.range == pytest.approx((a_pair.value / 1.3, a_pair.value * 1.3), rel=0.02)
    assert c_kv.range == pytest.approx((c_kv.value / 1.1, c_kv.value * 1.1), rel=1e-3)
    assert len(to_toml(found, [])) < 6000


def test_fp8_weights_may_be_slower_to_read_with_block_scales(opened: list[Asked]) -> None:
    floor = aic_coefficients(QWEN27, H100, ONE_GPU).step["t_floor_s"]
    assert floor.range[1] == pytest.approx(1.3 * floor.value, rel=1e-3)
    assert "block scales" in floor.source


def test_a_law_is_kept_and_comes_back_bit_for_bit(opened: list[Asked]) -> None:
    first = aic_coefficients(LLAMA8, H100, ONE_GPU)
    assert aic_coefficients(LLAMA8, H100, ONE_GPU) == first
    assert len(opened) == 1
    aic_coefficients(LLAMA8, H100, Parallel(tensor=2))
    assert len(opened) == 2
    assert [path.suffix for path in cache_folder().iterdir()] == [".toml", ".toml"]


def test_a_damaged_one_is_made_anew(opened: list[Asked]) -> None:
    first = aic_coefficients(LLAMA8, H100, ONE_GPU)
    (path,) = cache_folder().iterdir()
    whole = path.read_text()
    path.write_text(whole[:200])
    assert aic_coefficients(LLAMA8, H100, ONE_GPU) == first
    assert len(opened) == 2
    assert path.read_text() == whole


def test_where_none_can_be_kept_it_is_made_each_time(
    opened: list[Asked], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    first = aic_coefficients(LLAMA8, H100, ONE_GPU)
    assert aic_coefficients(LLAMA8, H100, ONE_GPU) == first
    assert len(opened) == 2


def test_a_relative_cache_folder_counts_as_unset(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == Path(os.environ["HOME"]) / ".cache" / "kv-routing-sim" / "aic"
    assert fingerprint(1, "a") == fingerprint(1, "a") != fingerprint(1, "b")


def test_the_preset_takes_them_with_their_table(opened: list[Asked]) -> None:
    found = times(LLAMA8, H100, "aiconfigurator", None)
    assert found.origin == "aiconfigurator"
    assert found.table is not None
    assert found.file is not None
    drawn = found.drawn(1)
    assert drawn.step != found.step
    assert drawn.table == found.table


def test_tables_do_not_follow_every_change(opened: list[Asked]) -> None:
    """A dense shape of one's own is asked for as it is; a faster GPU or another hybrid is not."""
    assert times(LLAMA8.model_copy(update={"intermediate_size": 8192}), H100, "aiconfigurator", None).file
    assert times(QWEN27.model_copy(update={"kv_dtype": "bf16"}), H100, "aiconfigurator", None).file
    assert times(LLAMA8, H100.model_copy(update={"memory_bytes": 2**37}), "aiconfigurator", None).file
    for model, gpu, key in (
        (LLAMA8, H100.model_copy(update={"memory_bandwidth_bytes_per_s": 4e12}), "memory_bandwidth"),
        (QWEN27.model_copy(update={"intermediate_size": 8192}), H100, "intermediate_size = 8192"),
    ):
        with pytest.raises(InputError, match=f"has no tables for {key}.*; leave timing.preset out"):
            times(model, gpu, "aiconfigurator", None)


def test_without_the_extra_a_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "PACKAGE", "no-such-package-anywhere")
    with pytest.raises(InputError, match=r"needs the extra \[aic\]: pip install"):
        times(LLAMA8, H100, "aiconfigurator", None)


def test_what_the_library_raises_becomes_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(aic_file, "installed_version", lambda: "0.12.0")

    def refuse(question: Asked) -> MadeUp:
        raise RuntimeError("MoE data missing for\n  MoeKey")

    monkeypatch.setattr(aic_file, "opened", refuse)
    with pytest.raises(InputError) as caught:
        aic_coefficients(LLAMA8, H100, Parallel(tensor=4))
    assert str(caught.value).startswith(
        "AIConfigurator has no step times of 32 layers of 4096 (tp_size = 4, gemm_quant_mode = bfloat16, "
        "kvcache_quant_mode = bfloat16) on h100_sxm: MoE data missing for MoeKey; choose another format"
    )
    assert not list(tmp_path.iterdir())


def test_the_real_library_gives_the_shipped_numbers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("aiconfigurator_core", reason="the extra [aic] is not installed")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    question = asked(LLAMA8, H100, ONE_GPU)
    assert question.experts is False
    made = times(LLAMA8, H100, "aiconfigurator", None)
    shipped = times(LLAMA8, H100, None, "llama-3.1-8b-bf16_h100-80gb-aic")
    assert made.step.t_floor_s == pytest.approx(shipped.step.t_floor_s, rel=0.02)
    assert made.step.a_pair_s == pytest.approx(shipped.step.a_pair_s, rel=0.02)
