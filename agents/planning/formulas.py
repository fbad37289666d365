"""Bytes of each thing that a run holds: pure functions of counts.

`size` is the bytes of one number: 2 in bf16, 4 in fp32.

Sources: Rajbhandari et al., ZeRO (arXiv:1910.02054), section 3.1 and figure 1, for what is held of
each weight and how it is shared out; Korthikanti et al., Reducing Activation Recomputation in Large
Transformer Models (arXiv:2205.05198), section 4, for what is held of each token. Their eq. 1 counts
34 s b h + 5 a s² b bytes a layer of GPT; here the second term is gone, since fused attention keeps
one number for each row of it, and the first is counted anew for RMS norms, SwiGLU and grouped
queries as transformers writes them: a test holds it against the tensors that autograd saves.
"""

from dataclasses import dataclass, replace

from agents.planning.shapes import Shape, Tower

GIB = 2**30


@dataclass(frozen=True)
class States:
    """What is held of the weights, in bytes on one rank."""

    weights: float
    masters: float
    """Weights in fp32 where those that compute are in bf16."""
    gradients: float
    """In a backward pass."""
    kept_gradients: float
    """Between steps."""
    moments: float
    """Of AdamW."""
    buckets: float
    """Buffers to reduce gradients in, and weights that ZeRO 3 gathers for a layer."""
    step: float
    """Gradients and copies while the optimizer steps."""
    gathered: float
    """Weights that ZeRO 3 gathers where they are read as a whole."""
    host: float
    """In the memory of the machine instead."""


@dataclass(frozen=True)
class Sharing:
    """How weights and their state are shared out over ranks."""

    num_ranks: int = 1
    stage: int = 0
    """Of ZeRO: 1 shares the optimizer's state, 2 the gradients too, 3 the weights too."""
    half: bool = False
    """bf16 with fp32 masters; else all is fp32."""
    offload_optimizer: bool = False
    offload_weights: bool = False
    fused: bool = False
    """Whether the optimizer steps in place: plain PyTorch does, DeepSpeed's use of it not."""
    bucket: float = 500_000_000
    """Elements that are reduced together."""
    live: float = 1_000_000_000
    """Weights that ZeRO 3 gathers at most."""


def states(num_weights: float, num_trained: float, sharing: Sharing) -> States:
    """Weights, masters, gradients and AdamW's moments on one rank.

    Of each trained weight ZeRO counts 2 + 2 + 12 bytes: weight, gradient, and in fp32 master and
    two moments. Here gradients are 4: they add up in fp32, as `complete` of the DeepSpeed engine
    asks. With N ranks stage 1 leaves 12 / N, stage 2 also 4 / N, stage 3 also 2 / N of them.

    Source: ZeRO, section 5; buffers and copies, DeepSpeed 0.19 (`stage_1_and_2.py`, `stage3.py`).
    """
    n, stage = sharing.num_ranks, sharing.stage
    size = 2 if sharing.half else 4
    shards = stage == 3 and n > 1
    part = num_trained / n if stage else num_trained
    each = 4 if stage or size == 4 else 2
    gradients = each * (part if stage >= 2 else num_trained)
    buckets = 4 * min(sharing.bucket, num_trained) if stage else 0
    # The gradients of this rank, and a flat copy of them or the root of the second moments.
    step = 4 * part if sharing.fused else 4 * part + 4 * (min(part, 1e9) if stage == 3 else part)
    found = States(
        weights=size * num_weights / (n if shards else 1),
        masters=4 * part if stage or size == 2 else 0,
        gradients=gradients,
        kept_gradients=gradients if stage == 3 else 0,
        moments=8 * part,
        buckets=buckets + (size * min(sharing.live, num_weights) if shards else 0),
        step=step,
        gathered=size * num_weights if shards else 0,
        host=0,
    )
    return _offloaded(found, sharing, 4 * part)


def _offloaded(held: States, sharing: Sharing, gradients: float) -> States:
    """The same where DeepSpeed moves the optimizer, or weights too, to the machine's memory."""
    if sharing.offload_optimizer:
        host = held.masters + held.moments + gradients
        left = 0 if sharing.stage >= 2 else held.gradients
        held = replace(held, masters=0, moments=0, gradients=left, kept_gradients=0, host=host)
        held = replace(held, step=left)
    if sharing.offload_weights and sharing.stage == 3:
        held = replace(held, weights=0, host=held.host + held.weights)
    return held


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
        # Their scaled outputs only turn, and are not kept before.
        width, count = queries + keys, shape.heads + shape.kv_heads
        norms += _norm(width, size) - size * width + 4 * (count - 1)
    return norms + attention + 4 * size * shape.intermediate + size * padded_length


def _norm(width: int, size: int) -> int:
    return 4 * width + 2 * size * width + 4


def kept_activations(
    shape: Shape, num_tokens: float, size: int, *, checkpointing: bool, padded_length: int = 0
) -> float:
    """Bytes that a forward pass over `num_tokens` leaves for the backward pass, the head apart.

    With checkpointing they are the inputs of the layers alone.

    Source: Korthikanti et al., section 4 and, for full recomputation, section 5.
    """
    layer = layer_bytes(shape, size, padded_length)
    ends = _norm(shape.hidden, size) + size * shape.hidden
    each = size * shape.hidden if checkpointing else layer
    return num_tokens * (shape.layers * each + ends)


def passing_activations(
    shape: Shape, num_tokens: float, size: int, *, checkpointing: bool, padded_length: int = 0
) -> float:
    """Bytes of a layer while its backward pass runs: gradients three times as wide as SwiGLU.

    With checkpointing also what its forward pass, computed again, leaves.
    """
    again = layer_bytes(shape, size, padded_length) if checkpointing else 0
    return num_tokens * (again + 3 * size * shape.intermediate)


def logits(vocabulary: int, num_tokens: float, size: int) -> float:
    """Bytes of the logits of `num_tokens` at a time: as computed, in fp32, and their gradient."""
    return num_tokens * vocabulary * (size + 8 if size < 4 else 12)


def drawing(vocabulary: int, num_rows: float, size: int) -> float:
    """Bytes of drawing a token: logits, log-probabilities and probabilities, and sums in fp64."""
    return num_rows * vocabulary * (size + 4 + 4 + 4 + 8 + 8)


def kv_bytes(shape: Shape, size: int) -> int:
    """Bytes of one token in the cache of keys and values."""
    return 2 * shape.layers * shape.kv_heads * shape.head_dim * size


def image_tokens(tower: Tower, num_pixels: int) -> int:
    """Tokens of the language model that an image of so many pixels takes."""
    return num_pixels // (tower.patch_size * tower.merge_size) ** 2


def image_bytes(
    tower: Tower, num_pixels: int, size: int, *, trained: bool, checkpointing: bool
) -> float:
    """Bytes that the vision tower holds for one image of so many pixels.

    A frozen tower keeps nothing for a backward pass: one layer passes at a time. A layer keeps of
    each patch what a layer of the language model keeps of a token; its values lie in one block with
    the queries and keys before they turn, and the output is joined from windows.
    """
    patches = num_pixels / tower.patch_size**2
    attention = 7 * size * tower.hidden + 4 * tower.heads
    layer = 2 * _norm(tower.hidden, size) + attention + 4 * size * tower.intermediate
    if not trained:
        return patches * layer
    if checkpointing:
        return patches * (tower.layers * size * tower.hidden + layer)
    return patches * tower.layers * layer


def adapter_weights(shape: Shape, rank: int) -> int:
    """Weights of LoRA adapters of a rank on every linear map of the layers.

    Source: Hu et al., LoRA (arXiv:2106.09685), section 4.1: rank x (inputs + outputs) a map.
    """
    return rank * shape.linear_sides
