"""Models by their names on Hugging Face: presets first, then what AIConfigurator's core brings along."""

import json
from pathlib import Path

import pytest

from sim.base.errors import InputError
from sim.hardware.hf import names
from sim.hardware.model import ModelSettings
from sim.hardware.presets import resolve
from sim.scenario.load import load_scenario
from tests.hardware.hf.test_architectures import PLAIN
from tests.hardware.models import shipped


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package like the library's, with one model."""
    folder = tmp_path / "site" / "aic_like" / "model_configs"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "Own--Model-7B-Instruct_config.json").write_text(json.dumps(PLAIN))
    (folder / "Own--Model-7B-Instruct_hf_quant_config.json").write_text(json.dumps({"quant_algo": "FP8"}))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setattr(names, "PACKAGE", "aic_like")
    return folder


@pytest.mark.parametrize(
    ("name", "preset"),
    [
        ("Qwen/Qwen3-32B", "qwen3-32b-bf16"),
        ("Qwen/Qwen3-32B-FP8", "qwen3-32b-fp8"),
        ("meta-llama/Llama-3.1-70B-Instruct", "llama-3.1-70b-bf16"),
        ("openai/gpt-oss-120b", "gpt-oss-120b"),
        ("deepseek-ai/DeepSeek-V3", "deepseek-v3"),
    ],
)
def test_a_preset_is_found_by_the_name(name: str, preset: str) -> None:
    assert ModelSettings.model_validate(resolve("models", name)) == shipped(preset)
    assert (
        ModelSettings.model_validate(resolve("models", {"preset": name, "kv_dtype": "fp8"})).kv_dtype == "fp8"
    )


def test_another_model_is_found_in_the_library(library: Path) -> None:
    assert [*names.configurations()] == ["Own/Model-7B-Instruct"]
    model = ModelSettings.model_validate(resolve("models", "Own/Model-7B"))
    assert (model.name, model.hf_id) == ("model-7b-instruct", "Own/Model-7B-Instruct")
    assert (model.hidden_size, model.weights_dtype) == (4096, "fp8")


def test_a_model_that_nobody_knows_names_the_nearest(library: Path) -> None:
    with pytest.raises(InputError, match="of the model 'Own/Model-8B'; did you mean 'Own/Model-7B-Instruct'"):
        resolve("models", "Own/Model-8B")


def test_without_the_library_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "PACKAGE", "nothing_like_it")
    with pytest.raises(InputError, match=r"not installed: pip install 'kv-routing-sim\[aic\]', or give"):
        resolve("models", "Own/Model-7B")


@pytest.mark.parametrize("text", ["a.json", "qwen3", "/a/b", "a/b/c", "./a", "../a", "a/", "/a", "~/a"])
def test_paths_and_presets_are_no_names(text: str) -> None:
    assert not names.is_name(text)


def test_a_folder_with_a_configuration_is_one(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(PLAIN | {"_name_or_path": "Own/Model"}))
    model = ModelSettings.model_validate(resolve("models", str(folder)))
    assert (model.name, model.hf_id) == ("own", "Own/Model")


def test_a_scenario_written_out_keeps_the_name_and_says_it_only_where_it_must(library: Path) -> None:
    shipped_one = load_scenario("qwen14b-agg4")
    assert shipped_one.model.hf_id == "Qwen/Qwen3-14B"
    assert "hf_id" not in shipped_one.to_dict()["model"]
    own = load_scenario("qwen14b-agg4", ["model=Own/Model-7B"])
    written = own.to_dict()["model"]
    assert written["hf_id"] == "Own/Model-7B-Instruct"
    assert {"gated_mlp", "layer_pattern", "mtp_layers"}.isdisjoint(written)
    for scenario in (shipped_one, own):
        assert type(scenario).model_validate(scenario.to_dict()).model == scenario.model
