import json
import os
from dataclasses import replace

import pytest
from helpers import tiny_engines
from transformers import Lfm2Config, Qwen2Config

from agents.cli.settings import Run, defaults
from agents.cpgd import CPGD
from agents.engines.build import needs_reference_model
from agents.grpo import GRPO
from agents.plan import brief, find_learner, here, main
from agents.planning.changes import changes
from agents.planning.phases import plan
from agents.planning.setting import Machine, setting, sharing
from agents.planning.shapes import measure, read
from agents.references import old
from agents.rpg import RPG

PAPER = ("--env", "MMK12-v0", "--gpu-memory", "80")


@pytest.fixture
def planned(capsys):
    """The plan in JSON, and the status."""

    def run(*words):
        status = main([*words, "--json"])
        return json.loads(capsys.readouterr().out) | {"status": status}

    return run


def part(found, phase, name):
    parts = next(p["parts"] for p in found["phases"] if p["name"] == phase)
    return parts.get(name, 0.0)


def test_the_papers_setting_fits_eight_gpus_of_80_gib_and_not_one(planned):
    eight, one = planned(*PAPER, "--num-gpus", "8"), planned(*PAPER, "--num-gpus", "1")
    assert (eight["verdict"], eight["status"]) == ("fits", 0)
    assert (one["verdict"], one["status"]) == ("does not fit", 1)


def test_the_table_tells_model_parts_totals_verdict_and_what_to_change(capsys):
    assert main([*PAPER, "--num-gpus", "1"]) == 1
    text = capsys.readouterr().out
    assert text.startswith("Qwen/Qwen2.5-VL-7B-Instruct, 8.29 billion weights, 7.62 billion")
    for words in ("weights in fp32", "moments of AdamW", "vision tower", "cache of keys", "total"):
        assert f"\n{words}" in text
    assert "\ndoes not fit: " in text
    assert "offload_optimizer" in text.partition("what to change, the cheapest first")[2]


def test_each_stage_of_zero_needs_less_than_the_one_before(planned, tmp_path):
    totals = []
    for stage in range(1, 4):
        file = tmp_path / f"{stage}.json"
        file.write_text(json.dumps({"zero_optimization": {"stage": stage}}))
        found = planned(*PAPER, "--num-gpus", "8", "--deepspeed", str(file))
        totals.append(found["totals"]["training"])
    assert totals == sorted(totals, reverse=True)
    assert totals[0] - totals[1] == pytest.approx(1.05 * 4 * 7.6156e9 * 7 / 8 / 2**30, rel=1e-3)


def test_checkpointing_keeps_less_and_computes_one_layer_again(planned):
    words = ("--model", "Qwen/Qwen3-4B", "--num-gpus", "8", "--gpu-memory", "80")
    less, more = planned(*words), planned(*words, "--no-gradient-checkpointing")
    assert part(more, "training", "activations") > 10 * part(less, "training", "activations")
    assert part(more, "training", "passing") <= part(less, "training", "passing")


def test_a_frozen_tower_keeps_nothing_of_an_image_for_the_backward_pass():
    run, shape = defaults("MMK12-v0"), read("Qwen/Qwen2.5-VL-7B-Instruct")
    machine = Machine(num_gpus=8, memory=80)
    trained = replace(run, freeze_vision=False, gradient_checkpointing=False)
    parts = [
        plan(setting(one, shape, machine, reference=False)).phases[0].parts["images"]
        for one in (run, trained)
    ]
    assert parts[1] == pytest.approx(32 * parts[0])


def test_a_reference_is_a_second_model(planned):
    without = planned(*PAPER, "--num-gpus", "8")
    with_one = planned("--learner", "grpo", "--beta", "0.1", *PAPER, "--num-gpus", "8")
    assert part(without, "training", "reference") == 0
    assert part(with_one, "training", "reference") == part(with_one, "training", "weights")


def test_a_learner_keeps_a_reference_where_it_holds_to_one_that_stays():
    schedule = GRPO(beta=0.1).reference_schedule
    assert needs_reference_model(schedule, None)
    assert not needs_reference_model(schedule, '{"r": 8}')  # the model without its adapters
    assert needs_reference_model(schedule, '{"init_lora_weights": "pissa"}')
    for learner in (GRPO(beta=None), RPG(reference=old), CPGD()):
        assert not needs_reference_model(learner.reference_schedule, None)


def test_vllm_beside_the_trainer_has_weights_and_a_cache_while_sampling(planned):
    words = ("--env", "DAPOMath17k-v0", "--num-gpus", "8", "--gpu-memory", "80")
    found = planned(*words, "--sampler", "vllm")
    weights = 2 * 4_022_468_096 / 2**30
    assert part(found, "sampling", "vLLM weights") == pytest.approx(weights)
    cache = 0.45 * 80 - weights - 3
    assert part(found, "sampling", "KV cache") == pytest.approx(cache)
    assert found["responses_at_a_time"] == int(cache * 2**30 / (147456 * 4608))
    assert part(found, "training", "vLLM") < 2


HERE = ("--sampler", "transformers")


def test_vllm_elsewhere_leaves_the_trainer_alone(planned):
    words = ("--env", "DAPOMath17k-v0", "--num-gpus", "8", "--gpu-memory", "80")
    found = planned(*words, "--vllm-server", "http://there:8000")
    assert part(found, "training", "vLLM") == part(found, "sampling", "moments") == 0
    assert part(found, "sampling", "vLLM weights") == pytest.approx(2 * 4_022_468_096 / 2**30)


def test_weights_that_zero_3_shares_out_are_gathered_to_sample(planned, tmp_path):
    file = tmp_path / "zero.json"
    file.write_text('{"zero_optimization": {"stage": 3}}')
    found = planned(*PAPER, *HERE, "--num-gpus", "8", "--deepspeed", str(file))
    whole = part(found, "sampling", "gathered")
    assert whole == pytest.approx(8 * part(found, "sampling", "weights"))


def test_adapters_alone_have_gradients_and_moments(planned):
    found = planned(*PAPER, "--num-gpus", "1", "--lora", '{"r": 64}')
    assert part(found, "training", "moments") < 2
    assert found["verdict"] == "fits"


def test_changes_go_on_until_the_run_fits_and_each_saves_something(planned):
    words = ("--env", "DAPOMath17k-v0", "--num-gpus", "4", "--gpu-memory", "40")
    found = planned(*words, "--sampler", "vllm", "--tokens-per-microbatch", "65536")
    assert found["verdict"] == "does not fit"
    assert [change["fits"] for change in found["changes"]].index(True) + 1 == len(found["changes"])
    assert "--tokens-per-microbatch 8192" in [change["words"] for change in found["changes"]]
    assert "ZeRO stage 2 (--deepspeed)" in [change["words"] for change in found["changes"]]


def test_vllm_is_given_what_the_trainer_gave_up(planned):
    words = ("--env", "MMK12-v0", "--num-gpus", "2", "--gpu-memory", "40", "--sampler", "vllm")
    found = planned(*words)["changes"]
    told = [change["words"] for change in found]
    assert found[-1]["fits"]
    assert told.index("offload_optimizer to the CPU (--deepspeed)") == len(told) - 2
    share = float(told[-1].split()[1])  # "gpu_memory_utilization": 0.57 in --vllm
    options = json.dumps({"gpu_memory_utilization": share})
    with_it = planned(*words, "--vllm", options)
    assert with_it["responses_at_a_time"] > planned(*words)["responses_at_a_time"] == 0


def test_what_a_change_is_said_to_save_is_what_a_plan_with_it_saves():
    run, shape = defaults("DAPOMath17k-v0"), read("Qwen/Qwen3-4B")
    run = replace(run, sampler="transformers", tokens_per_microbatch=None)
    now = plan(setting(run, shape, Machine(num_gpus=2, memory=24), reference=False))
    first = changes(now)[0]
    assert first.words == "--sampler-batch-size 8"
    smaller = replace(run, sampler_batch_size=8)
    there = plan(setting(smaller, shape, Machine(num_gpus=2, memory=24), reference=False))
    assert now.peak.total - there.peak.total == pytest.approx(first.saves)


def test_a_run_that_fits_is_told_nothing_to_change():
    shape = read("tiny")
    assert not changes(plan(setting(Run(), shape, Machine(num_gpus=0, memory=20), reference=False)))


def test_a_prompt_is_read_once_for_its_group():
    run, machine = replace(Run(), microbatch_size=16, group_size=8), Machine(num_gpus=0, memory=20)
    found = setting(run, read("tiny"), machine, reference=False)
    assert found.microbatch_tokens == 2 * (512 + 64) + 16 * 48
    padded = replace(found, shape=replace(found.shape, packs=False))
    assert padded.microbatch_tokens == 16 * (512 + 64 + 48)


def test_a_model_with_a_state_along_the_row_is_padded():
    sizes = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1}
    layers = ["full_attention", "conv"]
    config = Lfm2Config(**sizes, **heads, layer_types=layers, block_multiple_of=8)
    assert not measure("lfm", config).packs
    assert measure("qwen", Qwen2Config(**sizes, **heads)).packs


def test_what_a_file_of_deepspeed_leaves_to_auto_is_the_engines_own(tmp_path):
    file = tmp_path / "zero.json"
    file.write_text(
        '{"zero_optimization": {"stage": "auto", "offload_optimizer": {"device": "cpu"}}}'
    )
    found = sharing(replace(Run(), deepspeed=file), Machine(num_gpus=4, memory=80))
    assert (found.stage, found.half, found.offload_optimizer) == (1, True, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--learner", "sft"), "error: --learner sft: give a module of agents with one"),
        (("--learner", "no.such"), "error: --learner no.such: give a module"),
        (("--learner", "learner"), "error: --learner learner: give a module"),
        (("--num-gpus", "-1"), "error: --num-gpus is -1: give at least 0"),
        (("--num-words", "-1"), "error: --num-words is -1: give at least 0"),
        (("--num-gpus", "1", "--gpu-memory", "0"), "--gpu-memory is 0.0: give more than 0 GiB"),
        (("--vllm", "{"), "error: --vllm '{' is not valid JSON"),
        (("--model", "./nowhere"), "cannot load the model './nowhere'"),
        (("--env", "MMK13-v0"), "did you mean MMK12-v0?"),
        (("--minibatch-size", "7"), "error: --minibatch-size 7"),
    ],
)
def test_what_does_not_fit_is_one_line(words, message):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert message in str(ended.value.code)
    assert "\n" not in str(ended.value.code)


def test_the_help_shows_the_flags_of_the_plan_and_of_the_run(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert "--gpu-memory" in text
    assert "--gradient-checkpointing" in text


def test_a_learner_is_found_by_its_module():
    assert find_learner("grpo") is GRPO


def test_a_run_of_the_tiny_model_is_planned_in_two_lines():
    first, second = brief(Run(), CPGD()).splitlines()
    assert first.startswith("plan: tiny, ")
    assert "GiB in all: fits" in second


def test_several_processes_on_the_cpu_are_trained_by_deepspeed_and_share_the_memory(monkeypatch):
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    there = f"4 processes on the CPU, {here(0) / 4:.0f} GiB for each"
    assert f"fp32; DeepSpeed, ZeRO 0, on {there}" in brief(Run(), CPGD(), num_ranks=4)
    assert "GiB per process: " in brief(Run(), CPGD(), num_ranks=4)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert f"{here(0) / 2:.0f} GiB for each" in brief(Run(), CPGD(), num_ranks=4)
    assert "plain PyTorch, on one process" in brief(Run(), CPGD())


def test_a_folder_is_planned_by_its_configuration_alone(tmp_path):
    tiny_engines.write(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    assert str(tmp_path) in brief(replace(Run(), model=str(tmp_path)), CPGD())


def test_weights_beyond_the_memory_are_refused_before_anything_is_loaded(tmp_path):
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    config = {
        **{"model_type": "qwen2", "vocab_size": 1000, "num_hidden_layers": 1},
        **{"hidden_size": 1024, "num_attention_heads": 8, "num_key_value_heads": 8},
    }
    # 16 bytes for each weight of three matrices, a fifth more than there is.
    width = int(1.2 * memory / 16 / 3 / 1024)
    (tmp_path / "config.json").write_text(json.dumps({**config, "intermediate_size": width}))
    with pytest.raises(ValueError, match=r"billion weights, which need about \d+ GiB") as no:
        brief(replace(Run(), model=str(tmp_path)), CPGD())
    assert "\n" not in str(no.value)
    assert str(no.value).endswith("or --model tiny")


def test_vllm_on_a_cpu_takes_a_cache_of_one_gib_and_not_a_part_of_the_memory():
    run = replace(Run(), vllm_server="http://there:8000")
    found = plan(setting(run, read("tiny"), Machine(num_gpus=0, memory=20), reference=False))
    (sampling,) = [phase for phase in found.phases if phase.name == "sampling"]
    assert sampling.parts["KV cache"] == 1.0
    assert found.verdict == "fits"
