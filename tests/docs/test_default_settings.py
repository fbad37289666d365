"""The table of defaults by model, on the page about a user's own model."""

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the extra train")

from agents.cli.defaults import defaults

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "model.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("| model | steps | prompts a step |")[2].partition("\n\n")[0]
ROWS = [line.strip("| ").split(" | ") for line in TABLE.splitlines()[2:]]
MODELS = [("Figures-v2", 256), ("Sum-v0", 256), ("GSM8K-v0", 640), ("WordProblems-v0", 576)]
MODELS += [("GSM8K-v0", 641)]


@pytest.mark.parametrize(("row", "case"), list(zip(ROWS, MODELS, strict=True)))
def test_the_defaults_of_a_model_are_those_of_its_row(tmp_path, row, case):
    env, model = case
    (tmp_path / "config.json").write_text(json.dumps({"hidden_size": model}))
    run = defaults(env, str(tmp_path))
    _, steps, prompts, tokens, rate = row
    lengths = [int(number) for number in re.findall(r"\d+", tokens.replace(",", ""))]
    assert (run.num_steps, run.num_prompts) == (int(steps), int(prompts))
    assert [run.max_response_length, run.overlong_buffer][: len(lengths)] == lengths
    assert run.learning_rate == float(rate.partition(",")[0])
    assert run.gradient_checkpointing == run.freeze_vision == ("checkpointing" in rate)


@pytest.mark.parametrize("name", ["SmolLM2-135M", "SmolLM2-135M-Instruct"])
def test_a_name_on_the_hub_is_wide_unless_the_page_says_otherwise(name):
    assert name in ROWS[-1][0]
    small = defaults("GSM8K-v0", f"HuggingFaceTB/{name}")
    assert small.num_steps == int(ROWS[2][1]) != defaults("GSM8K-v0", "you/model").num_steps
