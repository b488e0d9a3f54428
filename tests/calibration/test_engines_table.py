"""docs/engines.md is what the shipped files say."""

from tests.calibration.engines_table import FILE, table


def test_the_page_of_engines_is_as_the_files_are() -> None:
    assert FILE.read_text(encoding="utf-8") == table()
