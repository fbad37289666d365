"""Images through vLLM on a GPU: handover, agreement, sleep and memory, with random weights.

Usage: python tests/helpers/vllm_gpu.py EMPTY_FOLDER [tiny|small|3b]
"""

import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from transformers import GenerationConfig, Qwen2_5_VLForConditionalGeneration

from agents.engines.load import load_model
from agents.engines.model import Policy
from agents.engines.optimizer import Optimization
from agents.engines.sampling import Sampling
from agents.engines.torch import TorchEngine
from agents.engines.vllm.sampler import VLLMSampler
from agents.training import parity
from benchmarks.tiny import model as tiny_model
from helpers.tiny_engines import observations

LENGTH = 64
SHAPES = {
    # For a CPU.
    "tiny": {
        "text": {
            "hidden_size": 64,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 1,
        },
        "sections": [4, 6, 6],
        "vision": {"depth": 2, "hidden_size": 32, "intermediate_size": 48, "num_heads": 2},
    },
    "small": {
        "text": {
            "hidden_size": 512,
            "intermediate_size": 1024,
            "num_hidden_layers": 4,
            "num_attention_heads": 8,
            "num_key_value_heads": 2,
        },
        "sections": [8, 12, 12],
        "vision": {"depth": 4, "hidden_size": 256, "intermediate_size": 512, "num_heads": 4},
    },
    # Qwen/Qwen2.5-VL-3B-Instruct
    "3b": {
        "text": {
            "hidden_size": 2048,
            "intermediate_size": 11008,
            "num_hidden_layers": 36,
            "num_attention_heads": 16,
            "num_key_value_heads": 2,
        },
        "sections": [16, 24, 24],
        "vision": {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16},
    },
}


def write(folder: Path, shape: dict) -> None:
    """A Qwen2.5-VL of a shape, with random weights, in Hugging Face format."""
    tokens = tiny_model.tokenizer(["What is the sum of the numbers? How many letters are there?"])
    config = tiny_model.config(tokens)
    for part, sizes in (
        (config.text_config, shape["text"]),
        (config.vision_config, shape["vision"]),
    ):
        for name, value in sizes.items():
            setattr(part, name, value)
    config.text_config.layer_types = ["full_attention"] * config.text_config.num_hidden_layers
    config.text_config.rope_parameters["mrope_section"] = shape["sections"]
    config.vision_config.out_hidden_size = config.text_config.hidden_size
    depth = config.vision_config.depth
    step = max(1, depth // 4)
    config.vision_config.fullatt_block_indexes = list(range(step - 1, depth, step))
    config.initializer_range = 0.02
    torch.manual_seed(0)
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        model = Qwen2_5_VLForConditionalGeneration(config).bfloat16()
    end, pad = tokens.convert_tokens_to_ids([tokens.eos_token, tokens.pad_token])
    model.generation_config = GenerationConfig(eos_token_id=end, pad_token_id=pad)
    model.save_pretrained(folder)
    tokens.save_pretrained(folder)
    tiny_model.image_processor(max_tokens=1280).save_pretrained(folder)


def used() -> float:
    """GiB of this GPU that are taken, by whomever."""
    if not torch.cuda.is_available():
        return 0.0
    free, total = torch.cuda.mem_get_info()
    return round((total - free) / 2**30, 2)


def main(folder: Path, shape: dict) -> dict:
    write(folder, shape)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model, chat = load_model(str(folder), device, torch.bfloat16)
    sampling = Sampling(1.0, chat.banned)
    engine = TorchEngine(Policy(model), chat, sampling, Optimization(1e-6, 10))
    results: dict = {"gib": {"trainer": used()}}
    began = time.perf_counter()
    options = {"load_format": "dummy", "max_model_len": 4096}
    sampler = VLLMSampler(folder, chat, sampling, LENGTH, options=options)
    results["start_s"] = round(time.perf_counter() - began, 1)
    rows = observations((0, 1, 3, 2), group_size=8)
    rng = np.random.default_rng(1)
    large = (rng.integers(0, 256, (700, 500, 3), dtype=np.uint8),)
    rows["images"] = (*rows["images"][:-8], *[large] * 8)
    for step in range(3):
        began = time.perf_counter()
        sampler.load_weights(engine.checkpoint_weights())
        results[f"handover_{step}_s"] = round(time.perf_counter() - began, 2)
        compared = parity.compare(engine, sampler, chat, rows)
        print(compared)
        compared.check(parity.tolerance(torch.bfloat16))
        results[f"difference_{step}"] = [compared.mean, compared.max]
        prompts = sampler.encode(rows)
        responses = sampler.generate(prompts, (step,))
        again = sampler.generate(prompts, (step,))
        results[f"same_{step}"] = (again.tokens == responses.tokens).float().mean().item()
        assert not set(responses.tokens[responses.mask].tolist()) & set(chat.banned)
        sampler.sampling = replace(sampling, temperature=0.0)
        sampler.generate(prompts, (step,))
        sampler.sampling = sampling
        results["gib"][f"sampling_{step}"] = used()
        sampler.release()
        results["gib"][f"released_{step}"] = used()
        with torch.no_grad():
            for weight in engine.policy.parameters():
                weight.add_(0.01 * torch.randn_like(weight))
    sampler.close()
    results["gib"]["closed"] = used()
    return results


if __name__ == "__main__":
    size = sys.argv[2] if len(sys.argv) > 2 else "small"
    print(json.dumps(main(Path(sys.argv[1]), SHAPES[size]), indent=1))
