"""Lengths for vLLM, the same way on both sides: each response has a limit of its own."""

import copy
import itertools
from typing import Any

from throughput.regimes import Regime


def vllm(llm: Any, regime: Regime) -> None:
    """Makes what `llm` samples obey the lengths of the regime, from its least to its most tokens.

    Where vLLM hands a response to its core each is a request of its own, in the order of prompts;
    neither a request for several responses nor who asks makes a difference there.
    """
    core, numbers = llm.llm_engine.engine_core, itertools.count()
    add = core.add_request

    def limited(request: Any) -> Any:
        params = copy.copy(request.sampling_params)
        params.min_tokens = params.max_tokens = int(
            regime.lengths[next(numbers) % len(regime.lengths)]
        )
        request.sampling_params = params
        return add(request)

    core.add_request = limited
