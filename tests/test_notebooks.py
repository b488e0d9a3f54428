"""The notebooks run from clean, and what they show is what this code gives."""

import ast

import pytest

from tests.notebooks import FOLDER, NAMES, executed, read, texts

MOST_BYTES = 300_000


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.slow
def test_a_notebook_gives_what_is_stored(name: str) -> None:
    again = f"store it with `python -m tests.notebooks {name}`"
    assert texts(executed(name)) == texts(read(name)), again


def test_each_of_the_notebooks_is_here() -> None:
    assert NAMES == [
        "own_policy",
        "router_shootout",
        "sweep_router_weights",
        "talk_reproduced",
        "validate_measured_run",
        "when_kv_routing_helps",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_small_and_reads_like_an_article(name: str) -> None:
    assert (FOLDER / f"{name}.ipynb").stat().st_size < MOST_BYTES
    cells = read(name).cells
    assert cells[0].cell_type == "markdown"
    assert cells[0].source.startswith("# ")
    assert cells[-1].cell_type == "markdown"  # the answer
    outputs = [output for cell in cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert not [output for output in outputs if output.get("name") == "stderr"]


def test_the_wide_tables_are_those_that_are_made() -> None:
    tables, made = (
        {
            "tables.py": {"levers", "settings"},
            "shootout_tables.py": {"routers", "tells"},
            "regions.py": {"regions"},
        },
        set(),
    )
    for script, names in tables.items():
        module = ast.parse((FOLDER / script).read_text(encoding="utf-8"))
        made |= {node.name for node in module.body if isinstance(node, ast.FunctionDef)} & names
    assert made == {path.stem for path in (FOLDER / "data").glob("*.csv")}
