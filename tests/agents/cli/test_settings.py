import math
from dataclasses import replace
from pathlib import Path

import gymnasium
import pytest

from agents.cli.checks import check_run
from agents.cli.defaults import EPISODES, LAPTOP, PAPER, defaults
from agents.cli.flags import parse_run
from agents.cli.model_choice import check_suits
from agents.cli.settings import Run, environment_options
from agents.cpgd import CPGD
from agents.engines.optimizer import Optimization
from agents.errors import UsageError


def test_a_run_by_default_is_one_of_the_tiny_model_on_figures():
    assert defaults() == Run()
    assert (Run().env, Run().model) == ("Figures-v2", "tiny")


def test_an_environment_brings_its_model_and_a_model_its_numbers():
    run = defaults("MMK12-v0")
    assert run.model == "Qwen/Qwen2.5-VL-7B-Instruct"
    assert {name: getattr(run, name) for name in PAPER} == PAPER
    assert defaults("reasonenv/MMK12-v0").env == "MMK12-v0"


def test_the_tiny_model_brings_its_own_numbers_to_any_environment():
    assert defaults("MMK12-v0", "tiny") == replace(Run(), env="MMK12-v0")
    assert defaults("Figures-v2", "some/folder").learning_rate == PAPER["learning_rate"]


def test_a_folder_with_a_tiny_model_brings_the_numbers_of_the_tiny_model(tiny_folder):
    run = defaults("MMK12-v0", str(tiny_folder))
    assert run == replace(Run(), env="MMK12-v0", model=str(tiny_folder))


def test_the_tiny_model_has_its_length_for_each_turn_of_an_episode():
    one = Run().max_response_length
    assert defaults("Sum-v0").max_response_length == 4 * one
    assert defaults("Sum-v0", options={"max_calls": 1}).max_response_length == 2 * one
    assert defaults("Sum-v0", options={"max_calls": 0}).max_response_length == one


@pytest.mark.parametrize(("env", "model"), [("Sum-v0", "tiny"), ("Zoom-v0", None)])
def test_a_tiny_model_takes_fewer_steps_on_problems_with_tools(env, model):
    run = defaults(env, model)
    assert (run.model, run.num_steps) == (model or "tiny-tools", EPISODES["num_steps"])
    assert run.num_steps < Run().num_steps


def test_a_pretrained_model_of_a_laptop_brings_numbers_of_its_size(tmp_path):
    run = defaults("WordProblems-v0")
    assert (run.learning_rate, run.max_response_length, run.overlong_buffer) == (3e-5, 40, 16)
    assert run.num_prompts * run.group_size == run.minibatch_size == 64
    other = {"num_steps": 100, "num_prompts": 16, "minibatch_size": 128}
    assert defaults("GSM8K-v0", run.model) == replace(
        run, env="GSM8K-v0", max_response_length=256, overlong_buffer=0, **other
    )
    (tmp_path / "config.json").write_text('{"hidden_size": 640}')
    assert defaults("GSM8K-v0", str(tmp_path)).learning_rate == LAPTOP["learning_rate"]
    (tmp_path / "config.json").write_text('{"hidden_size": 641}')
    assert defaults("WordProblems-v0", str(tmp_path)).learning_rate == PAPER["learning_rate"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"hidden_size": "wide"}', '{"hidden_size": []}'])
def test_a_damaged_configuration_is_left_to_the_loader(tmp_path, text):
    (tmp_path / "config.json").write_text(text)
    assert defaults("MMK12-v0", str(tmp_path)).learning_rate == PAPER["learning_rate"]


def test_an_unknown_environment_is_told_the_nearest():
    with pytest.raises(gymnasium.error.NameNotFound, match="did you mean MMK12-v0"):
        defaults("MMK-v0")


@pytest.mark.parametrize(
    "run", [defaults(env) for env in (None, "MMK12-v0", "WordProblems-v0", "Zoom-v0")]
)
def test_the_defaults_fit_each_other(run):
    check_run(run)


INTEGERS = [name for name, value in vars(Run()).items() if type(value) is int]
OPTIONAL = ["tokens_per_microbatch", "max_prompt_length"]


@pytest.mark.parametrize("name", [*INTEGERS, *OPTIONAL])
@pytest.mark.parametrize("value", [-1, 2**63])
def test_each_integer_has_a_range_that_its_error_names(name, value):
    bound = r"at least [01]$" if value < 0 else r"at most \d+$"
    with pytest.raises(ValueError, match=f"^--{name.replace('_', '-')} is {value}: give {bound}"):
        check_run(replace(Run(), **{name: value}))


@pytest.mark.parametrize("rate", [-1e-6, math.nan, math.inf])
def test_a_learning_rate_that_is_none_is_refused_by_its_flag(rate):
    with pytest.raises(ValueError, match=f"^--learning-rate is {rate}: give (at least 0|a finite)"):
        check_run(Run(learning_rate=rate))


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan")])
def test_training_needs_a_temperature_above_zero(temperature):
    with pytest.raises(ValueError, match=f"--temperature is {temperature}"):
        check_run(replace(Run(), temperature=temperature))


@pytest.mark.parametrize("top_p", [0.0, -0.5, 1.1, float("nan")])
def test_the_mass_that_is_sampled_from_is_a_part_of_one(top_p):
    with pytest.raises(ValueError, match=rf"^--top-p is {top_p}: give at "):
        check_run(replace(Run(), top_p=top_p))


def test_the_buffer_of_overlong_shaping_lies_within_a_response():
    check_run(replace(Run(), overlong_buffer=64))
    with pytest.raises(ValueError, match=r"^--overlong-buffer 65 is longer than"):
        check_run(replace(Run(), overlong_buffer=65))


@pytest.mark.parametrize(
    "sizes",
    [
        {"group_size": 3},
        {"minibatch_size": 4},
        {"minibatch_size": 96},
        {"minibatch_size": 512},
        {"num_prompts": 24},
    ],
)
def test_a_minibatch_holds_whole_groups_and_divides_the_rollout(sizes):
    run = replace(Run(), **sizes)
    with pytest.raises(ValueError, match=f"--minibatch-size {run.minibatch_size} must be a multi"):
        check_run(run)


def test_the_folder_names_algorithm_environment_and_seed():
    assert Run(seed=3).folder("CPGD") == Path("runs/cpgd-figures-v2-seed3")
    assert Run(env="mine:Own-v0").folder("CPGD") == Path("runs/cpgd-own-v0-seed0")
    assert Run(output_dir="Mine/{x}").folder("CPGD") == Path("Mine/{x}")


def test_the_learning_rate_falls_along_the_steps_of_the_whole_run():
    run = Run(num_steps=10, num_prompts=4, group_size=4, minibatch_size=8, epochs=3)
    steps = run.optimizer_steps()
    assert steps == 10 * 3 * 2
    optimization = Optimization(run.learning_rate, steps)
    ratios = [optimization.ratio(step) for step in range(steps + 1)]
    assert ratios[0] == 1
    assert ratios[-1] == pytest.approx(0.1)
    assert ratios == sorted(ratios, reverse=True)


def test_options_of_an_environment_are_read_from_json():
    run, _ = parse_run(CPGD, ["--env-options", '{"level": 2}', "--data", "folder"])
    assert environment_options(run.env_options, run.data) == {"level": 2, "data": "folder"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[2]", r"is \[2\]: give a JSON object"),
        ('{"num_envs": 2}', "cannot set num_envs"),
    ],
)
def test_other_options_of_an_environment_are_refused(text, message):
    with pytest.raises(ValueError, match=message) as refused:
        check_run(parse_run(CPGD, ["--env-options", text])[0])
    assert "--env-options" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("other", [{"sampler": "transformers"}, {"vllm": {"seed": 1}}])
def test_a_server_of_vllm_and_another_sampler_are_refused(other):
    check_run(replace(Run(), vllm_server="http://there:8000"))
    with pytest.raises(ValueError, match=r"^--vllm-server http://there:8000 is not for"):
        check_run(replace(Run(), vllm_server="http://there:8000", **other))


@pytest.mark.parametrize(
    ("words", "minibatch"),
    [
        ("--num-prompts 4", 32),
        ("--num-prompts=24", 192),
        ("--num_prompts 64", 128),
        ("--num-prompts 3 --group-size 5", 15),
        ("--num-prompts 4 --minibatch-size 8", 8),
    ],
)
def test_a_default_minibatch_divides_the_responses_of_a_step(words, minibatch):
    run, _ = parse_run(CPGD, words.split())
    assert run.minibatch_size == minibatch
    check_run(run)


@pytest.mark.parametrize("size", ["x", "0", "-1", "1e3", "", "²", "9" * 5000])
def test_a_size_that_is_none_is_refused_by_its_own_flag(size, capsys):
    with pytest.raises((SystemExit, UsageError), match=r"^2$|^--num-prompts is "):
        check_run(parse_run(CPGD, [f"--num-prompts={size}"])[0])
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(("length", "buffer"), [("200", 16), ("32", 16), ("31", 15), ("1", 0)])
def test_a_default_buffer_leaves_half_of_shorter_responses(length, buffer):
    words = ["--env", "WordProblems-v0", "--max-response-length", length]
    run, _ = parse_run(CPGD, words)
    assert run.overlong_buffer == buffer
    check_run(run)


@pytest.mark.parametrize(
    ("options", "reward", "line"),
    [
        ({}, ("mine:brief=much",), "--reward mine:brief=much: 'much' is no weight: give a number"),
        ({"rewards": {"format": 1}}, ("accuracy",), "--reward accuracy and rewards in --env-op"),
    ],
)
def test_a_reward_that_does_not_fit_is_one_line(options, reward, line):
    with pytest.raises(UsageError, match=f"^{line}[^\\n]*$"):
        environment_options(options, None, reward)


@pytest.mark.parametrize(
    ("model", "env", "words"),
    [
        ("tiny", "Sum-v0", "tiny reads Figures-v2 at levels 1 and 2 alone: for Sum-v0 take tiny-"),
        ("tiny-tools", "Figures-v2", "at levels 1 and 2 alone: for Figures-v2 take tiny"),
        ("tiny", "Figures-v2", ""),
        ("tiny-tools", "Zoom-v0", ""),
    ],
)
def test_a_model_of_the_package_on_problems_of_others_says_what_it_is_for(model, env, words):
    line = check_suits(replace(Run(), model=model), env, ())
    assert words in line
    assert bool(words) == bool(line)
