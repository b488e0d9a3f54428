"""What the command line of Dynamo's frontend (1.5.0) says of a scenario's router."""

from sim.measured.formats.flags import Command
from sim.measured.mirror.found import Found
from sim.measured.mirror.unread import leave_unread

_POLICIES = ("kv", "round-robin", "random", "least-loaded", "power-of-two")
"""Modes that are also the simulator's."""
_NUMBERS = {
    "router-kv-overlap-score-credit": "overlap_score_credit",
    "router-kv-overlap-score-credit-decay": "overlap_score_credit_decay",
    "router-kv-overlap-score-weight": "overlap_score_weight",
    "router-prefill-load-scale": "prefill_load_scale",
    "router-host-cache-hit-weight": "host_cache_hit_weight",
    "router-disk-cache-hit-weight": "disk_cache_hit_weight",
    "router-decode-active-request-weight": "decode_active_request_weight",
    "router-temperature": "temperature",
    "router-active-request-expiry-secs": "active_request_expiry_secs",
}
_SWITCHES = {
    "router-assume-kv-reuse": "assume_kv_reuse",
    "router-track-active-blocks": "track_active_blocks",
    "router-track-prefill-tokens": "track_prefill_tokens",
    "router-track-output-blocks": "track_output_blocks",
}
_MODE = "router-mode"


def tell_frontend(frontend: Command, found: Found) -> None:
    """Add what the frontend's options say, and its variables DYN_ROUTER_... where an option is absent.

    Raises:
        InputError: the value of an option is not what it must be.

    """
    command = _with_variables(frontend)
    mode = command.value(_MODE) or "round-robin"
    if mode not in _POLICIES:
        found.not_like(f"--{_MODE} {mode}: not modelled; a policy can be written, see CONTRIBUTING.md")
    source = f"--{_MODE}" if _MODE in command.options else f"no --{_MODE}: Dynamo's default"
    found.tell("router.policy", mode if mode in _POLICIES else None, source)
    if mode == "kv":
        for option, key in _NUMBERS.items():
            found.tell(f"router.{key}", command.real(option), f"--{option}")
        for option, key in _SWITCHES.items():
            found.tell(f"router.{key}", command.switch(option), f"--[no-]{option}")
    weights = {*_NUMBERS, *_SWITCHES}
    known = {_MODE, *weights, *(f"no-{option}" for option in _SWITCHES)}
    others = {
        option for option in command.options if option.removeprefix("no-").startswith("router-")
    } - known
    for option in command.options:
        if option in others:
            found.not_like(f"--{option} {command.options[option]}".rstrip() + ": not modelled")
    # Weights mean nothing to another mode.
    read = {_MODE, *others, *(weights if mode == "kv" else ()), *_variables(frontend)}
    leave_unread([frontend], "the frontend", read, found)


def _with_variables(frontend: Command) -> Command:
    """Return the command with options for its variables: DYN_ROUTER_MODE=kv is --router-mode kv."""
    options = dict(frontend.options)
    for variable in _variables(frontend):
        name = variable.removeprefix("DYN_").lower().replace("_", "-")
        if not {name, f"no-{name}"} & options.keys():
            options[name] = frontend.variables[variable]
    return Command(frontend.words, options, frontend.variables, frontend.rest)


def _variables(frontend: Command) -> list[str]:
    return [name for name in frontend.variables if name.startswith("DYN_ROUTER_")]
