"""Examples of README.md and of the pages of docs/ are run as they stand, and print what is shown."""

import shlex
import tomllib
from itertools import pairwise, takewhile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sim.cli import app
from sim.scenario.load import load_scenario
from tests.docs.blocks import PAGES, ROOT, blocks, commands, name, steps
from tests.docs.examples import FailedError, cut, run
from tests.docs.refresh import refreshed

TEXTS = {name(page): page.read_text(encoding="utf-8") for page in PAGES}
WITH_EXAMPLES = [page for page, text in TEXTS.items() if list(steps(text))]
LINES = [line for text in TEXTS.values() for line in commands(text)]

PAGE = """
<!-- example: file one.py -->

```python
print(1 + 1)
```

```sh
python one.py
python one.py  # again
```

```text
3
```

<!-- example: not run: it would fail -->

```sh
sim nothing
```

```text
```

```python
print("a\\nb")
```

```text
b
...
```
"""


def test_an_example_is_run_and_its_output_put_in(tmp_path: Path) -> None:
    found = refreshed(PAGE)
    assert found == PAGE.replace("```text\n3\n```", "```text\n2\n2\n```").replace("text\nb\n", "text\na\n")
    assert refreshed(found) == found


def test_a_page_may_say_of_all_its_examples_why_they_are_not_run() -> None:
    page = "<!-- examples: not run: a trace is missing -->\n\n```sh\nsim run x\n```\n\n```\ny\n```\n"
    assert not list(steps(page))
    (step,) = steps(page.partition("\n")[2])
    assert step.output
    assert step.output.text == "y\n"


def test_an_example_that_fails_says_so(tmp_path: Path) -> None:
    with pytest.raises(FailedError, match="ends with 2"):
        list(run("```sh\nsim run nothing\n```\n\n```text\n```\n", tmp_path))


def test_a_text_that_goes_on_is_compared_as_far_as_it_is_shown() -> None:
    assert cut("a  \nb\nc\n", "x\n...\n") == "a\n...\n"
    assert cut("a\nb\n", "x\n") == "a\nb\n"


def test_there_are_examples_on_every_kind_of_page() -> None:
    assert {"README.md", "docs/accuracy.md", "docs/how-to/python.md"} < {*WITH_EXAMPLES}
    assert {page.split("/")[1] for page in WITH_EXAMPLES if page.count("/") == 2} == {"how-to", "tutorials"}


@pytest.mark.parametrize("page", TEXTS)
def test_every_output_has_its_command_or_says_why_not(page: str) -> None:
    found = blocks(TEXTS[page])
    shown = [step.output for step in steps(TEXTS[page]) if step.output]
    before = {block.at: earlier for earlier, block in pairwise(found)}
    for block in found:
        if block.language == "text" and block not in shown:
            reasons = (block.said, before[block.at].said if block.at in before else "")
            assert any(said.startswith("not run: ") for said in reasons), block.text


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_EXAMPLES)
def test_examples_print_what_is_shown(page: str, tmp_path: Path) -> None:
    for step, printed in run(TEXTS[page], tmp_path):
        assert step.output is not None
        again = f"`python -m tests.docs.refresh {page}` shows what `{step.block.text.strip()}` prints now"
        assert printed == step.output.text, again


@pytest.mark.parametrize("line", dict.fromkeys(LINES))
def test_every_command_on_a_page_is_understood(line: str) -> None:
    _, *arguments = shlex.split(line.partition(" > ")[0])
    words = list(takewhile(lambda word: not word.startswith("--"), arguments))
    help_page = CliRunner().invoke(app, [*words, "--help"])
    assert help_page.exit_code == 0, help_page.output
    listed = help_page.stdout
    for option in (argument for argument in arguments if argument.startswith("--")):
        assert option in listed
    overrides = [following for option, following in pairwise(arguments) if option == "--set"]
    written = any(word.endswith(".toml") for word in words)
    if words[0] == "run" and not written and not any("path=" in override for override in overrides):
        assert load_scenario(arguments[1], overrides).title


@pytest.mark.parametrize("page", TEXTS)
def test_every_toml_on_a_page_is_one(page: str) -> None:
    for block in blocks(TEXTS[page]):
        if block.language == "toml":
            assert tomllib.loads(block.text)


def test_the_recordings_that_are_replayed_are_here() -> None:
    text = TEXTS["docs/explanations/exact-and-calibrated.md"]
    replayed = [line.split()[2:] for line in commands(text, "python")]
    assert [module for module, _ in replayed] == ["tests.vectors.router", "tests.vectors.vllm"]
    for _, folder in replayed:
        assert list((ROOT / folder).glob("*.jsonl")), folder
