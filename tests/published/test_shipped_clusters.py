"""What is stored of shipped clusters is of their rows and variants as they are today."""

import pytest

from sim.base.shipped import published_names
from sim.published.cluster import read_cluster
from sim.published.stored import read_stored, stored_file

NAMES = published_names()


@pytest.mark.parametrize("name", NAMES)
def test_stored_results_are_of_todays_rows_and_variants(name: str) -> None:
    cluster = read_cluster(name)
    assert stored_file(cluster) is not None, f"run sim validate published {name} --out"
    assert not read_stored(cluster).differing


@pytest.mark.parametrize("name", NAMES)
def test_stored_verdicts_are_those_of_the_numbers(name: str) -> None:
    stored = read_stored(read_cluster(name))
    for row in stored.dynamic:
        for score in row.cells:
            assert score.holds == (score.off <= 0), (row.target.id, score.cell.place)
    for static in stored.static:
        assert static.target.band.holds(static.value) is static.holds


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_cluster_says_where_it_is_from(name: str) -> None:
    settings = read_cluster(name).settings
    assert settings.source
    assert settings.heading != settings.name, "needs a title"
    assert settings.hardware
