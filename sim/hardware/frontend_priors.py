"""Time in front of and behind the engine where only kernels were measured."""

from sim.hardware.coefficient_file import Coefficient

FRONTEND_PRIORS = {
    "alpha_in_s": Coefficient(
        value="9.3ms",
        range=("4.65ms", "18.6ms"),
        source="no kernel; BLIS's fit to public runs of Llama-2 and Mixtral on H100, good to a factor of two",
    ),
    "alpha_in_s_per_token": Coefficient(
        value="1us",
        range=("0.35us", "2us"),
        source="no kernel; tokenising: span of what public simulators assume, not measured",
    ),
    "alpha_out_s": Coefficient(value="1ms", range=("0s", "2ms"), source="no kernel; a guess"),
}
"""Time outside of the engine, of which kernels know nothing."""
