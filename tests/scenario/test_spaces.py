"""Ranges to choose from, and points of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.base.errors import InputError
from sim.scenario.points import Axis
from sim.scenario.scenario import Scenario
from sim.scenario.spaces import Space, read_space, sobol_points

SCHEMA = Scenario.model_json_schema()
CREDIT, SESSIONS = "router.overlap_score_credit", "workload.sessions"


def read(text: str) -> Space | None:
    return read_space(text, SCHEMA, "--set")


@pytest.mark.parametrize(
    ("text", "values"),
    [  # at 0, 0.3, 0.5 and just below 1
        ("router.overlap_score_credit=0:2", ["0", "0.6", "1", "2"]),
        ("router.overlap_score_credit=0:2:0.25", ["0", "0.5", "1", "2"]),
        ("router.prefill_load_scale=0.5:8:log", ["0.5", "1.149", "2", "8"]),
        ("router.prefill_load_scale = 1 : 1.5 : 0.1", ["1", "1.1", "1.3", "1.5"]),
        ("workload.sessions=12:28", ["12", "17", "20", "28"]),
        ("workload.sessions=12:28:8", ["12", "12", "20", "28"]),
        ("workload.sessions=1:64:log", ["1", "3", "8", "64"]),
        ("engine.kv_blocks=1000:2000", ["1000", "1300", "1500", "2000"]),
        ("offload.cpu_bytes=1000000:9000000", ["1000000", "3400000", "5000000", "9000000"]),
    ],
)
def test_values_along_a_range(text: str, values: list[str]) -> None:
    space = read(text)
    assert space is not None
    assert [space.at(share) for share in (0.0, 0.3, 0.5, 0.9999999)] == values


@pytest.mark.parametrize(
    "text",
    [
        "router.policy=kv",
        f"{SESSIONS}=12,20",
        f"{CREDIT}=1",
        f"{CREDIT}=0:inf",
        "workload.path=a:b",
        "title=1:2:x",
    ],
)
def test_other_values_are_no_ranges(text: str) -> None:
    assert read(text) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{CREDIT}=2:0", "--set router.overlap_score_credit=2:0: holds no values"),
        (f"{CREDIT}=0:2:0", "holds no values"),
        (f"{CREDIT}=0:2:log", "a logarithmic range begins above 0, not at 0"),
        (f"{CREDIT}=0:1e400", "numbers other than 0 are from 1E-9 to "),
        (f"{CREDIT}=0:1:1e-300", "numbers other than 0 are from 1E-9 to "),
        (f"{CREDIT}=0:1:2", "holds no values"),
        (f"{SESSIONS}=1.5:4", "workload.sessions takes whole numbers only"),
        (f"{SESSIONS}=1:4:0.5", "takes whole numbers only"),
        ("router.overlap=0:2", "unknown key"),
    ],
)
def test_a_range_without_an_inside_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        read(text)


@given(
    low=st.floats(0.001, 1e6),
    width=st.floats(1.01, 1e6),
    share=st.floats(0, 1, exclude_max=True),
    logarithmic=st.booleans(),
)
def test_values_stay_in_the_range(low: float, width: float, share: float, logarithmic: bool) -> None:
    space = Space("a.b", low, low * width, None, logarithmic)
    assert low <= float(space.at(share)) <= low * width


def test_a_range_ends_where_its_steps_do() -> None:
    assert [read(text).high for text in (f"{CREDIT}=0:1:0.3", f"{SESSIONS}=1:10:4")] == [0.9, 9]  # type: ignore[union-attr]


def test_a_range_holds_its_ends_and_its_steps() -> None:
    space = Space("a.b", 1, 3, 0.5)
    assert [space.holds(value) for value in (1, 2.5, 3, 2.6, 3.5, None, "kv")] == [True] * 3 + [False] * 4


# Points


SPACES = [Space(CREDIT, 0, 2), Space(SESSIONS, 4, 28, 1.0, whole=True)]


def test_equal_seeds_give_equal_points_and_others_others() -> None:
    first = list(sobol_points(SPACES, 8, 0))
    assert first == list(sobol_points(SPACES, 8, 0))
    assert first != list(sobol_points(SPACES, 8, 1))
    assert list(sobol_points(SPACES, 5, 0)) == first[:5]


def test_points_fill_the_space_evenly() -> None:
    points = list(sobol_points([Space("a", 0, 1), Space("b", 0, 1)], 16, 3))
    # A Sobol sequence has, of 16 points, one in each sixteenth along every key.
    for key in "ab":
        assert sorted(int(16 * float(point[key])) for point in points) == list(range(16))


def test_each_combination_of_lists_has_the_same_points() -> None:
    points = list(sobol_points(SPACES[:1], 4, 0, [Axis("router.policy", ("kv", "random"))]))
    assert [point["router.policy"] for point in points] == ["kv"] * 4 + ["random"] * 4
    assert [point[CREDIT] for point in points[:4]] == [point[CREDIT] for point in points[4:]]


def test_points_that_rounding_makes_equal_are_one() -> None:
    points = list(sobol_points([Space(SESSIONS, 1, 3, 1.0, whole=True)], 16, 0))
    assert sorted(point[SESSIONS] for point in points) == ["1", "2", "3"]
