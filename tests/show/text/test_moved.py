"""What is printed beside numbers of two releases."""

from dataclasses import replace

from sim.runs.comparison import Comparison
from sim.show.text.compared import render_compared
from sim.show.text.moved import render_moved
from tests.runs.test_rule_effects import three_rules, under
from tests.show.text.test_summary import lines

# 10 to 16 s; recomputation is a tenth of it in points. Of three rules nothing alone explains +3.5 s.
ONE_SEED = """\
agg8: from vLLM 0.28 to 0.33                                                                  seed 0
The agg8 one

                      0.28    0.33     change  moved by
TTFT p50            10.0 s  16.0 s    +60.0 %  retention     +50.0 %
                                               retirement    -30.0 %
                                               queues         +5.0 %
                                               together      +35.0 %
Recomputation        100 %   160 %   +60.0 pp  retention    +50.0 pp
                                               retirement   -30.0 pp
                                               queues        +5.0 pp
                                               together     +35.0 pp
"""


def printed(comparison, metrics):
    return [line.rstrip() for line in lines(render_moved(comparison, metrics))]


def test_rules_stand_beside_the_number_that_they_moved_the_most_first():
    text = printed(
        Comparison(["agg8"], three_rules()), ["ttft_s.p50", "prefill.recomputation", "requests.completed"]
    )

    assert text[: len(ONE_SEED.splitlines())] == ONE_SEED.splitlines()
    notes = " ".join(" ".join(text).split())
    assert "together: the rest of the change, of rules that act on each other" in notes
    assert "one run may move by chance" in notes
    assert "not switched, cannot act on the settings: preemption, prefill_threshold" in notes


def test_what_seeds_tell_apart_from_nothing_is_marked():
    runs = [run for seed in range(3) for run in three_rules(seed, plus=float(seed))]
    text = printed(Comparison(["agg8"], runs), ["ttft_s.p50"])

    # All seeds agree on each rule; the whole is 7 ± 2.48.
    assert [line.split()[-2] for line in text[4:8]] == ["+50.0", "-30.0", "+5.0", "+45.0"]
    assert [line[-1] for line in text[4:8]] == ["≠"] * 4


def test_small_parts_are_one_and_what_was_nothing_has_no_percent():
    runs = [
        under("0.28", 0.0),
        under("0.33", 100.0),
        under("0.28", 98.0, switched="retention=0.33"),
        under("0.28", 1.0, switched="retirement=0.33"),
        under("0.28", 1.0, switched="queues=0.33"),
        under("0.33", 2.0, switched="retention=0.28"),
        under("0.33", 99.0, switched="retirement=0.28"),
        under("0.33", 99.0, switched="queues=0.28"),
    ]
    text = printed(Comparison(["agg8"], runs), ["ttft_s.p50"])

    assert [line.split() for line in text[4:6]] == [
        ["TTFT", "p50", "0", "s", "100", "s", "+100", "s", "retention", "+98.0", "s"],
        ["2", "more", "+2.00", "s"],
    ]


def test_other_settings_are_columns_and_scenarios_tables():
    runs = [
        replace(under(*of, **{"workload.sessions": sessions}), scenario=name)
        for name in ("a", "b")
        for sessions in ("1", "2")
        for of in (
            ("0.28", 1.0),
            ("0.33", 2.0),
            ("0.28", 2.0, 0, "retention=0.33"),
            ("0.33", 1.0, 0, "retention=0.28"),
        )
    ]
    text = printed(Comparison(["a", "b"], runs), ["ttft_s.p50"])

    assert [line.split(":")[0] for line in text if "from vLLM" in line] == ["a", "b"]
    assert text[3].split() == ["sessions", "0.28", "0.33", "change", "moved", "by"]
    assert [line.split()[2] for line in text[4:6]] == ["1", "2"]
    notes = [line for line in text if "not switched" in line]
    assert len(notes) == 1
    assert "cannot act on the settings: queues" in notes[0]


def test_an_explained_comparison_shows_numbers_of_its_own_unless_others_are_asked_for():
    comparison = Comparison(["agg8"], three_rules())

    assert "moved by" in "\n".join(lines(render_compared(comparison, ["ttft_s.p50"])))
