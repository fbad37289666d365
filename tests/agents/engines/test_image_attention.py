"""Attention over a row of images, against that of transformers for one image at a time."""

import copy

import pytest
import torch
from helpers import vision_models
from helpers.vision_models import KINDS
from torch.nn.functional import scaled_dot_product_attention

from agents.engines import attention
from agents.engines.model import Policy

GRID = torch.tensor([[1, 4, 6], [1, 2, 2], [1, 10, 8]])


def make_models(kind, depth=3):
    """The model of transformers, and a copy that a policy has changed."""
    model = vision_models.make(kind, depth)
    return model, Policy(copy.deepcopy(model)).model


def features(model):
    """Features of three images, and the gradients of the tower."""
    vision = model.config.vision_config
    width = 3 * vision.temporal_patch_size * vision.patch_size**2
    shape, generator = (int(GRID.prod(-1).sum()), width), torch.Generator().manual_seed(1)
    pixels = torch.randn(shape, generator=generator, dtype=torch.double)
    output = torch.cat(model.get_image_features(pixels, GRID, return_dict=True).pooler_output)
    weights = [w for w in model.model.visual.parameters() if w.requires_grad]
    slopes = torch.autograd.grad(output.square().sum(), weights, allow_unused=True)
    return [output.detach(), *(slope for slope in slopes if slope is not None)]


def count_calls(monkeypatch, owner, name, replacement=None):
    """List that grows with each call of a function."""
    calls, original = [], getattr(owner, name)

    def counted(*args, **options):
        calls.append(name)
        return (replacement or original)(*args, **options)

    monkeypatch.setattr(owner, name, counted)
    return calls


def one_at_a_time(query, key, value, *lengths, scale):
    """`varlen_attn` as documented: `[n heads c]`, segments between cumulative lengths."""
    ends, key_ends, longest, longest_key = lengths
    assert torch.equal(ends, key_ends)
    assert ends.dtype == torch.int32
    sizes = ends.diff().tolist()
    assert max(sizes) == longest == longest_key
    images = zip(*(part.split(sizes) for part in (query, key, value)), strict=True)
    outputs = [
        scaled_dot_product_attention(*(part.transpose(0, 1) for part in image), scale=scale)
        for image in images
    ]
    return torch.cat([output.transpose(0, 1) for output in outputs])


@pytest.mark.parametrize("kind", KINDS)
def test_the_features_of_images_are_exactly_those_of_transformers(kind):
    plain, packed = make_models(kind)
    assert packed.model.visual.config._attn_implementation == attention.IMAGES
    for actual, expected in zip(features(packed), features(plain), strict=True):
        assert torch.equal(actual, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_no_layer_of_a_vision_tower_asks_for_the_lengths_of_images(kind, monkeypatch):
    counts = []
    for depth in (2, 6):
        packed = make_models(kind, depth)[1]
        with monkeypatch.context() as patch:
            lists = count_calls(patch, torch.Tensor, "tolist")
            features(packed)
        counts.append(len(lists))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("kind", KINDS)
def test_where_there_is_a_kernel_it_computes_all_images_of_a_layer(kind, monkeypatch):
    plain, packed = make_models(kind)
    monkeypatch.setattr(attention, "_has_kernel", lambda *_: True)
    calls = count_calls(monkeypatch, attention.varlen, "varlen_attn", one_at_a_time)
    actual = features(packed)
    assert len(calls) == 3
    for value, expected in zip(actual, features(plain), strict=True):
        torch.testing.assert_close(value, expected)


def test_images_that_are_not_packed_are_left_to_transformers():
    query, key, value = torch.randn(3, 2, 4, 5, 8)
    mask = torch.ones(2, 1, 5, 5, dtype=torch.bool).tril()
    output, _ = attention.image_attention(torch.nn.Identity(), query, key, value, mask)
    expected = scaled_dot_product_attention(query, key, value, mask).transpose(1, 2)
    torch.testing.assert_close(output, expected)
