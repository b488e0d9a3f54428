"""`sim validate published` with --baselines, --sensitivity or --assume: variants beside each other."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sim.commands.published_all import Answer

if TYPE_CHECKING:
    from sim.published.cluster import PublishedCluster
    from sim.published.study import Maker, Plans


def baselines_of(cluster: "PublishedCluster", plans: "Plans", maker: "Maker", out: Path | None) -> Answer:
    """Return simpler models beside the simulator."""
    from sim.published.baselines import score_baselines
    from sim.published.beside import render, to_dict, write
    from sim.published.variants import Variant, score_variants

    rows = cluster.dynamic_rows()
    timing = tuple(text for text in plans.overrides if text.startswith("timing."))
    asked = [Variant("as set", timing)] if timing else []
    plans = replace(plans, overrides=[text for text in plans.overrides if text not in timing])
    found = [
        *score_variants(rows, asked, plans, maker),
        *score_baselines(rows, cluster.settings.baseline, plans, maker),
    ]
    if out is not None:
        write(found, out / "baselines.csv")
    return to_dict(found), render(rows, found)


def sensitivity_of(cluster: "PublishedCluster", plans: "Plans", maker: "Maker", out: Path | None) -> Answer:
    """Return which assumption each row hangs on."""
    from sim.published.beside import to_dict, write
    from sim.published.plots import write_sensitivity
    from sim.published.sensitivity import render_sentences, study, write_sentences

    found = study(cluster.few_places(cluster.dynamic_rows()), cluster.assumptions, plans, maker)
    if out is not None:
        write(found.scored, out / "sensitivity.csv")
        write_sentences(found, out / "sentences.csv")
        write_sensitivity(found.scored, out / "sensitivity.svg")
    return {**to_dict(found.scored), "sentences": found.sentences}, render_sentences(found)


def assumed(
    names: list[str],
    cluster: "PublishedCluster",
    plans: "Plans",
    maker: "Maker",
    out: Path | None,
    *,
    everywhere: bool,
    without: bool,
) -> Answer:
    """Return sets of assumptions beside each other."""
    from sim.published.assume import chosen, score_assumed
    from sim.published.assume_show import render, to_dict, write

    sets = chosen(names, cluster.settings.assumptions, str(cluster.file))
    rows = cluster.dynamic_rows()
    if not everywhere:
        rows = [row for row in cluster.few_places(rows) if row.holds == "every"]
    found = score_assumed(rows, sets, plans, maker, without=without)
    if out is not None:
        write(found, out)
    return to_dict(found), render(found, cluster.settings)
