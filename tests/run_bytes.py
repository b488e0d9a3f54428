"""Makes small runs and writes all that they give into a folder: `python tests/run_bytes.py FOLDER`.

Whatever has `sim` can run it: another version of Python, a compiled build. Equal folders are equal results.
"""

import sys
from pathlib import Path

import pandas as pd
from typer.testing import CliRunner

from sim.cli import app

SMALL = ("--set", "workload.sessions=3", "--set", "workload.turns=4")
TIER = ("--set", "offload.cpu_bytes=4GiB")
CONDITIONAL = ("--set", "disaggregation.conditional.eff_isl_threshold=2000")
RUNS = {
    "aggregated": ("run", "agg8", *SMALL, *TIER, "--set", "engine.kv_blocks=400"),
    "pair": ("run", "2p6d", *SMALL, "--set", "router.temperature=0.7"),
    "plain-pair": (
        "run",
        "llama8b-1p1d",
        *SMALL,
        "--set",
        "disaggregation.conditional.eff_isl_threshold=2000",
    ),
    "draw": ("run", "agg4", *SMALL, "--set", "timing.draw=2", "--set", "router.policy=random"),
}


def call(*arguments: str) -> str:
    found = CliRunner().invoke(app, arguments)
    assert found.exit_code == 0, found.output
    return found.stdout


def main(folder: Path) -> None:
    """Write summary, tables as text, and page of each run, and what compares some of them."""
    for name, arguments in RUNS.items():
        out = folder / name
        page = call(*arguments, "--out", str(out))
        (folder / f"{name}.txt").write_text(page, encoding="utf-8")
        for table in sorted(out.glob("*.parquet")):
            # How a file is packed depends on the library's version; what is in it must not.
            pd.read_parquet(table).to_csv(table.with_suffix(".csv"))
            table.unlink()
    compared = call("compare", "agg8", "agg4", *SMALL, "--repeat", "2", "--jobs", "1", "--format", "json")
    (folder / "compared.json").write_text(compared, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
