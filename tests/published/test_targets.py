"""The rows of a target file."""

from pathlib import Path

import pytest

from sim.base.errors import InputError
from sim.published.cluster import read_cluster
from sim.published.targets import Band, Place, read_targets
from sim.scenario.load import load_scenario
from tests.published.files import HEAD, line, target, targets, write_targets


@pytest.mark.parametrize(
    ("columns", "band"),
    [
        ({"relation": "in", "low": "1.4", "high": "6.8"}, Band(1.4, 6.8)),
        ({"relation": "about", "low": "10", "high": "10", "tolerance": "0.3"}, Band(7.0, 13.0)),
        ({"relation": "at least", "low": "10", "high": ""}, Band(10.0, None)),
        ({"relation": "at most", "low": "", "high": "2.5"}, Band(None, 2.5)),
    ],
)
def test_what_a_row_may_be(columns: dict[str, str], band: Band) -> None:
    assert target(**columns).band == band


@pytest.mark.parametrize(
    ("band", "inside", "outside"),
    [
        (Band(1.0, 2.0), [1.0, 1.5, 2.0], [0.999, 2.001]),
        (Band(None, 2.0), [-5.0, 2.0], [2.001]),
        (Band(2.0, 2.0), [2.0], [1.999, 2.001]),
    ],
)
def test_both_ends_of_a_band_are_in_it(band: Band, inside: list[float], outside: list[float]) -> None:
    assert all(map(band.holds, inside))
    assert not any(map(band.holds, outside))


@pytest.mark.parametrize(
    ("first", "last", "counts"),
    [("4", "20", (4, 8, 12, 16, 20)), ("8", "8", (8,)), ("5", "13", (8, 12)), ("5", "7", ())],
)
def test_a_range_of_sessions_stands_for_its_multiples_of_four(
    first: str, last: str, counts: tuple[int, ...]
) -> None:
    assert target(sessions_min=first, sessions_max=last).levels == counts


def test_an_exception_is_a_configuration_with_a_session_count() -> None:
    row = target(configurations="1p3d 2p6d", **{"except": "1p3d@24"})
    assert not row.speaks_of(Place("1p3d", 24))
    assert row.speaks_of(Place("1p3d", 28))
    assert row.speaks_of(Place("2p6d", 24))


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"low": "much"}, "line 2: low = 'much': must be a valid number"),
        ({"kind": "guess"}, "line 2: kind = 'guess': must be 'static', 'dynamic' or 'information'"),
        ({"high": "nan"}, "line 2: high = 'nan': must be a finite number"),
        ({"low": "", "high": ""}, "a dynamic row needs low or high"),
        ({"configurations": ""}, "a dynamic row needs configurations"),
        ({"configurations": "agg5"}, "line 2: configurations = agg5: no scenario; did you mean 'agg"),
        ({"metric": "ttft_s.p51"}, "line 2: metric ttft_s.p51: no number of the summary has this name"),
        ({"metric": "ttft_s"}, "line 2: metric ttft_s: is a table; give one of its numbers: "),
        ({"combine": "difference"}, "combine = difference takes two configurations"),
        ({"sessions_min": "0"}, "line 2: sessions_min = '0': must be greater than 0"),
        ({"sessions_min": "5", "sessions_max": "7"}, "must have a multiple of 4 between them"),
        ({"replay": "closed"}, "line 2: replay = 'closed': must be one of open-loop, max-concurrency, turn-"),
        ({"except": "agg4@5"}, "line 2: except = agg4@5: no place of the row; did you mean 'agg4@4'?"),
        ({"except": "agg4@4"}, "line 2: except = agg4@4: leaves no place of the row"),
        ({"low": "3"}, "line 2: low = 3 is above high = 2"),
        ({"note": "a,b"}, "line 2: more cells than the 18 columns of the first line"),
    ],
)
def test_a_wrong_row_is_refused_with_its_line(tmp_path: Path, columns: dict[str, str], says: str) -> None:
    with pytest.raises(InputError) as raised:
        targets(tmp_path, line(**columns))
    assert str(raised.value).startswith(f"{tmp_path / 'targets.csv'}: line 2: ")
    assert says in str(raised.value)


def test_a_file_without_rows_or_with_one_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no row"):
        targets(tmp_path)
    with pytest.raises(InputError, match="id = row: is there twice"):
        targets(tmp_path, line(), line(low="0.5"))
    with pytest.raises(InputError, match="No such file"):
        read_targets(tmp_path / "none.csv")
    with pytest.raises(InputError, match=r"line 2: metric is missing"):
        read_targets(write_targets(tmp_path, "row,dynamic"))
    (tmp_path / "latin.csv").write_bytes(HEAD.encode() + b"\n\xff")
    with pytest.raises(InputError, match=r"latin\.csv: not a CSV file in UTF-8"):
        read_targets(tmp_path / "latin.csv")


def test_the_shipped_rows() -> None:
    file = read_cluster("talk").targets
    assert len(file.of_kind("static")) == 11
    assert len(file.of_kind("dynamic")) == 20
    fitted = {row.id: row for row in file.rows if row.fitted}
    # What ran on two nodes is predicted, never fitted.
    for row in fitted.values():
        for name in row.configurations:
            assert load_scenario(name).workers.gpus == 4, row.id
    assert len(fitted) == 7
    for row in file.of_kind("dynamic"):
        assert row.levels, row.id
