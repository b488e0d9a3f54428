"""`sim schema`: the JSON Schema of a scenario, for editors."""

import json

import typer


def schema() -> None:
    """Print the JSON Schema of a scenario, for editors that check and complete TOML."""
    from pydantic.json_schema import GenerateJsonSchema

    from sim.scenario.scenario import scenario_schema

    dialect = {"$schema": GenerateJsonSchema.schema_dialect}
    typer.echo(json.dumps({**dialect, **scenario_schema()}, indent=2))
