"""The tables and the sentences of the talk in `calibration/README.md`, made of the stored results.

`python -m tests.published.readme_table` puts them there.
"""

import csv
from collections.abc import Iterator

from sim.published.cluster import read_cluster
from sim.published.show_rows import band, interval, quantity
from sim.published.targets import Target, TargetFile

TALK = read_cluster("talk")
FOLDER = TALK.folder
VARIANTS = sorted((path.stem.removeprefix("results-") for path in FOLDER.glob("results-*.csv")), reverse=True)
"""Priors first."""
BEGIN, END = "<!-- begin: made by python -m tests.published.readme_table -->", "<!-- end -->"
Lines = list[dict[str, str]]


def stored(variant: str) -> Lines:
    """The stored results of a variant."""
    with (FOLDER / f"results-{variant}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def markdown(file: TargetFile) -> list[str]:
    """The lines of the table: every dynamic row, both variants, on generated sessions and recorded ones."""
    found = {variant: stored(variant) for variant in VARIANTS}
    recorded = list(dict.fromkeys(line["workload"] for line in found["priors"]))
    recorded = [name for name in recorded if name not in ("", "generated")]
    heads = [f"{variant}, {name}" for variant in VARIANTS for name in ("simulated", "holds", *recorded)]
    return [
        "| row | printed | " + " | ".join(heads) + " |",
        "|---" * (2 + len(heads)) + "|",
        *(_row(target, found, recorded) for target in file.of_kind("dynamic")),
    ]


def _row(target: Target, found: dict[str, Lines], recorded: list[str]) -> str:
    cells = [cell for variant in VARIANTS for cell in _cells(target, found[variant], recorded)]
    name = f"`{target.id}`" + ("*" if target.fitted else "")
    return "| " + " | ".join([name, band(target), *cells]) + " |"


def _cells(target: Target, lines: Lines, recorded: list[str]) -> Iterator[str]:
    own = [line for line in lines if line["id"] == target.id]
    (deciding,) = (line for line in own if line["workload"] == "generated" and line["decides"] == "yes")
    low, high = (deciding[f"interval_{end}"] for end in ("low", "high"))
    spread = f" ({interval(target, (float(low), float(high)))})" if low else ""
    where = f" at {deciding['sessions']} of {deciding['place']}"
    yield _number(target, deciding["simulated"]) + spread + where
    for workload in ("generated", *recorded):
        places = [line for line in own if line["workload"] == workload]
        held = f"{sum(line['holds'] == 'yes' for line in places)}/{len(places)}"
        yield f"**{held}**" if places[0]["row_holds"] == "yes" else held


def _number(target: Target, text: str) -> str:
    return quantity(target, float(text) if text else None)


def sentences() -> list[str]:
    """The lines that say of each row what it hangs on, from the stored study."""
    path = FOLDER / "sentences.csv"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8") as file:
        return [f"- `{line['id']}`: {line['sentence']}" for line in csv.DictReader(file)]


def assumed(file: TargetFile) -> list[str]:
    """The lines of the table of assumptions: every dynamic row, a column a set of them."""
    with (FOLDER / "assumed.csv").open(encoding="utf-8") as stream:
        lines = [line for line in csv.DictReader(stream) if not line["without"] and line["decides"] == "yes"]
    found = {(line["id"], line["assumptions"]): line for line in lines}
    sets = list(dict.fromkeys(line["assumptions"] for line in lines))
    return [
        f"| row | printed | {' | '.join(f'`{name}`' for name in sets)} |",
        "|---" * (2 + len(sets)) + "|",
        *(
            "| "
            + " | ".join(
                [
                    f"`{target.id}`" + ("*" if target.fitted else ""),
                    band(target),
                    *(_assumed(target, found[target.id, name]) for name in sets),
                ]
            )
            + " |"
            for target in file.of_kind("dynamic")
            if (target.id, sets[0]) in found
        ),
    ]


def _assumed(target: Target, line: dict[str, str]) -> str:
    inside = round(float(line["share_inside"]) * int(line["values"]))
    held = f"{inside}/{line['values']}"
    held = f"**{held}**" if line["row_holds"] == "yes" else held
    return f"{_number(target, line['simulated'])} at {line['level']}, {held}"


def with_blocks(text: str, *blocks: list[str]) -> str:
    """The text with the lines between its pairs of marks replaced."""
    lines: list[str] = []
    left, inside = list(blocks), False
    for line in text.splitlines():
        if line == END:
            inside = False
        if not inside:
            lines.append(line)
        if line == BEGIN:
            lines += ["", *left.pop(0), ""]
            inside = True
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    README = FOLDER.parents[1] / "README.md"
    BLOCKS = (markdown(TALK.targets), sentences(), assumed(TALK.targets))
    README.write_text(with_blocks(README.read_text(encoding="utf-8"), *BLOCKS), encoding="utf-8")
