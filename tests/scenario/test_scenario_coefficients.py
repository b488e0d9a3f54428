"""Which coefficients a scenario takes, and what is drawn of them."""

from pathlib import Path

import pytest

from sim.base.errors import InputError
from sim.base.shipped import shipped_root
from sim.hardware.coefficients import coefficients
from sim.hardware.timing import TimingSettings
from sim.scenario.load import load_scenario
from sim.scenario.sections import FrontendSettings
from tests.scenarios import MINIMAL, refusal


def test_coefficients_are_those_shipped_unless_the_scenario_gives_some() -> None:
    shipped = load_scenario("agg8")
    assert shipped.coefficients() == coefficients(shipped.model, shipped.gpu)
    assert shipped.coefficients().origin == "prior"
    times = load_scenario(
        "agg8", ["timing.a_pair_s=900ps", "frontend.alpha_in_s=0", "timing.label=a guess"]
    ).coefficients()
    assert (times.step.a_pair_s, times.frontend.alpha_in_s) == (900e-12, 0.0)
    assert times.step.t_floor_s == shipped.coefficients().step.t_floor_s
    assert times.frontend.alpha_out_s == shipped.coefficients().frontend.alpha_out_s
    assert times.summary.endswith("; given in the scenario: a_pair_s, alpha_in_s (a guess)")


def test_every_coefficient_can_be_given() -> None:
    times = load_scenario("agg8").coefficients()
    assert set(type(times.step).model_fields) == set(TimingSettings.model_fields) - {
        "coefficients",
        "draw",
        "label",
        "preset",
    }
    assert set(type(times.frontend).model_fields) < set(FrontendSettings.model_fields)


def test_a_file_of_coefficients_by_name_or_by_a_path_that_starts_at_the_scenario(tmp_path: Path) -> None:
    def write(text: str) -> Path:
        path = tmp_path / "mine.toml"
        path.write_text(text)
        return path

    named = "qwen3-14b-bf16_h100-80gb"
    shipped = load_scenario(write(MINIMAL)).coefficients()
    (tmp_path / "own.toml").write_bytes((shipped_root() / "calibration" / f"{named}.toml").read_bytes())
    for choice in (named, "own.toml"):
        path = write(MINIMAL + f'\n[timing]\ncoefficients = "{choice}"\n')
        scenario = load_scenario(path)
        assert scenario.coefficients() == shipped
        path.with_name("resolved").mkdir(exist_ok=True)
        again = path.with_name("resolved") / "scenario.toml"
        again.write_text(scenario.to_toml())
        assert load_scenario(again) == scenario
    other = write(MINIMAL + '\n[timing]\ncoefficients = "qwen3.8-27b-fp8_h100-80gb"\n')
    assert "timing.coefficients = 'qwen3.8-27b-fp8_h100-80gb': " in refusal(other)
    assert "is of qwen3.8-27b-fp8 on h100-80gb, and the scenario has qwen3-14b-bf16" in refusal(other)


def test_draws_leave_alone_what_the_scenario_gives() -> None:
    drawn = load_scenario("agg8", ["timing.draw=3", "timing.a_pair_s=900ps"])
    other = load_scenario("agg8", ["timing.draw=4"]).coefficients()
    assert drawn.coefficients().step.a_pair_s == 900e-12
    assert len({13.2e-3, drawn.coefficients().step.t_floor_s, other.step.t_floor_s}) == 3
    values = load_scenario("agg8", ["timing.a_pair_s=900ps"])
    assert values.draws(3)[2] == drawn
    assert values.draws(None) == [values]


def test_links_are_drawn_where_they_stand_at_their_defaults() -> None:
    fast = ["disaggregation.network.roce.bandwidth_bytes_per_s=25GB/s"]
    values, drawn = load_scenario("2p6d", fast), load_scenario("2p6d", [*fast, "timing.draw=2"])
    assert values.offload is not None
    assert (values.host_link(), values.network()) == (values.offload.link, values.disaggregation.network)
    assert drawn.network().roce.bandwidth_bytes_per_s == 25e9
    assert 5e-3 <= drawn.network().roce.latency_s <= 20e-3
    assert drawn.network().sharing == values.network().sharing
    assert drawn.host_link().latency_s == values.host_link().latency_s
    assert len({values.host_link().bandwidth_bytes_per_s, 50e9, drawn.host_link().bandwidth_bytes_per_s}) == 2
    assert drawn.network().nvlink != values.network().nvlink


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            ["model={preset='llama-3.1-8b-bf16', name='mine'}", "timing.draw=1"],
            "--set timing.draw=1: no ranges to draw coefficients from: roof",
        ),
        (["timing.preset=roofline", "timing.draw=1"], "is a law of its own: leave out either preset or draw"),
        (
            ["timing.coefficients=agg8"],
            "--set timing.coefficients=agg8: no file of coefficients is called 'agg8'",
        ),
    ],
)
def test_what_has_no_ranges_is_not_drawn(overrides: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_scenario("agg8", overrides)


def test_rooflines_stand_beside_the_coefficients() -> None:
    origins = {
        preset: load_scenario("agg8", [f"timing.preset={preset}"]).coefficients().origin
        for preset in ("roofline", "peak-roofline")
    }
    assert origins == {"roofline": "roofline", "peak-roofline": "peak-roofline"}
    for preset in origins:
        with pytest.raises(InputError, match=rf'timing.preset = "{preset}" has no ranges to draw from'):
            load_scenario("agg8", [f"timing.preset={preset}"]).draws(1)
    own = load_scenario("agg8", ["timing.preset=roofline", "timing.c_pf_s=1ms"]).coefficients()
    assert own.step.c_pf_s == 1e-3
