"""Dynamo's policy file: YAML, as `--router-policy-config` reads it."""

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from sim.base import reading
from sim.base.errors import InputError
from sim.router.queue.policy_config import PolicyConfig

_ELSEWHERE = {
    "worker_selection": "router.policy names who chooses",
    "router": "the keys of [router] are its settings",
    "request_classifier": "no such classifier is modelled",
}
"""Keys of other parts of the file, and what stands for them here."""


def read_policy_file(path: Path) -> PolicyConfig:
    """Return what a file says of policy classes.

    Raises:
        InputError: it cannot be read, is no YAML, or says what is not known or does not go together.
    """
    try:
        content: Any = yaml.safe_load(reading.text(path))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        first, *_ = str(error).splitlines() or [type(error).__name__]
        raise InputError(f"{path}: not a YAML file: {first}") from error
    if not isinstance(content, dict):
        raise InputError(f"{path}: a policy file has keys such as policy_classes")
    for key, instead in _ELSEWHERE.items():
        if key in content:
            raise InputError(f"{path}: {key} is not read: {instead}")
    try:
        return PolicyConfig.model_validate(content)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(map(str, problem["loc"]))
        reason = problem["msg"].removeprefix("Value error, ")
        raise InputError(f"{path}: {where}: {reason}" if where else f"{path}: {reason}") from error
