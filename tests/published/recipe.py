"""CONTRIBUTING's page about a published cluster, followed to the letter."""

from pathlib import Path

from tests.recipes import commands, steps

PAGE = "A published cluster"
FILES = {step.path: step.text for step in steps(PAGE)}
COMMANDS = [command.removeprefix("sim ") for command in commands(PAGE)]


def write_cluster(folder: Path, **changed: tuple[str, str]) -> Path:
    """Write the page's folder; `changed`: by the name of a file, what is written in place of what."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        old, new = changed.get(path.stem, ("", ""))
        assert old in text
        path.write_text(text.replace(old, new) if old else text, encoding="utf-8")
    return folder
