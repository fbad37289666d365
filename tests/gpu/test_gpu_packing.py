"""The kernels that packed rows take on a GPU: pytest -m gpu tests/gpu."""

import copy

import pytest
import torch
from helpers import tiny_engines
from torch import nn

from agents.engines.attention import packed_attention
from agents.engines.load import apply_liger
from agents.engines.model import Policy
from agents.engines.packing import pack
from agents.engines.sampling import Sampling

pytestmark = pytest.mark.gpu

PROMPTS, ROWS = (40, 300, 3), (0, 0, 0, 1, 1, 2, 2)
LENGTHS = (5, 60, 3, 20, 30, 2, 0)


@pytest.mark.parametrize("window", [None, 16])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_kernel_reads_what_padded_segments_do(dtype, window):
    torch.manual_seed(0)
    results = {}
    for device, kind in (("cpu", torch.float64), ("cuda", dtype)):
        packing = pack(PROMPTS, ROWS, LENGTHS, torch.device(device))
        generator = torch.Generator().manual_seed(0)
        shapes = ((1, heads, packing.size, 64) for heads in (8, 2, 2))
        parts = [
            torch.randn(shape, generator=generator).to(device, dtype).to(kind).requires_grad_()
            for shape in shapes
        ]
        options = {"packing": packing, "sliding_window": window}
        read, _ = packed_attention(nn.Identity(), *parts, None, **options)
        toward = torch.randn(read.shape, generator=generator).to(device, dtype).to(kind)
        slopes = torch.autograd.grad(read, parts, toward)
        results[device] = [value.detach().double().cpu() for value in (read, *slopes)]
    for value, expected in zip(results["cuda"], results["cpu"], strict=True):
        # A mantissa of 8 bits, over sums of a few hundred terms.
        assert (value - expected).norm() / expected.norm() < 0.01


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
