"""vLLM 0.28.0's methods of speculative decoding, by their names in `--speculative-config`."""

from typing import Literal

Method = Literal[
    "eagle", "eagle3", "mtp", "dflash", "dspark", "draft_model", "ngram", "ngram_gpu", "medusa", "suffix"
]
READS_HIDDEN_STATES = ("eagle", "eagle3", "mtp", "dflash", "dspark")
"""Methods that draft from the target's hidden states: vLLM's `use_eagle`."""
ASYNC = (*READS_HIDDEN_STATES, "draft_model", "ngram_gpu")
"""Methods under which scheduling stays asynchronous."""
