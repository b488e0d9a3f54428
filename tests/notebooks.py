"""The notebooks, run from clean. `python -m tests.notebooks [NAME ...]` stores what they give."""

import sys
from base64 import b64decode, b64encode
from io import BytesIO
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from PIL import Image

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
COLOURS = 128
"""Of a stored picture."""
NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb"))


def read(name: str) -> Any:
    """The notebook as it is stored."""
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def executed(name: str) -> Any:
    """The notebook with the outputs that it has now; raises if a cell does."""
    notebook = read(name)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    client = NotebookClient(
        notebook, timeout=600, record_timing=False, resources={"metadata": {"path": str(FOLDER)}}
    )
    return client.execute()


def texts(notebook: Any) -> list[str]:
    """What each code cell printed or showed as text; pictures are left out."""
    return ["".join(map(_text, cell.outputs)) for cell in notebook.cells if cell.cell_type == "code"]


def _text(output: Any) -> str:
    if output.output_type == "stream":
        return str(output.text)
    data = output.get("data", {})
    return "" if "image/png" in data else str(data.get("text/plain", ""))


def of_few_colours(notebook: Any) -> Any:
    """The notebook with pictures that need a third of the bytes: lines and letters have few colours."""
    for output in (one for cell in notebook.cells for one in cell.get("outputs", [])):
        if png := output.get("data", {}).get("image/png"):
            written = BytesIO()
            whole = Image.open(BytesIO(b64decode(png))).convert("RGB")
            whole.quantize(COLOURS, dither=Image.Dither.NONE).save(written, "PNG", optimize=True)
            output["data"]["image/png"] = b64encode(written.getvalue()).decode()
    return notebook


if __name__ == "__main__":
    for asked in sys.argv[1:] or NAMES:
        ran = of_few_colours(executed(asked))
        ran.metadata = read(asked).metadata
        nbformat.write(ran, FOLDER / f"{asked}.ipynb")
