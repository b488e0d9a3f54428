"""Files of coefficients are written as they are read."""

from pathlib import Path

import pytest

from sim.base.shipped import shipped_root
from sim.hardware.coefficient_file import read_coefficient_file
from sim.hardware.coefficient_toml import rounded, to_toml, written

FILES = sorted((shipped_root() / "calibration").glob("*.toml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_shipped_file_comes_back_equal_to_four_digits(path: Path, tmp_path: Path) -> None:
    content = read_coefficient_file(path)
    again = tmp_path / "again.toml"
    again.write_text(to_toml(content, ["A line,", "", "another."]))
    assert again.read_text().startswith("# A line,\n#\n# another.\n\nmodel = ")
    found = read_coefficient_file(again)
    assert found.model_dump(exclude={"step", "frontend"}) == content.model_dump(exclude={"step", "frontend"})
    for name, entry in content.entries.items():
        assert found.entries[name].value == pytest.approx(entry.value, rel=5e-4), name
        assert found.entries[name].source == entry.source


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0s"),
        (0.0132, "13.2ms"),
        (562.54e-12, "562.5ps"),
        (0.99999, "1s"),
        (1e-6, "1us"),
        (1.5e-15, "0.0015ps"),
        (12.0, "12s"),
    ],
)
def test_times_have_the_unit_that_suits_them(seconds: float, text: str) -> None:
    assert written(seconds) == text


def test_numbers_are_rounded_to_four_digits() -> None:
    assert rounded(1.23456e-7) == 1.235e-7
