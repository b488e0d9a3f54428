"""Coefficients from timed batches: a law that is known comes back from its own times."""

from pathlib import Path

import pytest

from sim.base.errors import InputError
from sim.calibration.forward import calibrate, cases, command, head_lines
from sim.hardware.coefficient_file import read_coefficient_file
from sim.hardware.coefficient_toml import to_toml
from sim.hardware.parallel import ONE_GPU, Parallel
from sim.hardware.step_time import StepCoefficients, StepLaw
from sim.measured.formats.forward_json import read_forward
from tests.hardware.aic.made_up import dense_ms
from tests.measured.forward import requests_of, results, write

KNOWN = StepCoefficients(
    t_floor_s=9.9e-3,
    c_tok_s_per_token=40e-6,
    smooth_max_p=3.5,
    a_pair_s=1.2e-9,
    c_kv_s_per_token=55e-9,
    c_mixed_s_per_token=20e-9,
    c_seq_s=5e-6,
    c_pf_s=1e-3,
)


class Bent:
    """A dense part that jumps, as experts do; the rest of `KNOWN`."""

    def step_s(self, prefill: object, decode_batch: int, decode_context_tokens: int) -> float:
        law = StepLaw(KNOWN.model_copy(update={"t_floor_s": 0.0, "c_tok_s_per_token": 0.0}))
        tokens = decode_batch + sum(new for new, _ in prefill)  # type: ignore[attr-defined]
        return 3e-3 * dense_ms(tokens) + law.step_s(prefill, decode_batch, decode_context_tokens)  # type: ignore[arg-type]

    decode_s = None


def test_a_known_law_is_found_through_noise(tmp_path: Path) -> None:
    path = write(tmp_path / "forward.json", results(StepLaw(KNOWN), cases(), noise=0.005))
    found = calibrate(read_forward(path), "mine", "h100-80gb", ONE_GPU)
    assert found.dense is None
    for name, allowed in {
        "t_floor_s": 0.01,
        "c_tok_s_per_token": 0.01,
        "a_pair_s": 0.03,
        "c_kv_s_per_token": 0.03,
        "smooth_max_p": 0.15,
        "c_pf_s": 0.2,
        "c_seq_s": 0.4,
    }.items():
        entry = found.step[name]
        assert entry.value == pytest.approx(getattr(KNOWN, name), rel=allowed), name
        assert entry.range[0] < entry.value < entry.range[1]
    assert all(one.mape < 0.01 for one in found.held_out)
    assert found.summary == (
        "fitted to 42 batches timed by vllm bench forward; GPU time alone, without sampling and without "
        "the host"
    )
    assert found.data[0].rows == 42
    out = tmp_path / "own.toml"
    out.write_text(to_toml(found, head_lines(found)))
    assert read_coefficient_file(out).step["t_floor_s"].value == found.step["t_floor_s"].value


def test_a_dense_part_that_jumps_gets_a_table(tmp_path: Path) -> None:
    path = write(tmp_path / "forward.json", results(Bent(), cases(), noise=0.002))  # type: ignore[arg-type]
    found = calibrate(read_forward(path), "mine", "h100-80gb", Parallel())
    assert found.dense is not None
    law = StepLaw(found.step_coefficients(found.values), found.dense)
    for batch in (1, 8, 16, 32, 128):
        expected_s = Bent().step_s([], batch, 1024 * batch)
        assert law.step_s([], batch, 1024 * batch) == pytest.approx(expected_s, rel=0.02)
    assert law.step_s([(8192, 0)], 0, 0) == pytest.approx(Bent().step_s([(8192, 0)], 0, 0), rel=0.02)


def test_unstable_cases_are_counted(tmp_path: Path) -> None:
    content = results(StepLaw(KNOWN), cases())
    for one in content[:3]:
        one["ranks"][0]["latency_us"]["sample_spread_pct"] = 0.6
    found = calibrate(read_forward(write(tmp_path / "f.json", content)), "mine", "h100-80gb", ONE_GPU)
    assert "forward; 3 of them unstable; GPU time alone" in found.summary


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("mix", "prefill-1"), "[0-9] cases: a fit takes at least 12"),
        (("decode",), "no prefill steps among the cases"),
        (("prefill", "chunk", "mix"), "no decode steps among the cases"),
    ],
)
def test_too_little_to_tell_a_law_is_refused(tmp_path: Path, names: tuple[str, ...], message: str) -> None:
    some = [case for case in cases() if case.startswith(names)]
    path = write(tmp_path / "f.json", results(StepLaw(KNOWN), some))
    with pytest.raises(InputError, match=rf"f\.json: .*({message})"):
        calibrate(read_forward(path), "mine", "h100-80gb", ONE_GPU)


def test_another_number_of_gpus_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "f.json", results(StepLaw(KNOWN), cases(), ranks=2))
    with pytest.raises(InputError, match=r"was run on 2 GPUs, and --tp, --pp and --dp make 1"):
        calibrate(read_forward(path), "mine", "h100-80gb", ONE_GPU)
    assert calibrate(read_forward(path), "mine", "h100-80gb", Parallel(tensor=2)).parallel.tensor == 2


def test_the_command_to_run() -> None:
    lines = command("M", ONE_GPU).splitlines()
    assert lines[0] == "vllm bench forward --model M \\"
    assert "--kv-len-jitter 0" in lines[1]
    assert "  --case 'decode-1-256=1*1@257' \\" in lines
    assert all(line.endswith(" \\") for line in lines[:-1])
    assert command("M", Parallel(2, 1, 2, expert=True)).splitlines()[:2] == [
        "torchrun --nproc-per-node=4 -m vllm.entrypoints.cli.main bench forward --model M \\",
        "  --tensor-parallel-size 2 --data-parallel-size 2 --enable-expert-parallel \\",
    ]


def test_the_cases_fit_a_gpu_and_have_names_of_their_own() -> None:
    names = [case.partition("=")[0] for case in cases()]
    assert len(set(names)) == len(names) == 42
    for case in cases():
        assert sum(one["kv_len"] for one in requests_of(case.partition("=")[2])) < 160_000
