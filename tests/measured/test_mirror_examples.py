"""Which values of a mirrored scenario nothing told, as its own comments say."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from sim.cli import app
from sim.measured.mirror.toml import still_examples


def mirrored(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["init", *arguments])
    assert result.exit_code == 0, result.stderr
    return result.stdout


OPEN = ("--engine", "vllm serve m")
TOLD = ("--engine", "vllm serve Qwen/Qwen3-14B", "--gpu", "h100-80gb")


def test_an_example_is_one_until_a_value_takes_its_place(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(mirrored(*OPEN), encoding="utf-8")
    assert still_examples(path) == ["gpu", "model.preset"]
    own = mirrored(*OPEN).replace('gpu = "h100-80gb"  # not told: an example', 'gpu = "h200-141gb"')
    path.write_text(own, encoding="utf-8")
    assert still_examples(path) == ["model.preset"]
    path.write_text(mirrored(*TOLD), encoding="utf-8")
    assert still_examples(path) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        'gpu = "h100-80gb"\nmodel = "mine"  # a model\n',
        '[gpu]\nname = "mine"\n[model]\nname = "mine"\n',
        'model.preset = "qwen3-8b-bf16"\ngpu = "h100-80gb"\nmodel.dtype = "bf16"\n',
    ],
)
def test_a_file_of_ones_own_has_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.toml"
    path.write_text(text, encoding="utf-8")
    assert still_examples(path) == []
