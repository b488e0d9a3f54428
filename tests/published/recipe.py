"""CONTRIBUTING's page about a published cluster, followed to the letter."""

import re
from pathlib import Path

CONTRIBUTING = (Path(__file__).resolve().parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
PAGE = CONTRIBUTING.split("## A published cluster\n")[1].split("\n## ")[0]
FILES = dict(re.findall(r"`(\S+\.(?:toml|csv))`:\n\n```(?:toml|csv)\n(.*?)```", PAGE, re.DOTALL))
COMMANDS = re.findall(r"^sim (.*)$", PAGE, re.MULTILINE)


def write_cluster(folder: Path, **changed: tuple[str, str]) -> Path:
    """Write the page's folder; `changed`: by the name of a file, what is written in place of what."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        old, new = changed.get(path.stem, ("", ""))
        assert old in text
        path.write_text(text.replace(old, new) if old else text, encoding="utf-8")
    return folder
