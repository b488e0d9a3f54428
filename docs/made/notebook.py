"""A notebook with its outputs as Markdown: text, code, what was printed, pictures in the page itself."""

import json
from collections.abc import Iterator, Mapping
from typing import Any


def as_markdown(text: str) -> str:
    """Return the cells of a notebook one below the other."""
    return "\n\n".join(part for cell in json.loads(text)["cells"] for part in _cell(cell)) + "\n"


def _cell(cell: Mapping[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"]).strip()
    if cell["cell_type"] == "markdown":
        yield source
    elif cell["cell_type"] == "code" and source:
        yield f"```python\n{source}\n```"
        for output in cell["outputs"]:
            yield from _output(output)


def _output(output: Mapping[str, Any]) -> Iterator[str]:
    """Yield the richest form of an output that a page can hold."""
    data = output.get("data", {})
    if "image/png" in data:
        picture = "".join(data["image/png"]).replace("\n", "")
        yield f'<img alt="What the cell above draws" src="data:image/png;base64,{picture}">'
    elif "text/html" in data:
        # Markdown ends a piece of HTML at an empty line.
        lines = "".join(data["text/html"]).splitlines()
        yield "<div class='made-output'>" + "\n".join(line for line in lines if line.strip()) + "</div>"
    elif printed := "".join(data.get("text/plain", output.get("text", ""))).strip("\n"):
        yield f"```text\n{printed}\n```"
