"""Dynamo's policy file: YAML, as `--router-policy-config` reads it."""

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from sim.base import reading
from sim.base.errors import InputError
from sim.router.queue.policy_config import PolicyConfig
from sim.router.renamed import SECTIONS


def read_policy_file(path: Path) -> PolicyConfig | None:
    """Return what a file says of policy classes; None: it has nothing but `settings_in_policy_file`.

    Raises:
        InputError: it cannot be read, is no YAML, or says what is not known or does not go together.
    """
    content = _read(path)
    if "request_classifier" in content:
        raise InputError(f"{path}: request_classifier is not read: no such classifier is modelled")
    classes = {key: value for key, value in content.items() if key not in SECTIONS}
    if content and not classes:
        return None
    try:
        return PolicyConfig.model_validate(classes)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(map(str, problem["loc"]))
        reason = problem["msg"].removeprefix("Value error, ")
        raise InputError(f"{path}: {where}: {reason}" if where else f"{path}: {reason}") from error


def settings_in_policy_file(path: Path) -> dict[str, Any]:
    """Return the sections of a file that are settings of the router, as they are written.

    Raises:
        InputError: it cannot be read, or is no YAML.
    """
    return {key: value for key, value in _read(path).items() if key in SECTIONS}


def _read(path: Path) -> dict[Any, Any]:
    try:
        content: Any = yaml.safe_load(reading.text(path))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        first, *_ = str(error).splitlines() or [type(error).__name__]
        raise InputError(f"{path}: not a YAML file: {first}") from error
    if not isinstance(content, dict):
        raise InputError(f"{path}: a policy file has keys such as policy_classes")
    return content
