"""A cluster whose numbers are printed one by one; its figures were made up."""

from pathlib import Path
from shutil import copytree

EXAMPLE = Path(__file__).parent / "example"


def write_example(folder: Path, **changed: tuple[str, str]) -> Path:
    """Copy the example; `changed`: by the name of a file, what is written in place of what."""
    copytree(EXAMPLE, folder, dirs_exist_ok=True)
    for path in (folder / name.name for name in EXAMPLE.iterdir()):
        old, new = changed.get(path.stem, ("", ""))
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new) if old else text, encoding="utf-8")
    return folder
