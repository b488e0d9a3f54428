"""What is to be said of several runs beside their numbers."""

from sim.results.phases import left_out_of
from sim.runs.comparison import Comparison
from sim.show.text.repeats import trace_note
from sim.show.text.versions import versions_note


def common_notes(comparison: Comparison) -> list[str]:
    """Return the notes that hold for every run of a scenario, with its name if not for all scenarios."""
    common = {}
    for name in comparison.scenarios:
        kept = [run.notes for run in comparison.runs if run.scenario == name and run.summary is not None]
        common[name] = [note for note in (kept[0] if kept else ()) if all(note in other for other in kept)]
    notes = trace_note(comparison.seeds, (run.settings.get("workload", {}) for run in comparison.runs))
    for note in dict.fromkeys(note for found in common.values() for note in found):
        names = [name for name, found in common.items() if note in found]
        everyone = len(names) == len(comparison.scenarios)
        notes.append(note if everyone else f"{', '.join(names)}: {note}")
    return [*versions_note(comparison), *left_out_of(comparison.summaries), *notes]
