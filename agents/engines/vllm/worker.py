"""Registration of the receiver of weights over gloo, in the workers of a vLLM server.

vLLM imports this module for `--worker-extension-cls`, and then finds the receiver by its name in
`--weight-transfer-config`; see `agents.engines.vllm_server`.
"""

import importlib

from agents.engines.vllm.weight_transfer import GLOO, Receiver

transfer = importlib.import_module("vllm.distributed.weight_transfer")


class GlooReceiver(Receiver, transfer.WeightTransferEngine):
    """Back end of vLLM's weight transfer for CPUs; see `Receiver`."""

    supports_draft_weight_update = False


class Registration:
    """Extension of vLLM's workers without methods: importing it registers `GlooReceiver`."""


if GLOO not in transfer.WeightTransferEngineFactory._registry:
    transfer.WeightTransferEngineFactory.register_engine(GLOO, GlooReceiver)
