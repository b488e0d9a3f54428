import pytest

from sim.base.errors import InputError
from sim.measured.formats.flags import parse_command


def test_a_command_is_words_options_and_variables() -> None:
    command = parse_command(
        "DYN_LOG=info vllm serve 'a model' --port 8000 --max_num_seqs=16 --enforce-eager --seed -1 "
        "--served a b"
    )
    assert command.words == ("vllm", "serve", "a model")
    assert command.variables == {"DYN_LOG": "info"}
    assert command.options == {
        "port": "8000",
        "max-num-seqs": "16",
        "enforce-eager": "",
        "seed": "-1",
        "served": "a",
    }
    assert command.value("absent", "port") == "8000"
    assert command.value("absent") is None


@pytest.mark.parametrize(
    ("text", "number"),
    [("2048", 2048), ("32k", 32_000), ("32K", 32_768), ("1.5k", 1500), ("1M", 2**20), ("2e3", 2000)],
)
def test_whole_numbers_may_have_a_letter(text: str, number: int) -> None:
    assert parse_command(f"x --n {text}").integer("n") == number


@pytest.mark.parametrize("text", ["many", "1.5", "k", "1.0001k"])
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=f"--n {text}: must be a"):
        parse_command(f"x --n {text}").integer("n")


def test_switches_are_on_off_or_not_given() -> None:
    command = parse_command("x --a --no-b --c true --d false")
    assert [command.switch(name) for name in "abcde"] == [True, False, True, False, None]
    with pytest.raises(InputError, match="--a maybe: must be true or false"):
        parse_command("x --a maybe").switch("a")


def test_numbers_may_have_a_fraction() -> None:
    assert parse_command("x --scale 0.5").real("scale") == 0.5
    assert parse_command("x").real("scale") is None
    with pytest.raises(InputError, match="--scale fast: must be a number"):
        parse_command("x --scale fast").real("scale")


def test_an_empty_command_is_refused() -> None:
    with pytest.raises(InputError, match="command line ' ': is empty"):
        parse_command(" ")


def test_an_open_quote_is_refused() -> None:
    with pytest.raises(InputError, match="No closing quotation"):
        parse_command("vllm serve 'a")
