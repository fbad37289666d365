"""Sampling with vLLM, in the trainer's process or on a server that takes its weights."""

import importlib.util

import torch


def uses_vllm(sampler: str) -> bool:
    """True if vLLM samples: by the setting, or by default with a GPU and vLLM installed."""
    if sampler == "auto":
        return torch.cuda.is_available() and importlib.util.find_spec("vllm") is not None
    return sampler == "vllm"
