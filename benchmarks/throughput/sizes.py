"""What is compared: models of random weights, how many prompts and tokens, and with which engines.

The tokenizer has a token for each byte, and as many fillers as the vocabulary of the size asks for;
end and padding are one token, so that neither side bans any and both know the same policy.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Size:
    """A model and a rollout."""

    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv_heads: int
    num_prompts: int
    length: int
    """Tokens of a response where all are equally long."""
    vocabulary: int = 0
    """Least number of tokens."""
    group_size: int = 8
    microbatch_size: int = 64
    """Responses of one forward pass, of the peer; of ours too unless `run` says otherwise."""
    dtype: str = "float32"
    """Of the forward passes on both sides."""
    prompt: str = "plain"
    """Instruction of the environment."""
    fresh: bool = False
    """Whether each turn is a new process, where two sides do not fit into one memory."""
    sides: tuple[str, ...] = ("ours", "trl")
    turns: int = 6
    """How often each side has its turn; odd ones begin with the other side."""
    steps: int = 10
    """Of one turn."""
    hostile: tuple[int, int] = (2, 2)
    """Turns and steps under attack, where one step of the peer can take minutes."""
    cases: tuple[str, ...] = ("dapo", "grpo", "dr_grpo", "dapo-group")
    """Objectives whose loss and gradient must be equal; the last is the timed one."""
    tolerance: float = 1e-4
    """Of a gradient, relative to its length."""
    run: dict[str, Any] = field(default_factory=dict)
    """Further settings of our run."""
    peer: dict[str, Any] = field(default_factory=dict)
    """Further settings of the peer's configuration."""

    @property
    def longest(self) -> int:
        """Tokens at which a response of long-tailed length is cut."""
        return 4 * self.length

    @property
    def responses(self) -> int:
        """Of one step."""
        return self.num_prompts * self.group_size


PEER_GPU = {
    "use_vllm": True,
    "vllm_mode": "colocate",
    "vllm_gpu_memory_utilization": 0.35,
    "vllm_max_model_length": 2304,
    "gradient_checkpointing": True,
    "bf16": True,
}
OURS_GPU = {
    "engine": "deepspeed",
    "sampler": "vllm",
    "vllm": '{"gpu_memory_utilization": 0.35, "max_model_len": 2304}',
    "tokens_per_microbatch": 16384,
    "gradient_checkpointing": True,
    # With one step a rollout the trainer's own are the old ones, and neither side corrects by them.
    "sampler_log_probs": False,
}
SIZES = {
    # 0.5 million weights, 8 x 8 responses of 32 tokens.
    "tiny": Size(128, 480, 2, 4, 2, num_prompts=8, length=32),
    # 10 million.
    "small": Size(384, 1152, 6, 6, 2, num_prompts=8, length=64, turns=3, steps=3),
    # SmolLM2-135M, as it learns word problems on a CPU with bfloat16 instructions.
    "135m": Size(
        *(576, 1536, 30, 9, 3),
        num_prompts=16,
        length=20,
        vocabulary=49_152,
        microbatch_size=16,
        dtype="bfloat16",
        turns=2,
        steps=2,
        cases=("dapo-group",),
        tolerance=0.05,
        peer={"bf16": True},
    ),
    # Qwen2-1.5B.
    "1.5b": Size(
        *(1536, 8960, 28, 12, 2),
        num_prompts=64,
        length=511,
        vocabulary=151_936,
        microbatch_size=32,
        dtype="bfloat16",
        prompt="boxed",
        fresh=True,
        sides=("ours", "trl", "trl-liger"),
        turns=2,
        steps=5,
        hostile=(1, 1),
        cases=("dapo-group",),
        tolerance=0.05,
        run=OURS_GPU,
        peer=PEER_GPU,
    ),
}
# What `tests/gpu/day.py` rehearses on a CPU.
SIZES["rehearsal"] = replace(
    SIZES["tiny"],
    num_prompts=2,
    group_size=2,
    length=4,
    microbatch_size=4,
    fresh=True,
    turns=1,
    steps=1,
    cases=("dapo-group",),
)
EOS = "<|im_end|>"
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tokenizer(vocabulary: int) -> Any:
    """A token for each byte; decoding any tokens gives text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    special = [EOS, "<|im_start|>"]
    words = special + alphabet
    words += [f"filler{number}" for number in range(vocabulary - len(words))]
    bpe = Tokenizer(models.BPE({word: number for number, word in enumerate(words)}, []))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bpe.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        eos_token=EOS,
        pad_token=EOS,
        unk_token=EOS,  # the class that transformers loads for this model would add a token
        additional_special_tokens=special[1:],
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = TEMPLATE
    return fast


def write(folder: Path, size: Size, seed: int = 0) -> int:
    """Writes model and tokenizer in Hugging Face format; gives the number of weights."""
    import torch
    from transformers import GenerationConfig, Qwen2Config, Qwen2ForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    tokens = tokenizer(size.vocabulary)
    config = Qwen2Config(
        hidden_size=size.hidden,
        intermediate_size=size.intermediate,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.kv_heads,
        vocab_size=len(tokens),
        max_position_embeddings=32768,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokens.eos_token_id,
        pad_token_id=tokens.pad_token_id,
    )
    torch.manual_seed(seed)
    model = Qwen2ForCausalLM(config).to(getattr(torch, size.dtype))
    model.generation_config = GenerationConfig(
        eos_token_id=tokens.eos_token_id, pad_token_id=tokens.pad_token_id
    )
    model.save_pretrained(folder)
    tokens.save_pretrained(folder)
    return sum(weight.numel() for weight in model.parameters())
