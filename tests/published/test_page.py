"""The page and the pictures of a published cluster."""

from pathlib import Path
from xml.etree import ElementTree

from sim.published.page import render_page
from sim.published.quantity_plots import quantities, write_quantities
from sim.published.result import Result
from sim.published.scores import RowScore, score_values
from sim.published.sets import replicates
from sim.published.study import GENERATED, Study, Workload
from tests.published.test_verdicts import CLUSTER, EXACT, ROWS, scored


def several(name: str, factors: list[float]) -> RowScore:
    """A row whose runs are so many times what is printed."""
    return score_values(ROWS[name], lambda cell: [EXACT[name] * factor for factor in factors], "made")


def result(rows: list[RowScore]) -> Result:
    """What the page is made of."""
    plans = CLUSTER.plans([Workload(GENERATED, replicates(2, 0))], ())
    static = tuple(CLUSTER.static_scores())
    return Result(CLUSTER, static, {GENERATED: tuple(rows)}, Study(plans, []), ("a note",))


def test_there_is_a_picture_for_each_quantity(tmp_path: Path) -> None:
    rows = [several(name, [0.9, 1.0, 1.2]) for name in EXACT]
    paths = write_quantities(CLUSTER.settings, rows, tmp_path)
    assert [path.name for path in paths.values()] == ["ttft_s.p50.svg", "hit_share.svg", "itl_s.p99.9.svg"]
    assert [len(quantity.rows) for quantity in paths] == [4, 2, 1]
    for path in paths.values():
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
        assert path.stat().st_size < 200_000


def test_pictures_of_the_same_numbers_are_the_same(tmp_path: Path) -> None:
    rows = [several(name, [1.0, 1.1]) for name in EXACT]
    first = [path.read_bytes() for path in write_quantities(CLUSTER.settings, rows, tmp_path / "a").values()]
    again = [path.read_bytes() for path in write_quantities(CLUSTER.settings, rows, tmp_path / "b").values()]
    assert first == again


def test_what_has_no_number_or_no_level_is_drawn(tmp_path: Path) -> None:
    rows = scored(rr_ttft_2=None, kv_tail_4=None)
    flat = [
        RowScore(row.target.model_copy(update={"level": None}), row.workload, row.cells) for row in rows[4:]
    ]
    paths = write_quantities(CLUSTER.settings, [*rows[:4], *flat], tmp_path)
    assert [quantity.leveled for quantity in paths] == [True, False, False]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in paths.values())


def test_the_page_says_all_of_a_cluster(tmp_path: Path) -> None:
    rows = scored(kv_ttft_2=5.0, kv_tail_4=None)
    page = render_page(result(rows))
    for text in (
        "<h1>Two workers, made up for tests</h1>",
        "6 of 8 rows within tolerance",
        "2 of 3 A/B signs right",
        "Source: nobody; the figures were made up",
        "Two workers behind a router.",
        "The sessions are those of kct, two turns each.",
        '<td class="missed">no number</td>',
        '<td class="missed">wrong</td>',
        "KV router (fitted)",
        "Tolerance: one run",
        "a note",
    ):
        assert text in page, text
    assert page.count("data:image/svg+xml;base64,") == 2 * len(quantities(rows)) == 6
    assert "http" not in page.replace('http-equiv="', "")


def test_columns_that_hold_nothing_are_left_out(tmp_path: Path) -> None:
    leveled = scored()
    flat = [
        RowScore(row.target.model_copy(update={"level": None}), row.workload, row.cells) for row in leveled
    ]
    for rows, there in ((leveled, True), (flat, False)):
        page = render_page(result(rows))
        assert ('<th scope="col">sessions in flight</th>' in page) is there
