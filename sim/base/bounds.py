"""Numbers that settings hold: every one has a least and a greatest value, so that results stay finite."""

from typing import Annotated

from pydantic import Field

MOST = 10**9
"""Of what is counted: tokens, blocks, bytes of a parameter's shape."""
LARGEST_WEIGHT = 1e12
LONGEST_S = 1e9
"""Thirty years. Doubles still tell 0.1 us apart there."""

Count = Annotated[int, Field(gt=0, le=MOST)]
CountOrZero = Annotated[int, Field(ge=0, le=MOST)]
Layers = Annotated[int, Field(gt=0, le=10_000)]
LayersOrZero = Annotated[int, Field(ge=0, le=10_000)]
"""Of a model: they are looked at one by one."""
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Weight = Annotated[float, Field(ge=0, le=LARGEST_WEIGHT, allow_inf_nan=False)]
Factor = Annotated[float, Field(ge=1e-9, le=1e9, allow_inf_nan=False)]
