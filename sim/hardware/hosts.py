"""What hosts do for a prompt in time that stops the tokens of others: the client, the processes of workers.

All of it is 0 unless a scenario says otherwise. `docs/hosts.md` says how each number was measured.
"""

from typing import TYPE_CHECKING

from pydantic import create_model

from sim.base.settings import Settings, all_unset
from sim.base.units import Seconds
from sim.hardware.coefficient_file import Coefficient


class HostCoefficients(Settings):
    """The work of hosts that grows with prompts; 0: it takes no time."""

    client_s_per_token: Seconds = 0.0
    """The client's one thread, for each token of a prompt that it posts: meanwhile it reads no answer of the
    run."""
    relay_s_per_token: Seconds = 0.0
    """The process in front of an engine, for each token of a prompt that it hands over: meanwhile it passes
    on no token of its worker."""
    admit_s_per_token: Seconds = 0.0
    """The engine's loop, for each token of a prompt that it admits: meanwhile no step of the worker begins
    and no output is processed. What is computed goes on."""
    post_s_per_descriptor: Seconds = 0.0
    """The loop of a decode engine, for each descriptor of a pull that it posts, in the same way; above 0, in
    place of `per_descriptor_s` of the links."""
    handoff_step_s: Seconds = 0.0
    """By how much longer the first step takes that computes a token of a prompt which was pulled."""


NOTHING = HostCoefficients()
"""None of it takes time."""

HOST_PRIORS = {
    "client_s_per_token": Coefficient(
        value="0.11us",
        range=("0.06us", "0.22us"),
        source="CPU time in which vLLM 0.28.0's bench client posts 213K ids: on a Xeon 24 ms with the "
        "reading of a test server, on shared cores of an EPYC 43 ms; range: other cores",
    ),
    "relay_s_per_token": Coefficient(
        value="0.07us",
        range=("0.02us", "0.14us"),
        source="of 213K ids on a Xeon: largest id 3.4 ms and msgpack 1.6 ms, measured; Dynamo's request as a "
        "Python dict 10 ms, an estimate; range: without that, and twice as long",
    ),
    "admit_s_per_token": Coefficient(
        value="0.09us",
        range=("0.045us", "0.18us"),
        source="of 213K ids on a Xeon: msgpack 8.8 ms, request 0.7 ms, hashes of 800 tokens 5.5 ms, row of "
        "the batch 4.4 ms, measured; range: a factor of two",
    ),
    "post_s_per_descriptor": Coefficient(
        value="3.5us",
        range=("2.4us", "3.8us"),
        source="129 ms for 40,064 (vLLM issue 34054), 6.7 ms for 1,785 (vLLM issue 50913), 46 ms for 18,880 "
        "(NIXL issue 1514); 2.5 us with NIXL 1.5.1 in host memory",
    ),
    "handoff_step_s": Coefficient(
        value="0s",
        range=("0s", "100ms"),
        source="not measured: such a step is outside of the full CUDA graph (vLLM issues 45237 and 56975); "
        "the greatest value is a guess",
    ),
}
"""What is known of each, and how far it may be off; no value comes from a latency of a published cluster."""

if TYPE_CHECKING:
    _Given = Settings
else:
    _Given = create_model("_Given", __base__=Settings, __module__=__name__, **all_unset(HostCoefficients))


class HostSettings(_Given):
    """What hosts do for prompts. Unset coefficients are 0, or what was measured."""

    measured: bool = False
    """Whether unset coefficients are those of `sim.hardware.hosts.HOST_PRIORS`, drawn with `timing.draw`."""
    coalesce: bool = False
    """Whether tokens of a stream that wait for the process in front of their engine leave it as one chunk, as
    from vLLM's AsyncLLM: gaps between tokens are then gaps between chunks."""

    def coefficients(self, draw: int = 0) -> HostCoefficients:
        """Return the coefficients, at a draw those that were measured drawn over their ranges."""
        found: dict[str, float] = {}
        if self.measured:
            known = HOST_PRIORS.items()
            found = {name: e.uncertain.drawn(name, draw) if draw else e.value for name, e in known}
        given = {name: getattr(self, name) for name in HostCoefficients.model_fields}
        return HostCoefficients(**found | {name: value for name, value in given.items() if value is not None})
