"""Figures of Diagrams-v0 through the chat templates and processors of vision-language models."""

from contextlib import closing
from functools import partial

import pytest
import torch
from helpers import vision_models

pytest.importorskip("matplotlib", reason="needs the extra diagrams")

import reasonenv
from agents.engines.load import load_model

PER_TOKEN = {"Qwen2.5-VL": 28, "Qwen2-VL": 28, "Qwen3-VL": 32}
"""Pixels along the side of what becomes one token."""


@pytest.mark.parametrize("kind", PER_TOKEN)
def test_a_processor_makes_whole_tokens_of_a_figure_and_a_template_places_them(tmp_path, kind):
    folder = vision_models.write(tmp_path, kind)
    _, chat = load_model(str(folder), torch.device("cpu"), torch.float32)
    families = ["slope", "number_line", "map_scale"]  # of three heights
    make = partial(reasonenv.make, "Diagrams-v0", families=families, num_workers=1)
    with closing(make(num_envs=6)) as envs:
        observations, _ = envs.reset(seed=0)
        prompts = chat.encode(observations)
    pad = chat.tokenizer.convert_tokens_to_ids("<|image_pad|>")
    for prompt, (image,) in zip(prompts, observations["images"], strict=True):
        (grid,) = prompt.image_grid_thw.tolist()
        tokens = prompt.token_ids.count(pad)
        assert grid[0] * grid[1] * grid[2] == 4 * tokens == len(prompt.pixel_values)
        # The processor of the test scales down to 64 tokens, and keeps the shape.
        assert tokens > 16
        assert grid[1] / grid[2] == pytest.approx(image.shape[0] / image.shape[1], abs=0.3)
    assert len({tuple(prompt.image_grid_thw[0].tolist()) for prompt in prompts}) > 1
