"""The file `study.toml` of a published cluster: what it is, what runs stand for it, what a fit may move."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, PositiveInt, ValidationInfo, field_validator, model_validator

from sim.base.messages import did_you_mean
from sim.base.settings import Settings
from sim.hardware.coefficient_file import FrontendCoefficients
from sim.hardware.step_time import StepCoefficients
from sim.published.assume import AssumptionSet
from sim.published.baselines import Baseline
from sim.published.measures import label, level_text
from sim.published.static import StaticSettings
from sim.published.study import SESSIONS
from sim.published.targets import Target

TAG = "tag"
"""In place of a key: levels are tags of one run."""
ConfigurationName = Annotated[str, Field(pattern=r"^[^\s@]+$")]
"""As `configurations` in targets.csv has it: between blanks, before an "@"."""


class FitSettings(Settings):
    """What a fit to the rows moves."""

    rows: str
    """What the rows that may be fitted are called: "rows of ..."."""
    coefficients: tuple[str, ...] = Field(min_length=1)
    """What these rows can tell anything of."""

    @field_validator("coefficients")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        known = [*StepCoefficients.model_fields, *FrontendCoefficients.model_fields]
        for name in names:
            if name not in known:
                raise ValueError(f"{name} is none{did_you_mean(name, known)}")
            if names.count(name) > 1:
                raise ValueError(f"{name} is there twice")
        return names


class VariantSettings(Settings):
    """One of the cluster's configurations: its scenario under settings."""

    title: str = ""
    """What a person reads; empty: its name."""
    set: tuple[str, ...] = ()
    """Such as "workers.count=8"."""


class WorkloadSettings(Settings):
    """A recorded workload that `--trace NAME=FILE` may give."""

    set: tuple[str, ...] = ()
    """What else it needs in every scenario, such as "workload.chunk_tokens=512"."""


class AB(Settings):
    """Two configurations that were measured against each other."""

    title: str
    base: str
    other: str
    """For every number printed of both at a level, is it above or below that of base as printed?"""
    same_within: float = Field(default=0.05, ge=0, le=1)
    """Relative: such a difference counts as none."""

    @field_validator("other")
    @classmethod
    def _two(cls, other: str, info: ValidationInfo) -> str:
        if other == info.data.get("base"):
            raise ValueError("is base itself")
        return other


class ClusterSettings(Settings):
    """The file."""

    name: str
    """In sentences: "fitted to ..."."""
    title: str = ""
    """In tables; empty: the name."""
    source: str
    """Where it was published."""
    commit: str = ""
    licence: str = ""
    hardware: str = ""
    versions: str = ""
    known: tuple[str, ...] = ()
    """What the source says of how it was measured, in sentences."""
    assumed: tuple[str, ...] = ()
    """What it leaves open and is assumed here."""
    scenario: str | None = None
    """A file of the folder: what `variants` set their settings in."""
    variants: Mapping[ConfigurationName, VariantSettings] = Field(default_factory=dict)
    workload: Mapping[str, WorkloadSettings] = Field(default_factory=dict)
    level: str | None = None
    """The scenario's key that the column `level` sets; "tag": it stands for a tag of requests, such as a
    stage of one run; not given: rows have none."""
    level_title: str = ""
    """What a person calls it: "conversations in flight"; empty: the key."""
    seeds: PositiveInt = 5
    """How many runs a place gets unless something else is asked for."""
    ab: tuple[AB, ...] = ()
    session_step: PositiveInt = 1
    """A range of session counts stands for its multiples of this."""
    typical_sessions: tuple[PositiveInt, ...] = ()
    """Session counts that stand for a range, or the nearest to them, where runs are many: in the study of
    assumptions and in a fit. None: all stand for themselves."""
    static: StaticSettings = StaticSettings()
    """What the metrics of static rows are."""
    baseline: tuple[Baseline, ...] = ()
    assumptions: Mapping[str, AssumptionSet] = Field(default_factory=dict)
    """Sets of them, by the names that `--assume` takes."""
    fit: FitSettings | None = None
    """Unset: nothing is fitted."""

    @model_validator(mode="after")
    def _variants_have_a_scenario(self) -> "ClusterSettings":
        if self.variants and self.scenario is None:
            raise ValueError('variants: need a scenario, such as scenario = "scenario.toml"')
        return self

    @property
    def heading(self) -> str:
        """What a table calls the cluster."""
        return self.title or self.name

    @property
    def tag_level(self) -> bool:
        """Whether levels stand for tags of one run."""
        return self.level == TAG

    @property
    def scale(self) -> str:
        """What a person calls the level."""
        return self.level_title or ("sessions" if self.level in {None, SESSIONS} else str(self.level))

    def called(self, configuration: str) -> str:
        """Return what a person calls a configuration."""
        variant = self.variants.get(configuration)
        return variant.title if variant and variant.title else configuration

    def row_name(self, row: Target) -> str:
        """Return what a person calls a row: "8 workers, KV router: TTFT p50 at 12 requests/s"."""
        between = {"difference": " less ", "ratio": " / "}.get(row.combine or "", ", ")
        names = [self.called(name) for name in row.configurations]
        of = between.join(names[::-1] if row.combine == "difference" else names)
        at = f" at {level_text(row.level)} {self.scale}" if row.level is not None else ""
        return f"{of}: {label(row.number)}{at}" if of else f"{label(row.number)}{at}"
