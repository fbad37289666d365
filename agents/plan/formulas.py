"""Memory formulas, in bytes; `size` is the bytes of one number: 2 in bf16, 4 in fp32.

Sources: Rajbhandari et al., ZeRO (arXiv:1910.02054), section 3.1 and figure 1, for the state of the
weights and its sharding; Korthikanti et al., Reducing Activation Recomputation in Large Transformer
Models (arXiv:2205.05198), section 4, for activations. Their eq. 1 counts 34 s b h + 5 a s² b bytes
a layer of GPT; here fused attention replaces the second term by one number a row, and the first is
counted for RMS norms, SwiGLU and grouped queries as transformers implements them: a test compares
it with the tensors that autograd saves.
"""

from dataclasses import dataclass

from agents.plan.shapes import Shape, Tower

GIB = 2**30

BUCKET, LIVE = 500_000_000, 1_000_000_000
"""DeepSpeed's defaults: elements reduced together, and weights that ZeRO 3 gathers at most."""


@dataclass(frozen=True)
class Sharding:
    """Distribution of weights, gradients and optimizer over ranks."""

    num_ranks: int = 1
    stage: int = 0
    """Of ZeRO: 1 shards the optimizer, 2 gradients too, 3 weights too."""
    half: bool = False
    """bf16 with fp32 masters; else fp32."""
    offload_optimizer: bool = False
    offload_weights: bool = False
    fused: bool = False
    """True if the optimizer steps in place, as in plain PyTorch."""


def state_bytes(
    num_weights: float, num_trained: float, sharding: Sharding, *, largest: float = 0
) -> dict[str, float]:
    """Bytes on one rank of weights, gradients and AdamW, and of buffers for them, by name.

    ZeRO counts 2 + 2 + 12 bytes of each trained weight: weight, gradient, and in fp32 master and
    two moments. Here gradients are 4: they are accumulated in fp32, as the DeepSpeed engine
    configures. With N ranks stage 1 leaves 12 / N, stage 2 also 4 / N, stage 3 also 2 / N of them.
    "kept gradients" and "kept buckets" stay between steps: gradients of all weights for stage 1 in
    bf16, which has them in bf16 too until the step ends, and both for stage 3. Stages 1 and 2 have
    the gradients of an optimizer that is offloaded on the GPU until the step, and a buffer for the
    largest of them.

    Args:
        num_weights: Of the model.
        num_trained: That the optimizer updates.
        sharding: Of both.
        largest: Numbers of the largest tensor that is trained.

    Source: ZeRO, section 5; buffers and copies, DeepSpeed 0.19 (`bf16_optimizer.py`,
    `stage_1_and_2.py`, `stage3.py`).
    """
    n, stage, offloads = sharding.num_ranks, sharding.stage, sharding.offload_optimizer
    size = 2 if sharding.half else 4
    shards_weights = stage == 3 and n > 1
    part = num_trained / n if stage else num_trained
    gathered = size * num_weights if shards_weights else 0
    gradients = (4 if stage or size == 4 else 2) * (part if stage >= 2 else num_trained)
    buckets = 4 * min(BUCKET, num_trained) if stage else 0
    keeps_all = stage == 1 and sharding.half and not offloads
    # The gradients of this rank, and a flat copy of them or the root of the second moments.
    step = 4 * part if sharding.fused else 4 * part + 4 * (min(part, 1e9) if stage == 3 else part)
    parts = {
        "weights": 0 if sharding.offload_weights and stage == 3 else size * num_weights,
        "masters": 4 * part if stage or size == 2 else 0,
        "moments": 8 * part,
        "gradients": gradients + (size * num_trained if keeps_all else 0),
        "kept gradients": gradients if stage == 3 or keeps_all else 0,
        "kept buckets": size * min(BUCKET, num_trained) if stage == 3 else 0,
        "buckets": buckets + min(size * LIVE, gathered),
        "step": gradients + size * num_trained + 4 * part if keeps_all else step,
        "gathered": gathered,
    }
    if shards_weights:
        parts["weights"] /= n
    if offloads:
        waiting, passing = (0, 0) if stage == 3 else (gradients, size * largest)
        parts |= dict.fromkeys(("masters", "moments", "kept gradients"), 0)
        parts |= {"gradients": waiting, "step": waiting}
        parts |= {name: parts[name] + passing for name in ("buckets", "kept buckets")}
    return parts


def layer_bytes(shape: Shape, size: int, padded_length: int = 0) -> float:
    """Bytes that one layer keeps of one token until its backward pass.

    Of each of two norms: its input in fp32, the normalised and the scaled output, and a root. Of
    attention: queries, keys, values and the output; of SwiGLU four times its width. Where sequences
    are padded to `padded_length`, keys and values are repeated for each head, and the row of the
    mask is kept.

    Source: Korthikanti et al., section 4.1, with the changes named above.
    """
    queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    norms = 2 * _norm(shape.hidden, size)
    attention = size * (2 * queries + 2 * (queries if padded_length else keys)) + 4 * shape.heads
    if shape.norms_heads:
        # Their scaled outputs are rotated, and not kept before.
        width, count = queries + keys, shape.heads + shape.kv_heads
        norms += _norm(width, size) - size * width + 4 * (count - 1)
    return norms + attention + 4 * size * shape.intermediate + size * padded_length


def _norm(width: int, size: int) -> int:
    return 4 * width + 2 * size * width + 4


def activation_bytes(
    shape: Shape, num_tokens: float, size: int, *, checkpointing: bool, padded_length: int = 0
) -> tuple[float, float]:
    """Bytes kept by a forward pass, without the head, and those of a layer in its backward pass.

    With checkpointing the first are the inputs of the layers alone, and the second include the
    recomputed activations of a layer; its gradients are three times as wide as SwiGLU.

    Source: Korthikanti et al., section 4 and, for full recomputation, section 5.
    """
    layer = layer_bytes(shape, size, padded_length)
    each = size * shape.hidden if checkpointing else layer
    activations = shape.layers * each + _norm(shape.hidden, size) + size * shape.hidden
    transient = (layer if checkpointing else 0) + 3 * size * shape.intermediate
    return num_tokens * activations, num_tokens * transient


def logit_bytes(vocabulary: int, num_tokens: float, size: int, *, distils: bool = False) -> float:
    """Bytes of the logits of `num_tokens` tokens: as computed, in fp32, and their gradient.

    With a divergence from a teacher also its logits, and the gradient of the divergence.
    """
    return num_tokens * vocabulary * ((size + 8 if size < 4 else 12) + 8 * distils)


def kv_bytes(shape: Shape, size: int) -> int:
    """Bytes of one token in the KV cache."""
    return 2 * shape.layers * shape.kv_heads * shape.head_dim * size


def image_bytes(
    tower: Tower, num_pixels: int, size: int, *, trained: bool, checkpointing: bool
) -> float:
    """Bytes of the vision tower for one image of `num_pixels`.

    A frozen tower keeps one layer at a time. A layer keeps of each patch what a layer of the
    language model keeps of a token; its values share a block with the unrotated queries and keys,
    and the output is joined from windows.
    """
    attention = 7 * size * tower.hidden + 4 * tower.heads
    layer = 2 * _norm(tower.hidden, size) + attention + 4 * size * tower.intermediate
    activations = tower.layers * (size * tower.hidden if checkpointing else layer) if trained else 0
    transient = layer if checkpointing or not trained else 0
    return num_pixels / tower.patch_size**2 * (activations + transient)


def adapter_weights(shape: Shape, rank: int) -> int:
    """Weights of LoRA adapters of a rank on every linear map of the layers.

    Source: Hu et al., LoRA (arXiv:2106.09685), section 4.1: rank x (inputs + outputs) a map.
    """
    queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    attention = 2 * (shape.hidden + queries) + 2 * (shape.hidden + keys)
    return rank * shape.layers * (attention + 3 * (shape.hidden + shape.intermediate))
