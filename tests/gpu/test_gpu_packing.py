"""The kernels that packed rows and images take on a GPU: pytest -m gpu tests/gpu."""

import copy

import pytest
import torch
from helpers import tiny_engines, vision_models
from torch import nn

from agents.engines import attention
from agents.engines.attention import image_attention, packed_attention
from agents.engines.load import apply_liger
from agents.engines.model import Policy
from agents.engines.packing import pack
from agents.engines.sampling import Sampling

pytestmark = pytest.mark.gpu

PROMPTS, ROWS = (40, 300, 3), (0, 0, 0, 1, 1, 2, 2)
LENGTHS = (5, 60, 3, 20, 30, 2, 0)
SIZES = (7, 300, 64, 1)
"""Patches of images."""
CPU = torch.device("cpu")


def assert_equal_on_both_devices(read, shapes, dtype):
    """Compares: outputs and gradients in half precision on the GPU are near those in float64."""
    results = {}
    for device, kind in (("cpu", torch.float64), ("cuda", dtype)):
        generator = torch.Generator().manual_seed(0)
        parts = [
            torch.randn(shape, generator=generator).to(device, dtype).to(kind).requires_grad_()
            for shape in shapes
        ]
        output = read(*parts)
        toward = torch.randn(output.shape, generator=generator).to(device, dtype).to(kind)
        slopes = torch.autograd.grad(output, parts, toward)
        results[device] = [value.detach().double().cpu() for value in (output, *slopes)]
    for value, expected in zip(results["cuda"], results["cpu"], strict=True):
        # A mantissa of 8 bits, over sums of a few hundred terms.
        assert (value - expected).norm() / expected.norm() < 0.01


@pytest.mark.parametrize("window", [None, 16])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_kernel_reads_what_padded_segments_do(dtype, window):
    torch.manual_seed(0)
    shapes = [(1, heads, pack(PROMPTS, ROWS, LENGTHS, CPU).size, 64) for heads in (8, 2, 2)]

    def read(*parts):
        packing = pack(PROMPTS, ROWS, LENGTHS, parts[0].device)
        options = {"packing": packing, "sliding_window": window}
        return packed_attention(nn.Identity(), *parts, None, **options)[0]

    assert_equal_on_both_devices(read, shapes, dtype)


@pytest.mark.parametrize("width", [16, 64, 80, 128])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_one_kernel_reads_each_image_by_itself(dtype, width, monkeypatch):
    kernel, calls = attention.varlen.varlen_attn, []
    monkeypatch.setattr(
        attention.varlen, "varlen_attn", lambda *a, **k: calls.append(1) or kernel(*a, **k)
    )

    def read(*parts):
        ends = torch.tensor(SIZES).cumsum(0)
        ends = nn.functional.pad(ends, (1, 0)).to(parts[0].device, torch.int32)
        lengths = {"cu_seq_lens_q": ends, "max_length_q": max(SIZES)}
        return image_attention(nn.Identity(), *parts, None, **lengths)[0]

    assert_equal_on_both_devices(read, [(1, 4, sum(SIZES), width)] * 3, dtype)
    assert len(calls) == 1


@pytest.mark.parametrize("kind", vision_models.KINDS)
def test_features_of_images_in_half_precision_are_as_near_as_those_of_transformers(kind):
    """Beside float64, and the loop over images by which transformers' `sdpa` computes."""
    grid = torch.tensor([[1, 4, 6], [1, 8, 4], [1, 2, 2]])
    models = [vision_models.make(kind) for _ in range(3)]
    towers = [model.model.visual for model in models]
    config = towers[0].config
    patch = config.in_channels * config.temporal_patch_size * config.patch_size**2
    pixels = torch.randn(int(grid.prod(1).sum()), patch, dtype=torch.float64)
    for model in models[1:]:
        model.to("cuda", torch.bfloat16)
    attention.enable_packing(models[2])

    def features(model):
        found = model.model.get_image_features(
            pixels.to(model.device, model.dtype), grid.to(model.device), return_dict=True
        )
        return torch.cat(tuple(found.pooler_output)).double().cpu()

    with torch.no_grad():
        exact, plain, packed = map(features, models)
    assert (packed - exact).norm() < 0.05 * exact.norm()
    assert (packed - exact).norm() < 1.5 * (plain - exact).norm()


def responses_for(chat):
    prompts = chat.encode(tiny_engines.observations(num_images=(0, 1, 3, 2), group_size=4))
    lengths = (9, 1, 40, 6, 0, 7, 2, 2, 30, 1, 25, 1, 5, 70, 3, 3)
    return tiny_engines.respond(prompts, lengths, chat)


@pytest.mark.parametrize("fused", [False, True])
def test_packed_is_padded_in_bf16(tmp_path, fused):
    model, chat = tiny_engines.pristine(tiny_engines.write(tmp_path))
    exact, responses = Policy(copy.deepcopy(model)), responses_for(chat)
    policy = Policy(copy.deepcopy(model).to("cuda", torch.bfloat16))
    if fused:
        pytest.importorskip("liger_kernel", reason="needs liger-kernel")
        assert apply_liger(policy.model)
    padded = copy.deepcopy(policy)
    padded.packs = False
    assert policy.packs
    with torch.no_grad():
        expected, _ = exact(responses, Sampling())
        errors = [
            (one(responses, Sampling())[0].cpu() - expected).norm() for one in (policy, padded)
        ]
    assert errors[0] < 0.05 * expected.norm()
    assert errors[0] < 1.5 * errors[1]
