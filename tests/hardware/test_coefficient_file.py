"""Files of coefficients: what they may say, and the draws they allow."""

from pathlib import Path

import pytest

from sim.base.errors import InputError
from sim.base.shipped import shipped_root
from sim.hardware.coefficient_file import read_coefficient_file

TEXT = (shipped_root() / "calibration" / "qwen3.8-27b-fp8_h100-80gb.toml").read_text()
JOINT = """
[draws]
t_floor_s = ["12ms", "13ms", "14ms"]
c_step_s = ["2ms", "1ms", "0ms"]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "own.toml"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ('value = "13.2ms"', 'value = "13.2GB"'),
            "step.t_floor_s.value: '13.2GB' is not a time",
        ),
        (('value = "13.2ms"', 'value = "16ms"'), "value 0.016 lies outside of its range, 0.0115 to 0.015"),
        (('sigma = "4us"', "sigma = 0"), "step.c_tok_s_per_token.sigma = 0: must be greater than 0"),
        (("[step.t_floor_s]", "[step.t_flor_s]"), "t_floor_s is missing"),
        (
            ("value = 1.61\nrange = [1.3", "value = 0.5\nrange = [0.3"),
            "smooth_max_p = 0.5: must be greater",
        ),
        (
            ('origin = "prior"', 'origin = "guess"'),
            "origin = 'guess': must be 'fitted', 'prior' or 'aiconfigurator'",
        ),
        (('origin = "prior"', 'origin = "prior"\nfoo = 1'), "foo: unknown key"),
        (("source =", "sauce ="), "step.t_floor_s.source is missing"),
        (
            ("[step.t_floor_s]", "[[data]]\nfile = 'a'\nsha256 = 'b'\nrows = 1\n[step.t_floor_s]"),
            "data.0.sha256",
        ),
    ],
)
def test_damaged_files_are_named_with_the_key(file: Path, change: tuple[str, str], message: str) -> None:
    assert change[0] in TEXT
    file.write_text(TEXT.replace(*change))
    with pytest.raises(InputError, match=rf"own\.toml: .*{message}"):
        read_coefficient_file(file)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("c_step_s", "c_stop_s"), "draws: c_stop_s: no such coefficient"),
        (('"2ms", ', ""), "draws: the columns must be of one length"),
        (("t_floor_s", "smooth_max_p"), "smooth_max_p = .*: must be greater than or equal to 1"),
    ],
)
def test_damaged_joint_draws_are_refused(file: Path, change: tuple[str, str], message: str) -> None:
    file.write_text(TEXT + JOINT.replace(*change))
    with pytest.raises(InputError, match=message):
        read_coefficient_file(file)


def test_joint_draws_are_taken_row_by_row_and_the_others_one_by_one(file: Path) -> None:
    file.write_text(TEXT)
    alone = read_coefficient_file(file)
    file.write_text(TEXT + JOINT)
    joint = read_coefficient_file(file)
    for k, (t_floor_s, c_step_s) in enumerate(
        [(12e-3, 2e-3), (13e-3, 1e-3), (14e-3, 0.0), (12e-3, 2e-3)], start=1
    ):
        assert joint.drawn(k) == alone.drawn(k) | {"t_floor_s": t_floor_s, "c_step_s": c_step_s}
