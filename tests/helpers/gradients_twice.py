"""Prints digests of repeated gradients of a policy: `python gradients_twice.py packed|padded`."""

import hashlib
import sys
from dataclasses import replace

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

from agents.engines import bandit
from agents.engines.model import Policy
from agents.engines.sampling import Sampling
from agents.rollout import Prompt, Responses

NUM_PROMPTS, GROUP_SIZE, LENGTH = 3, 64, 24
"""An odd number of prompts: the rows of one are on both of two threads."""


def policy(packs: bool) -> Policy:
    torch.manual_seed(0)
    sizes = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 97}
    policy = Policy(Qwen2ForCausalLM(Qwen2Config(**sizes, **heads)).eval())
    policy.packs = packs
    return policy


def responses() -> Responses:
    generator = torch.Generator().manual_seed(1)
    prompts = [
        Prompt(tuple(torch.randint(97, (20,), generator=generator).tolist()))
        for _ in range(NUM_PROMPTS)
    ]
    count = NUM_PROMPTS * GROUP_SIZE
    tokens = torch.randint(97, (count, LENGTH), generator=generator)
    own = tuple(prompt for prompt in prompts for _ in range(GROUP_SIZE))
    return replace(bandit.respond(range(count), tokens, [LENGTH] * count), prompts=own)


def digest(policy: Policy, responses: Responses) -> str:
    """Digest of the gradients of all log-probabilities."""
    policy.zero_grad()
    policy(responses, Sampling())[0].pow(2).mean().backward()
    total = hashlib.sha256()
    for weight in policy.parameters():
        assert weight.grad is not None
        total.update(weight.grad.numpy().tobytes())
    return total.hexdigest()


if __name__ == "__main__":
    model, sample = policy(packs=sys.argv[1] == "packed"), responses()
    print(*(digest(model, sample) for _ in range(8)))
