import json
from dataclasses import replace

import pytest
from helpers import tiny_engines
from transformers import Lfm2Config, Qwen2Config

from agents.cli.defaults import defaults
from agents.cli.settings import Run
from agents.cpgd import CPGD
from agents.engines.frozen_models import needs_reference_model
from agents.errors import ModelError
from agents.grpo import GRPO
from agents.plan import runs as planner
from agents.plan.__main__ import main
from agents.plan.formulas import Sharding
from agents.plan.memory import PROCESS, MemoryPlan
from agents.plan.runs import local_memory, local_plan, make_sharding
from agents.plan.shapes import read_shape, shape_of
from agents.plan.text import short_text
from agents.references import old
from agents.rpg import RPG
from agents.training import setup

PAPER = ("--env", "MMK12-v0", "--gpu-memory", "80")


@pytest.fixture
def planned(capsys):
    """The plan in JSON, and the status."""

    def run(*words):
        status = main([*words, "--json"])
        return json.loads(capsys.readouterr().out) | {"status": status}

    return run


def make_plan(run, shape, num_gpus, memory):
    sharding = make_sharding(run, num_gpus)
    return MemoryPlan(run=run, shape=shape, sharding=sharding, num_gpus=num_gpus, memory=memory)


def part(plan, phase, name):
    return plan["phases"][phase].get(name, 0.0)


def test_the_papers_setting_fits_eight_gpus_of_80_gib_and_not_one(planned):
    eight, one = planned(*PAPER, "--num-gpus", "8"), planned(*PAPER, "--num-gpus", "1")
    assert (eight["verdict"], eight["status"]) == ("fits", 0)
    assert (one["verdict"], one["status"]) == ("does not fit", 1)


def test_the_table_has_model_parts_totals_verdict_and_reasons(capsys):
    assert main([*PAPER, "--num-gpus", "1"]) == 1
    text = capsys.readouterr().out
    assert text.startswith("Qwen/Qwen2.5-VL-7B-Instruct, 8.29 billion weights, 7.62 billion")
    for words in ("weights in fp32", "moments of AdamW", "vision tower", "KV cache", "total"):
        assert f"\n{words}" in text
    verdict, remedy = text.splitlines()[-2:]
    assert verdict == (
        "does not fit: 167.7 of 80.0 GiB, in optimizer step; most of it moments of AdamW 56.7; "
        "gradients, copies 56.7; weights in fp32 28.4"
    )
    assert remedy.startswith("give a higher ZeRO stage or an offloaded optimizer by --deepspeed")


def test_each_stage_of_zero_needs_less_than_the_one_before(planned, tmp_path):
    totals = []
    for stage in range(1, 4):
        file = tmp_path / f"{stage}.json"
        file.write_text(json.dumps({"zero_optimization": {"stage": stage}}))
        words = (*PAPER, "--num-gpus", "8", "--deepspeed", str(file))
        totals.append(planned(*words)["totals"]["training"])
        beside = {1: "does not fit", 2: "fits", 3: "fits"}[stage]
        assert planned(*words, "--sampler", "vllm")["verdict"] == beside
        apart = planned(*words, "--vllm-server", "http://there:8000")
        assert part(apart, "training", "vLLM") == part(apart, "sampling", "moments") == 0
        assert part(apart, "sampling", "vLLM weights") == pytest.approx(2 * 8_292_166_656 / 2**30)
    assert totals == sorted(totals, reverse=True)
    # Stage 1 has the gradients of all weights, in fp32 and in bf16.
    saved = 1.05 * (4 + 2 - 4 / 8) * 7.6156e9 / 2**30
    assert totals[0] - totals[1] == pytest.approx(saved, rel=1e-3)


def test_checkpointing_keeps_less_and_computes_one_layer_again_and_a_frozen_tower_nothing(planned):
    words = ("--model", "Qwen/Qwen3-4B", "--num-gpus", "8", "--gpu-memory", "80")
    less, more = planned(*words), planned(*words, "--no-gradient-checkpointing")
    assert part(more, "training", "activations") > 10 * part(less, "training", "activations")
    assert part(more, "training", "passing") <= part(less, "training", "passing")
    trained = ("--no-freeze-vision", "--no-gradient-checkpointing")
    frozen, kept = (planned(*PAPER, "--num-gpus", "8", *words) for words in ((), trained))
    images = part(frozen, "training", "images")
    assert part(kept, "training", "images") == pytest.approx(32 * images)


def test_a_reference_is_a_second_model_and_adapters_alone_have_gradients_and_moments(planned):
    without = planned(*PAPER, "--num-gpus", "8")
    with_one = planned("--learner", "grpo", "--beta", "0.1", *PAPER, "--num-gpus", "8")
    assert part(without, "training", "reference") == 0
    assert part(with_one, "training", "reference") == part(with_one, "training", "weights")
    adapted = planned(*PAPER, "--num-gpus", "1", "--lora", '{"r": 64}')
    assert part(adapted, "training", "moments") < 2
    assert adapted["verdict"] == "fits"


def test_a_reference_model_is_kept_for_a_reference_that_is_not_the_policy():
    schedule = GRPO(beta=0.1).reference_schedule
    assert needs_reference_model(schedule, None)
    assert not needs_reference_model(schedule, {"r": 8})  # the model without its adapters
    assert needs_reference_model(schedule, {"init_lora_weights": "pissa"})
    for learner in (GRPO(beta=None), RPG(reference=old), CPGD()):
        assert not needs_reference_model(learner.reference_schedule, None)


def test_vllm_beside_the_trainer_has_weights_and_a_cache_while_sampling(planned):
    words = ("--env", "DAPOMath17k-v0", "--num-gpus", "8", "--gpu-memory", "80")
    result = planned(*words, "--sampler", "vllm")
    weights = 2 * 4_022_468_096 / 2**30
    assert part(result, "sampling", "vLLM weights") == pytest.approx(weights)
    cache = result["vllm_share"] * 80 - weights - 3
    assert part(result, "sampling", "KV cache") == pytest.approx(cache)
    assert result["responses_at_a_time"] == int(cache * 2**30 / (147456 * 4608))
    assert part(result, "training", "vLLM") < 2


def test_weights_that_zero_3_shards_are_gathered_to_sample(planned, tmp_path):
    file = tmp_path / "zero.json"
    file.write_text('{"zero_optimization": {"stage": 3}}')
    words = ("--sampler", "transformers", "--num-gpus", "8", "--deepspeed", str(file))
    result = planned(*PAPER, *words)
    whole = part(result, "sampling", "gathered")
    assert whole == pytest.approx(8 * part(result, "sampling", "weights"))


SETTINGS = [
    ("grpo", 8, ()),
    ("cpgd", 8, ()),
    ("cpgd", 1, ("--model", "Qwen/Qwen2.5-VL-3B-Instruct")),
]


@pytest.mark.parametrize(("learner", "num_gpus", "words"), SETTINGS)
def test_vllm_gets_what_the_trainer_leaves_unless_the_run_names_a_share(
    planned, learner, num_gpus, words
):
    words = ("--learner", learner, *PAPER, "--num-gpus", str(num_gpus), *words)
    result = planned(*words)
    assert result["verdict"] == "fits"
    left = (0.9 - 0.01) * 80 < result["totals"]["sampling"] <= 0.9 * 80
    assert left
    named = planned(*words, "--vllm", '{"gpu_memory_utilization": 0.99}')
    assert (named["vllm_share"], named["verdict"]) == (0.99, "does not fit")


def test_vllm_that_stays_awake_gets_what_is_left_while_the_trainer_works(planned):
    words = (*PAPER, "--num-gpus", "8", "--vllm")
    asleep, awake = (
        planned(*words, json.dumps({"enable_sleep_mode": sleeps})) for sleeps in (True, False)
    )
    assert awake["vllm_share"] < asleep["vllm_share"]
    assert max(awake["totals"].values()) <= 0.9 * 80


@pytest.fixture
def gpus(monkeypatch):
    """Makes this machine one with GPUs of so many GiB, to the planner."""

    def make(memory):
        monkeypatch.setattr(planner.torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(planner, "local_memory", lambda _: memory)

    return make


@pytest.mark.parametrize(("memory", "verdict"), [(80, "fits"), (50, "tight"), (45, "does not fit")])
def test_vllm_gets_no_less_than_a_response_needs(gpus, memory, verdict):
    gpus(memory)
    plan = local_plan(replace(defaults("MMK12-v0"), sampler="vllm"), CPGD(), 8)
    assert plan.responses_at_a_time > 0
    assert plan.verdict == verdict


def test_the_least_memory_holds_one_response_where_vllm_samples_beside_the_trainer(gpus):
    gpus(80)
    run = replace(defaults("MMK12-v0"), sampler="vllm")
    longer = replace(run, max_response_length=run.max_response_length + 2**14)
    least = [local_plan(one, CPGD(), 8).minimum for one in (run, longer)]
    assert least[1] - least[0] == pytest.approx(2**14 * 56 * 1024 / 2**30)  # 56 KiB a token
    gpus(40)  # each phase of the trainer alone would take less
    expected = r"^Qwen/Qwen2.5-VL-7B-Instruct has 8.3 billion.* 42 GiB to train and sample before "
    with pytest.raises(ModelError, match=expected + "the first token, and the run has 8 GPUs of"):
        local_plan(run, CPGD(), 8)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"sampler": "vllm"}, {"gpu_memory_utilization": 0.62}),
        (
            {"sampler": "vllm", "vllm": {"gpu_memory_utilization": 0.5, "seed": 1}},
            {"gpu_memory_utilization": 0.5, "seed": 1},
        ),
        ({"sampler": "vllm", "vllm_server": "http://there:8000"}, {}),
        ({"sampler": "transformers"}, {}),
    ],
)
def test_a_run_starts_vllm_with_the_share_of_its_plan(gpus, capsys, settings, expected):
    gpus(80)
    run = replace(defaults("DAPOMath17k-v0"), model="Qwen/Qwen2.5-1.5B", **settings)
    options = setup.planned(run, CPGD())
    assert options.vllm == expected
    assert replace(options, vllm=run.vllm) == run
    assert capsys.readouterr().err.startswith("plan: Qwen/Qwen2.5-1.5B, ")


@pytest.mark.parametrize(
    ("sizes", "num_gpus", "groups"),
    [
        ({"num_prompts": 32, "minibatch_size": 128, "microbatch_size": 16}, 0, 2),
        ({"microbatch_size": 512}, 0, 4),
        ({"microbatch_size": 512}, 2, 2),
        ({"tokens_per_microbatch": 16384}, 0, 4),
        ({"tokens_per_microbatch": 16384}, 2, 2),
    ],
)
def test_a_packed_microbatch_has_a_prompt_once_and_no_more_responses_than_the_minibatch(
    sizes, num_gpus, groups
):
    run = replace(Run(), **{"num_prompts": 8, "minibatch_size": 32, "group_size": 8} | sizes)
    result = make_plan(run, read_shape("tiny"), num_gpus, 20)
    assert result.prompt_length == 512 + 64
    assert result.microbatch_tokens == groups * (576 + 8 * 64)
    padded = replace(result, shape=replace(result.shape, packs=False)).microbatch_tokens
    assert padded == min(groups * 8 * (576 + 64), run.tokens_per_microbatch or 10**9)


def test_a_model_with_a_state_along_the_row_is_padded():
    sizes = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1}
    layers = ["full_attention", "conv"]
    config = Lfm2Config(**sizes, **heads, layer_types=layers, block_multiple_of=8)
    assert not shape_of("lfm", config).packs
    assert shape_of("qwen", Qwen2Config(**sizes, **heads)).packs


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--learner", "sft"), "error: --learner sft: give a module of agents with one"),
        (("--learner", "learner"), "error: --learner learner: give a module"),
        (("--num-gpus", "-1"), "error: --num-gpus is -1: give at least 0"),
        (("--num-gpus", "1", "--gpu-memory", "0"), "--gpu-memory is 0.0: give more than 0"),
        (("--vllm", '{"gpu_memory_utilization": 2}'), "give gpu_memory_utilization a share in"),
        (("--model", "./nowhere"), "cannot load the model './nowhere'"),
        (("--env", "MMK13-v0"), "did you mean MMK12-v0?"),
        (("--minibatch-size", "7"), "error: --minibatch-size 7"),
    ],
)
def test_an_invalid_argument_is_one_line(words, message):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert message in str(ended.value.code)
    assert "\n" not in str(ended.value.code)


def test_a_run_is_planned_in_two_lines_by_its_configuration_alone(tmp_path):
    tiny_engines.write(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    run = replace(Run(), model=str(tmp_path))
    first, second = short_text(local_plan(run, CPGD())).splitlines()
    assert first.startswith(f"plan: {tmp_path}, ")
    assert "GiB in all: fits" in second
    config = {
        **{"model_type": "qwen2", "vocab_size": 1000, "num_hidden_layers": 1},
        **{"hidden_size": 1024, "num_attention_heads": 8, "num_key_value_heads": 8},
    }
    # 16 bytes for each weight of three matrices, a fifth more than there is.
    width = int(1.2 * local_memory(0) * 2**30 / 16 / 3 / 1024)
    (tmp_path / "config.json").write_text(json.dumps({**config, "intermediate_size": width}))
    expected = r"^[^\n]* weights, which need about \d+ GiB to train[^\n]* or --model tiny$"
    with pytest.raises(ModelError, match=expected):
        local_plan(run, CPGD())


def test_vllm_on_a_cpu_takes_a_cache_of_one_gib_and_not_a_part_of_the_memory():
    run = replace(Run(), vllm_server="http://there:8000")
    result = make_plan(run, read_shape("tiny"), 0, 20)
    assert result.phases["sampling"]["KV cache"] == 1.0
    assert result.verdict == "fits"


@pytest.mark.parametrize(
    ("dtype", "checkpointing", "size"),
    [("float32", False, 4), ("bfloat16", False, 2), ("bfloat16", True, 2)],
)
def test_plain_pytorch_computes_in_bfloat16_from_weights_in_float32(dtype, checkpointing, size):
    run = replace(defaults("MMK12-v0"), dtype=dtype, gradient_checkpointing=checkpointing)
    plan = make_plan(run, read_shape("Qwen/Qwen2.5-1.5B"), num_gpus=0, memory=64)
    training, step, sampling = plan.phases.values()
    assert plan.size == size
    assert training["weights"] == pytest.approx(4 * plan.shape.num_weights / 2**30)
    whole = training["weights"] / 2 if size == 2 else 0.0
    assert sampling.get("cast weights", 0.0) == pytest.approx(whole)
    assert "cast weights" not in step
    head = 151936 * 1536  # tied to the embeddings
    # With checkpointing a layer and the head at a time.
    layer = 2 * (head + (plan.shape.num_weights - head) / 28) / 2**30
    expected = layer if checkpointing else whole
    assert training.get("cast weights", 0.0) == pytest.approx(expected, rel=1e-3)


ZERO = {"stage": "auto", "offload_optimizer": {"device": "cpu"}}


@pytest.mark.parametrize(
    ("config", "dtype", "num_gpus", "sharding"),
    [
        ({}, "auto", 1, Sharding(1, 2, True)),
        ({}, "float32", 1, Sharding(1, 2, False)),
        ({"bf16": {"enabled": "auto"}}, "float32", 1, Sharding(1, 2, False)),
        ({"bf16": {"enabled": False}}, "bfloat16", 1, Sharding(1, 2, False)),
        ({"bf16": {"enabled": True}}, "auto", 0, Sharding(1, 0, True)),
        ({}, "auto", 0, Sharding(1, 0, False)),
        ({}, "bfloat16", 0, Sharding(1, 0, True)),
        ({"zero_optimization": ZERO}, "auto", 4, Sharding(4, 2, True, offload_optimizer=True)),
    ],
)
def test_deepspeeds_configuration_decides_over_the_dtype(
    tmp_path, config, dtype, num_gpus, sharding
):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    run = replace(Run(), deepspeed=path, dtype=dtype, engine="deepspeed")
    assert make_sharding(run, num_gpus) == sharding


def test_a_sampler_beside_the_trainer_has_weights_of_its_own_and_keeps_those_to_come(planned):
    words = ("--num-gpus", "0", "--gpu-memory", "16")
    turns, ahead, further = (planned(*words, "--staleness", str(k)) for k in (0, 1, 3))
    weights = 4 * turns["shape"]["num_weights"] / 2**30
    for phase in ("training", "step", "sampling"):
        assert part(turns, phase, "sampler weights") == part(turns, phase, "sampler") == 0
        # Of its model, in shared memory, and of two updates.
        assert part(ahead, phase, "sampler weights") == pytest.approx(4 * weights)
        assert part(further, phase, "sampler weights") == pytest.approx(6 * weights)
        assert part(ahead, phase, "sampler") > PROCESS
