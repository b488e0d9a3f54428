"""What a person reads after a search for settings."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sim.base import words
from sim.base.limits import Limit
from sim.base.words import exactly
from sim.results.quantities import Unit, label, unit, written_limit
from sim.results.refusals import nothing_served
from sim.runs.paired import Estimate
from sim.runs.spread import CONFIDENCE
from sim.runs.tuning import BEST, DEFAULT, Tuned
from sim.runs.unlike import warnings_of
from sim.show.text.common_notes import common_notes
from sim.show.text.page_parts import NOTHING_SERVED, UNEQUAL, align_unequal, footnotes, heading, table
from sim.show.text.page_table import PageTable
from sim.show.text.prose import Prose
from sim.show.text.versions import rules_line


def render_tuned(tuned: Tuned) -> RenderableType:
    """Return the settings that were found and what they change, ready to print."""
    goal, seeds = tuned.goal, tuned.check.seeds
    limits = " and ".join(map(written_limit, goal.limits))
    aim = f"{'highest' if goal.maximise else 'lowest'} {label(goal.metric)}{limits and f' with {limits}'}"
    settings = exactly(len(tuned.trials), "setting")
    each = exactly(len(tuned.seeds), "seed")
    title = heading(f"{tuned.scenario}: {aim}", f"{settings}, {each} each")
    head = Group(title, *rules_line(tuned.check.summaries))
    warnings = warnings_of(tuned.check)
    if nothing_served(tuned.check.summaries):
        return Group(head, Text(), NOTHING_SERVED, footnotes(warnings=warnings))
    return Group(
        head,
        Text(),
        _settings(tuned),
        Text(),
        Text(f"With seeds {seeds[0]} to {seeds[-1]}, which the search did not see", style="bold"),
        _numbers(tuned),
        *_bindings(tuned),
        footnotes(_notes(tuned), common_notes(tuned.check), warnings=warnings),
    )


def _settings(tuned: Tuned) -> Table:
    rows = table("", DEFAULT, BEST)
    default = next(run for run in tuned.check.runs if run.scenario == DEFAULT)
    for key, value in tuned.best.written.items():
        rows.add_row(key, f"{default.value(key):g}", value)
    return rows


def _numbers(tuned: Tuned) -> Table:
    level = f"{100 * CONFIDENCE:.0f} % interval"
    limits = {limit.metric: limit for limit in tuned.goal.limits}
    rows = table("", *(["limit"] if limits else []), DEFAULT, BEST, "best - default", level, "best / default")
    for row in tuned.beside():
        shown, limit = unit(row.metric), limits.get(row.metric)
        ratio = row.best / row.default if row.best is not None and row.default else None
        bound = f"{'<' if limit.below else '>'} {shown.show(limit.bound)}" if limit else ""
        rows.add_row(
            label(row.metric),
            *([bound] if limits else []),
            _beside_limit(row.default, limit, shown),
            _beside_limit(row.best, limit, shown),
            *_difference(row.difference, shown),
            words.number(ratio),
        )
    hours = [tuned.hours_a_thousand(name) for name in (DEFAULT, BEST)]
    if tuned.price is not None and None not in hours:
        money = [tuned.price.show(tuned.price.amount * found) for found in hours if found is not None]
        rows.add_row("Cost of 1,000 requests", *([""] if limits else []), *money)
    return align_unequal(rows)


def _beside_limit(value: float | None, limit: Limit | None, shown: Unit) -> Text:
    """Return a number, marked where it is outside of its limit."""
    outside = limit is not None and value is not None and limit.margin(value) < 0
    mark = " !" if outside else "  " if limit is not None else ""
    return Text(f"{shown.show(value)}{mark}", style="bold red" if outside else "")


def _bindings(tuned: Tuned) -> Iterator[RenderableType]:
    """Yield what binds the default and the best at the goal's number, and what would help the best."""
    found = [(name, binds) for name in (DEFAULT, BEST) if (binds := tuned.binding(name)) is not None]
    if not found:
        return
    lines = PageTable.grid(padding=(0, 2, 0, 0))
    for name, binds in found:
        lines.add_row(name, Text(binds.what, style="bold"), Prose(binds.evidence))
    yield Text()
    yield Text(f"What binds {label(tuned.goal.metric)}", style="bold")
    yield lines
    name, binds = found[-1]
    if name == BEST:
        yield Text(f"What would help next: {binds.helps}.", style="bold")


def _difference(estimate: Estimate, shown: Unit) -> tuple[str, Text]:
    """Return a difference and its interval, marked if that leaves out 0."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return _signed(estimate.value, shown), Text(words.MISSING, style="dim")
    between = f"{_signed(estimate.low, shown)} to {_signed(estimate.high, shown)}"
    unequal = estimate.excludes(0.0)
    marked = Text(f"{between}{UNEQUAL if unequal else ''}", style="bold" if unequal else "dim")
    return _signed(estimate.value, shown), marked


def _signed(value: float | None, shown: Unit) -> str:
    return ("+" if value is not None and value > 0 else "") + shown.show_difference(value)


def _notes(tuned: Tuned) -> Iterator[str]:
    shown, limits = unit(tuned.goal.metric), tuned.goal.limits
    if all(trial.value is None for trial in tuned.trials):
        yield f"{label(tuned.goal.metric)} was never measured in the search: there is no best to find"
    elif tuned.best.more_lost:
        yield "every setting that was tried completes fewer requests than the default, or breaks a limit"
    elif not tuned.best.holds:
        yield (
            f"no setting that was tried keeps {' and '.join(map(written_limit, limits))}; "
            "best is the one that is least outside"
        )
    elif tuned.best.value == tuned.default.value:
        yield "nothing that was tried is better than the default"
    losing = sum(bool(trial.more_lost) for trial in tuned.trials)
    if losing:
        some = f"{losing} of {exactly(len(tuned.trials), 'setting')}"
        yield (
            f"{some} completed fewer requests than the default and could not win; a --constraint on a number "
            "of requests, such as requests.completed, takes the place of this rule"
        )
    for limit in limits:
        (kept, seeds), (before, _) = (tuned.kept_by(limit, name) for name in (BEST, DEFAULT))
        yield (
            f"{written_limit(limit)}: kept with {kept} of {seeds} seeds by the best, "
            f"with {before} by the default"
        )
    yield (
        f"in the search, seeds {tuned.seeds[0]} to {tuned.seeds[-1]}: {shown.show(tuned.default.value)} by "
        f"default, {shown.show(tuned.best.value)} at best; the best of many is partly luck, so it ran again "
        "with other seeds"
    )
    yield f"interval: BCa bootstrap of the mean difference, paired by seed; bold and {UNEQUAL}: 0 is outside"
