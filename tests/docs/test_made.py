"""Reference pages name everything that there is, as the sources have it."""

import json
import re

import sim
from docs.made import command_options, numbers_page, python_api, scenario_keys, tables_page
from docs.made.flags import router_flags
from docs.made.navigation import expanded
from docs.made.notebook import as_markdown
from sim.results.quantities import names_before_runs
from sim.results.tables import SOMETIMES, TABLES
from sim.scenario.scenario import Scenario
from sim.scenario.schema import keys_at
from sim.scenario.sections import RouterSettings

KEYS = scenario_keys.page()
COMMANDS = command_options.page()


def cells(page: str, first: str) -> list[str]:
    """The row of a table that begins with this name."""
    (line,) = [line for line in page.splitlines() if line.startswith(f"| `{first} }}")]
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_every_key_of_the_schema_is_on_the_page_with_what_it_is() -> None:
    schema = Scenario.model_json_schema()
    for section in keys_at(schema, ()):
        assert f"#{section} }}" in KEYS
        for key in keys_at(schema, (section,)):
            assert re.search(rf"#{section}\.([\w-]+\.)?{key} }}", KEYS), f"{section}.{key}"
    assert len(set(scenario_keys.keys())) > 350


def test_rows_of_keys_are_whole() -> None:
    heads = [line for line in KEYS.splitlines() if line.startswith("| key |")]
    assert len(heads) == len(re.findall(r"^##+ ", KEYS, re.MULTILINE))
    for line in KEYS.splitlines():
        if line.startswith("| `"):
            row = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            assert len(row) in (5, 6), line
            assert row[1], line
            assert row[-1], f"no description: {line}"


def test_a_key_has_its_type_unit_default_and_flag() -> None:
    assert cells(KEYS, "cpu_bytes`{: #offload.cpu_bytes")[1:4] == [
        "whole number from 0 or text with a unit",
        "bytes",
        "*required*",
    ]
    assert cells(KEYS, "temperature`{: #router.temperature")[1:5] == [
        "number from 0",
        "",
        "`0`",
        "`--router-temperature`",
    ]
    assert cells(KEYS, "at_s`{: #faults.worker-dies.at_s")[2] == "s"


def test_flags_are_those_of_the_settings() -> None:
    assert len(router_flags()) > 30
    assert {*router_flags()} <= {*RouterSettings.model_fields}


def test_every_command_and_option_is_on_the_page() -> None:
    found = command_options.commands()
    assert len(found) > 20
    assert {"sim run", "sim trace inspect", "sim validate published"} <= {words for words, _ in found}
    for words, command in found:
        section = COMMANDS.split(f"\n## {words}\n")[1].split("\n## ")[0]
        for option in command.params:
            if option.param_type_name == "option" and not option.hidden:
                assert f"`{option.opts[0]}`" in section, f"{words} {option.opts}"


def test_every_number_and_column_is_on_its_page() -> None:
    numbers, columns = numbers_page.page(), tables_page.page()
    for name in names_before_runs():
        table = name.removesuffix(".p99.9") if name.endswith(".p99.9") else name.rpartition(".")[0]
        assert f"#{name} }}" in numbers or f"#{table} }}" in numbers, name
    for name, its in TABLES.items():
        for column in (*its, *SOMETIMES.get(name, ())):
            assert f"#{name}.{column.name} }}" in columns


def test_every_function_is_on_its_page_with_its_arguments() -> None:
    page = python_api.page()
    for name in sim.__all__:
        assert f"\n## {name}\n" in page
    assert "- `overrides`: what to change" in page
    assert "\n### RunResult.explain\n" in page
    assert " at 0x" not in page


def test_the_navigation_takes_what_is_named_nowhere() -> None:
    nav = [{"A": "a.md"}, {"B": ["b/first.md", "b/*"]}, {"C": ["*"]}]
    pages = ["a.md", "new.md", "b/x.md", "b/first.md", "b/c/deep.md"]
    assert expanded(nav, pages) == [{"A": "a.md"}, {"B": ["b/first.md", "b/x.md"]}, {"C": ["new.md"]}]


def test_a_notebook_becomes_text_code_and_what_it_showed() -> None:
    outputs = [
        {"data": {"text/plain": ["<Figure>"], "image/png": "AA\nBB"}},
        {"text": ["one\n", "two\n"]},
        {"data": {"text/html": ["<b>\n", "\n", "x</b>"], "text/plain": "x"}},
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# T\n", "words"]},
        {"cell_type": "code", "source": ["f()"], "outputs": outputs},
    ]
    assert as_markdown(json.dumps({"cells": cells})) == (
        "# T\nwords\n\n```python\nf()\n```\n\n"
        '<img alt="What the cell above draws" src="data:image/png;base64,AABB">\n\n'
        "```text\none\ntwo\n```\n\n"
        "<div class='made-output'><b>\nx</b></div>\n"
    )
