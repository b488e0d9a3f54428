"""The shipped coefficients: for the models they hold for, within their ranges, near what was measured."""

import csv
from math import inf
from pathlib import Path
from statistics import fmean

import pytest

from sim.base.errors import InputError
from sim.base.shipped import preset, shipped_root
from sim.hardware.coefficient_file import FrontendCoefficients, file_name, read_coefficient_file
from sim.hardware.coefficients import coefficients, peak_roofline_coefficients, times
from sim.hardware.model import GpuSettings, ModelSettings
from sim.hardware.parallel import Parallel
from sim.hardware.step_time import StepCoefficients, StepLaw, roofline

QWEN27 = ModelSettings.model_validate(preset("models", "qwen3.8-27b-fp8"))
QWEN14 = ModelSettings.model_validate(preset("models", "qwen3-14b-bf16"))
LLAMA8 = ModelSettings.model_validate(preset("models", "llama-3.1-8b-bf16"))
H100 = GpuSettings.model_validate(preset("gpus", "h100-80gb"))
FILES = sorted((shipped_root() / "calibration").glob("*.toml"))
MEASURED = Path(__file__).resolve().parents[3] / "shared" / "calibration"


def test_priors_of_the_talks_model() -> None:
    found = coefficients(QWEN27, H100)
    assert found.origin == "prior"
    assert found.step == StepCoefficients(
        t_floor_s=13.2e-3,
        c_tok_s_per_token=49e-6,
        smooth_max_p=1.61,
        a_pair_s=750e-12,
        c_kv_s_per_token=23.3e-9,
        c_seq_s=0.12e-3,
        c_pf_s=3.8e-3,
        c_step_s=0.0,
    )
    assert found.frontend == FrontendCoefficients(
        alpha_in_s=18e-3, alpha_in_s_per_token=1e-6, alpha_out_s=1e-3
    )


OFF_UNLESS_GIVEN = {"tile_tokens", "c_mixed_s_per_token", "t_launch_s"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_entry_has_a_source_and_lies_in_its_range(path: Path) -> None:
    content = read_coefficient_file(path)
    named = f"{content.model}_{content.gpu}"
    assert path.stem == named or path.stem.startswith(f"{named}-")
    preset("models", content.model)
    preset("gpus", content.gpu)
    assert set(content.step) | OFF_UNLESS_GIVEN == set(StepCoefficients.model_fields)
    assert set(content.frontend) == set(FrontendCoefficients.model_fields)
    assert all(len(entry.source) > 5 for entry in content.entries.values())


def test_the_fit_of_the_14b_model_holds_what_kernels_tell() -> None:
    found, kernels = (
        coefficients(QWEN14, H100),
        coefficients(QWEN14, H100, "qwen3-14b-bf16_h100-80gb-kernels"),
    )
    assert (found.origin, kernels.origin) == ("fitted", "prior")
    for name in ("t_floor_s", "a_pair_s", "c_kv_s_per_token", "smooth_max_p"):
        assert getattr(found.step, name) == getattr(kernels.step, name)
    # Dense layers of an engine reach less than their matrix products alone: 660 TFLOP/s of 989.
    assert found.step.c_tok_s_per_token == pytest.approx(QWEN14.flop_per_token / 660e12, rel=1e-2)
    assert found.step.tile_tokens == 128


def test_without_a_file_the_roofline_is_taken_and_said() -> None:
    mine = LLAMA8.model_copy(update={"name": "mine"})
    found = coefficients(mine, H100)
    assert found.origin == "roofline"
    assert found.step == roofline(mine, H100)
    assert "no coefficients for mine on h100-80gb" in found.summary
    assert found.file is None
    with pytest.raises(InputError, match="no ranges to draw coefficients from: roofline"):
        found.drawn(1)


@pytest.mark.parametrize(
    ("model", "gpu", "named"),
    [
        ({"kv_dtype": "bf16"}, {}, "kv_dtype = bf16"),
        ({"hidden_size": 4096}, {}, "hidden_size = 4096"),
        ({}, {"memory_bandwidth_bytes_per_s": 4.8e12}, "memory_bandwidth_bytes_per_s = 4800000000000.0"),
    ],
)
def test_coefficients_do_not_outlive_the_shape_they_were_made_for(
    model: dict[str, object], gpu: dict[str, object], named: str
) -> None:
    found = coefficients(QWEN27.model_copy(update=model), H100.model_copy(update=gpu))
    assert found.origin == "roofline"
    assert named in found.summary


@pytest.mark.parametrize(
    ("model", "gpu"),
    [
        ({"max_model_len": 1_048_576, "weights_loaded_bytes": None}, {}),
        (
            {"vision_params": 0, "tied_embeddings": True, "peak_activation_bytes": 1, "cuda_graphs_bytes": 1},
            {},
        ),
        ({}, {"memory_bytes": 141 * 10**9, "cuda_context_bytes": 0}),
        ({}, {"achieved": H100.achieved.model_copy(update={"bf16_dense": 0.1})}),  # of a model in FP8
    ],
)
def test_settings_without_effect_on_time_keep_the_coefficients(
    model: dict[str, object], gpu: dict[str, object]
) -> None:
    found = coefficients(QWEN27.model_copy(update=model), H100.model_copy(update=gpu))
    assert found == coefficients(QWEN27, H100)
    assert found.origin == "prior"


def test_two_changes_do_not_make_up_for_each_other() -> None:
    """Half the heads of twice the width: as many operations, and yet another kernel."""
    heads = {"attention_heads": QWEN27.attention_heads // 2, "head_dim": QWEN27.head_dim * 2}
    found = coefficients(QWEN27.model_copy(update=heads), H100)
    assert found.origin == "roofline"
    assert "attention_heads" in found.summary
    assert "head_dim" in found.summary


def test_a_file_from_tables_stands_in_for_a_roofline_and_no_other() -> None:
    found = coefficients(LLAMA8, H100)
    assert found.origin == "aiconfigurator"
    assert found.table is not None
    assert found == coefficients(LLAMA8, H100, "llama-3.1-8b-bf16_h100-80gb-aic")
    assert (coefficients(QWEN14, H100).origin, coefficients(QWEN27, H100).origin) == ("fitted", "prior")
    assert coefficients(QWEN14, H100).table is None
    assert times(LLAMA8, H100, "dynamo-mocker", None).table is None


def test_coefficients_are_of_one_parallel_size() -> None:
    two, three = (coefficients(QWEN14, H100, parallel=Parallel(tensor=n)) for n in (2, 3))
    assert (two.origin, three.origin) == ("aiconfigurator", "roofline")
    assert "no coefficients for qwen3-14b-bf16 on h100-80gb (tp3)" in three.summary
    assert two.step.t_floor_s < 0.7 * coefficients(QWEN14, H100).step.t_floor_s
    with pytest.raises(
        InputError, match=r"is of qwen3-14b-bf16 on h100-80gb \(tp2\), and the scenario has .* on h100-80gb$"
    ):
        coefficients(QWEN14, H100, "qwen3-14b-bf16_h100-80gb-tp2-aic")


def test_ranks_of_a_dense_model_take_the_times_of_one() -> None:
    gpu = GpuSettings.model_validate(preset("gpus", "h100-80gb"))
    dense = ModelSettings.model_validate(preset("models", "qwen3-8b-bf16"))
    for one in (Parallel(), Parallel(tensor=2)):
        alone = coefficients(dense, gpu, parallel=one)
        assert alone.origin == "aiconfigurator"
        assert coefficients(dense, gpu, parallel=one._replace(data=4)) == alone
    named = coefficients(dense, gpu, "qwen3-8b-bf16_h100-80gb-tp2-aic", Parallel(tensor=2, data=2))
    assert named.step == coefficients(dense, gpu, parallel=Parallel(tensor=2)).step
    experts = ModelSettings.model_validate(preset("models", "qwen3-30b-a3b-bf16"))
    assert coefficients(experts, gpu, parallel=Parallel(data=2)).origin == "roofline"


@pytest.mark.parametrize(
    ("parallel", "name"),
    [
        (Parallel(), "m_g"),
        (Parallel(tensor=2), "m_g-tp2"),
        (Parallel(tensor=4, pipeline=2, data=8, expert=True), "m_g-tp4-pp2-dp8-ep"),
        (Parallel(expert=True), "m_g-ep"),
    ],
)
def test_files_are_named_after_parallel_sizes(parallel: Parallel, name: str) -> None:
    assert file_name("m", "g", parallel) == name


# A file of one's own


def test_a_file_is_named_as_it_is_shipped_or_by_its_path(tmp_path: Path) -> None:
    copy = tmp_path / "own.toml"
    copy.write_bytes((shipped_root() / "calibration" / "qwen3.8-27b-fp8_h100-80gb.toml").read_bytes())
    by_name = coefficients(QWEN27, H100, "qwen3.8-27b-fp8_h100-80gb")
    assert by_name == coefficients(QWEN27, H100, str(copy)) == coefficients(QWEN27, H100)


@pytest.mark.parametrize(
    ("model", "file", "message"),
    [
        (QWEN27, "qwen3-14b-bf16_h100", "no file of coefficients is called .* 'qwen3-14b-bf16_h100-80gb'"),
        (
            QWEN27,
            "qwen3-14b-bf16_h100-80gb",
            "is of qwen3-14b-bf16 on h100-80gb, and the scenario has qwen3.8",
        ),
        (QWEN27, "none.toml", r"none\.toml: No such file"),
        (
            QWEN27.model_copy(update={"kv_dtype": "bf16"}),
            "qwen3.8-27b-fp8_h100-80gb",
            "do not hold for kv_dtype = bf16; leave the file out for a roofline",
        ),
    ],
)
def test_a_file_that_does_not_fit_is_refused(model: ModelSettings, file: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        coefficients(model, H100, file)


# Draws and baselines


def test_a_draw_moves_every_coefficient_within_its_range() -> None:
    found = coefficients(QWEN27, H100)
    assert found.file
    drawn = [found.drawn(k) for k in (1, 2)]
    for name, entry in found.file.entries.items():
        first, second = (getattr(one.step, name, getattr(one.frontend, name, None)) for one in drawn)
        assert entry.range[0] <= first <= entry.range[1]
        assert first != second or entry.range[0] == entry.value
    assert drawn[0] == found.drawn(1)


def test_the_peak_roofline_is_the_datasheet_and_nothing_else() -> None:
    found = peak_roofline_coefficients(QWEN14, H100)
    assert found.step == StepCoefficients(
        t_floor_s=QWEN14.step_weights_bytes / 3.35e12,
        c_tok_s_per_token=QWEN14.flop_per_token / 989e12,
        smooth_max_p=inf,
        a_pair_s=QWEN14.attention_flop_per_pair / 989e12,
        c_kv_s_per_token=QWEN14.kv_bytes_per_token / 3.35e12,
    )
    assert set(found.frontend.model_dump().values()) == {0.0}
    law = StepLaw(found.step)
    for prefill, decodes, context in (([(100, 0)], 0, 0), ([(8000, 9000)], 3, 3000), ([], 64, 64_000)):
        tokens = sum(new for new, _ in prefill) + decodes
        longer = max(found.step.t_floor_s, found.step.c_tok_s_per_token * tokens)
        attention = found.step.c_kv_s_per_token * context
        attention += found.step.a_pair_s * sum(new * (prefix + new / 2) for new, prefix in prefill)
        assert law.step_s(prefill, decodes, context) == pytest.approx(longer + attention, rel=1e-12)


# Against measurements


@pytest.mark.skipif(not MEASURED.is_dir(), reason="measured data is not beside the repository")
@pytest.mark.parametrize("file", [None, "qwen3-14b-bf16_h100-80gb-kernels"])
def test_14b_law_against_measured_gaps_between_tokens(file: str | None) -> None:
    """Real vLLM 0.23 on an H100, 1 to 8 decoding requests of about 1,075 tokens: within 5 %."""
    law = StepLaw(coefficients(QWEN14, H100, file).step)
    with (MEASURED / "h100_vllm023_qwen3_14b_itl_vs_batch.csv").open() as gaps:
        rows = [row for row in csv.DictReader(gaps) if int(row["decoding_requests"]) <= 8]
    for row in rows:
        batch = int(row["decoding_requests"])
        assert law.step_s([], batch, 1075 * batch) * 1e3 == pytest.approx(float(row["itl_p50_ms"]), rel=0.05)
    assert len(rows) == 32


@pytest.mark.skipif(not MEASURED.is_dir(), reason="kernel composition is not beside the repository")
def test_the_form_of_the_law_follows_a_composition_of_measured_kernels() -> None:
    """With coefficients fitted to that composition the law is within 1.5 % of it over the whole grid."""
    law = StepLaw(
        StepCoefficients(
            t_floor_s=14.2163e-3,
            c_tok_s_per_token=45.2742e-6,
            smooth_max_p=1.6113,
            a_pair_s=895.016e-12,
            c_kv_s_per_token=23.2669e-9,
            c_seq_s=117.324e-6,
            c_pf_s=0.29898e-3,
        )
    )
    errors = []
    with (MEASURED / "qwen35_27b_h100_step_grid_PREDICTED.csv").open() as file:
        for row in csv.DictReader(file):
            if row["kv_dtype"] != "fp8":
                continue
            batch, context = int(row["batch"]), int(row["context_len"])
            chunk = [(int(row["new_tokens"]), int(row["cached_prefix_tokens"]))]
            took = law.step_s(chunk if row["kind"] == "prefill" else [], batch, batch * context)
            errors.append(abs(took * 1e3 / float(row["step_ms_predicted"]) - 1))
    assert len(errors) == 171
    assert fmean(errors) < 0.015
