"""The pieces of benchmarks/throughput.py, and two steps of our side through its own process."""

import importlib
import runpy
import sys
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from helpers import tiny_engines
from transformers import AutoTokenizer

from agents.cli.settings import Run
from agents.storage.json_files import read_json, read_json_lines

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def pieces(monkeypatch):
    """The package `throughput`, which hides the script of the same name."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def piece(name):
    return importlib.import_module(f"throughput.{name}")


def test_a_step_without_attention_costs_six_operations_a_weight_and_token():
    figures, size = piece("figures"), piece("sizes").Size(8, 8, 0, 1, 1, num_prompts=1, length=1)
    assert figures.training_flops(size, 1000, prompt=3, lengths=[2, 5]) == 6 * 1000 * (5 + 8)


def test_attention_costs_twelve_layers_and_features_for_each_pair_of_tokens_that_see_each_other():
    figures, size = piece("figures"), piece("sizes").Size(16, 8, 4, 1, 1, num_prompts=1, length=1)
    pairs = 10**2 / 2
    assert figures.training_flops(size, 0, prompt=4, lengths=[6]) == 12 * 4 * 16 * pairs


def test_sampling_reads_the_weights_for_each_token_of_the_longest_and_what_each_token_sees():
    figures = piece("figures")
    size = piece("sizes").Size(16, 8, 1, 4, 2, num_prompts=1, length=1)
    cells = (5 + 1) + (5 + 1) + (5 + 2)
    entry = 2 * 1 * 2 * 4 * 4
    assert (
        figures.sampling_bytes(size, 100, prompt=5, lengths=[1, 2]) == 100 * 4 * 2 + entry * cells
    )


def test_a_spread_holds_the_quartiles():
    found = piece("figures").spread([4.0, 1.0, 2.0, 3.0, 100.0])
    assert found == {"min": 1.0, "q1": 2.0, "median": 3.0, "q3": 4.0, "max": 100.0}


def test_what_no_phase_counts_is_other():
    found = piece("figures").phases({"step": 5.0, "sample": 1.0, "train": 2.5})
    assert found["other"] == 1.5
    assert sum(found.values()) == 5.0


def test_the_interval_of_a_ratio_holds_it_and_widens_with_the_turns():
    ratio = piece("figures").ratio
    calm = ratio([[1.0, 1.1, 0.9]] * 4, [[2.0, 2.2, 1.8]] * 4)
    moody = ratio([[1.0], [1.2], [0.8], [1.1]], [[2.0], [4.0], [1.0], [3.0]])
    for found in (calm, moody):
        low, high = found["interval"]
        assert low <= found["ratio"] <= high
    assert calm["ratio"] == 2.0
    low, high = moody["interval"]
    assert high - low > 0.5


@pytest.mark.parametrize("name", ["tiny", "tiny-two-threads"])
def test_the_figures_of_a_comparison_are_those_of_its_steps(name):
    script = runpy.run_path(str(BENCHMARKS / "throughput.py"))
    path = BENCHMARKS / f"throughput/{name}.json"
    found = script["recomputed"](path)
    assert found == read_json(path)
    for regime in found["regimes"].values():
        ratios = np.log(regime["ratio"]["trl"]["ratios"])
        assert len(ratios) in (2, 6)
        # Student's t of one and of five degrees of freedom.
        half = {2: 12.706, 6: 2.571}[len(ratios)] * ratios.std(ddof=1) / np.sqrt(len(ratios))
        ends = np.exp([ratios.mean() - half, ratios.mean() + half])
        assert regime["ratio"]["trl"]["interval"] == pytest.approx(ends, rel=0.01)


def test_a_side_that_was_ended_under_attack_has_neither_figure_nor_ratio():
    script, size = runpy.run_path(str(BENCHMARKS / "throughput.py")), piece("sizes").SIZES["tiny"]
    rows = [{"step": 2.0, "sample": 1.0, "train": 0.5}] * 2
    turn = {"rows": rows, "lengths": [[32] * 64] * 2, "cpu_s": 3.0, "peak_mib": 100.0}
    context = {"weights": 1000, "prompt": 5, "rates": {"flops_per_s": 1e9, "bytes_per_s": 1e9}}
    found = script["compared"]({"ours": [turn], "trl": [None]}, size, context)
    assert found["trl"] == {"ended_after_s": script["DEADLINE"]}
    assert found["ratio"] == {}
    assert found["ours"]["responses_per_s"] == 32
    assert found["ours"]["cpu_s_per_step"] == 1.5


def test_who_is_first_changes_from_turn_to_turn():
    order = piece("turns").order
    assert [order(("ours", "trl"), number)[0] for number in range(3)] == ["ours", "trl", "ours"]


def test_each_point_of_a_growth_is_a_run_with_one_optimizer_step(tmp_path):
    growth = piece("growth")
    for point in growth.POINTS:
        if point.kind != "image":  # those need images, which take a while to draw
            run = Run(**growth.settings(point, tmp_path, tmp_path))
            assert run.minibatch_size == run.num_prompts * run.group_size


def test_phases_count_what_runs_inside_another_only_once(monkeypatch):
    worker = piece("worker")
    now = iter([0.0, 1.0, 3.0, 10.0])
    monkeypatch.setattr(worker.time, "perf_counter", lambda: next(now))
    phases = worker.Phases()
    with phases("train"), phases("sample"):
        pass
    assert phases.taken() == {"sample": 2.0, "train": 8.0}
    assert phases.taken() == {}


@pytest.mark.parametrize("regime", ["fixed", "long-tailed", "hostile"])
def test_lengths_are_those_of_their_step_and_within_their_bounds(regime):
    lengths = piece("regimes").lengths
    found = lengths(regime, 3, 64, 32, 128)
    assert (found == lengths(regime, 3, 64, 32, 128)).all()
    assert found.min() >= 1
    assert found.max() <= 128
    assert (regime == "long-tailed") == (len(set(found.tolist())) > 1)


def test_long_tailed_lengths_have_the_mean_of_the_fixed_ones_and_a_tail():
    lengths = piece("regimes").lengths
    found = np.concatenate([lengths("long-tailed", step, 64, 100, 400) for step in range(50)])
    assert 80 < found.mean() < 110
    assert found.max() == 400


def test_rows_end_where_they_must_and_nowhere_else():
    force = piece("regimes").force
    logits = force(torch.zeros(3, 5), torch.tensor([True, False, False]), (2, 4))
    probability = logits.softmax(-1)
    assert probability[0].tolist() == [0, 0, 1, 0, 0]
    assert probability[1, [2, 4]].tolist() == [0, 0]
    assert probability[1, 0] == pytest.approx(1 / 3)


def test_one_of_twenty_responses_is_replaced_under_attack_and_none_otherwise():
    regime = piece("regimes").Regime(40, 8, 32, ["a", "b", "c"])
    assert [regime.text(i, "mine") for i in range(40)] == ["mine"] * 40
    regime.begin("hostile", 1)
    texts = [regime.text(i, "mine") for i in range(40)]
    assert {i: text for i, text in enumerate(texts) if text != "mine"} == {19: "c", 39: "a"}


def test_any_tokens_have_a_text_and_a_text_has_its_tokens():
    sizes = piece("sizes")
    for vocabulary in (0, 1000):
        tokens = sizes.tokenizer(vocabulary)
        assert len(tokens) == max(258, vocabulary)
        assert tokens.decode(tokens.encode("What is 17 + 25? é")) == "What is 17 + 25? é"
        assert len(tokens.encode("12")) == 2
        assert isinstance(tokens.decode(range(2, len(tokens))), str)


def test_both_sides_are_asked_the_same_in_the_same_order(tmp_path):
    import reasonenv

    problems = piece("problems")
    problems.write(tmp_path)
    rows = problems.posed(tmp_path, "plain")
    envs = reasonenv.make(problems.ENV, num_envs=8, group_size=4, data=tmp_path, num_workers=1)
    observations, _ = envs.reset(seed=0, options={"start": 6})
    envs.close()
    asked = [question.splitlines()[0] for question in observations["question"][::4]]
    assert all(
        row["prompt"][0]["content"] in text for row, text in zip(rows[6:8], asked, strict=True)
    )
    one, other = (int(word.strip("?")) for word in asked[0].split() if word.strip("?").isdigit())
    assert rows[6]["solution"] == f"\\boxed{{{one + other}}}"


def test_a_rollout_of_token_ids_shares_the_prompts_of_a_group():
    found = piece("proof").responses([[1, 2]] * 2 + [[3]] * 2, [[5], [6, 7], [8], [9]], 2)
    assert found.lengths.tolist() == [1, 2, 1, 1]
    assert found.prompts[0] is found.prompts[1]
    assert found.prompts[2].token_ids == (3,)


def test_a_proof_notices_another_objective_and_a_gradient_off_by_a_hundredth(tmp_path):
    proof, sizes, file = piece("proof"), piece("sizes"), tmp_path / "theirs.pt"
    size = sizes.Size(16, 32, 1, 2, 1, num_prompts=2, length=3, group_size=2, microbatch_size=4)
    sizes.write(tmp_path / "model", size)
    engine = tiny_engines.build("torch", tmp_path / "model")
    tokens = {"prompts": [[5, 6]] * 2 + [[7]] * 2, "responses": [[8], [9, 10, 11], [12], [13, 14]]}
    reward = torch.tensor([1.0, 0.0, 0.0, 1.0])
    rollout = proof.responses(*tokens.values(), group_size=2)
    log_prob, _ = engine.forward(rollout)
    learner = proof.objective("grpo", size)
    loss = learner.compute_loss(log_prob, log_prob.detach(), reward, rollout.mask, group_size=2)
    loss.backward()
    theirs = tokens | {"reward": reward, "loss": loss.item(), "gradient": proof.gradient(engine)}
    engine.optimizer.zero_grad()

    def equal(case, **other):
        torch.save(theirs | other, file)
        return proof.compare(engine, file, case, size)["equal"]

    assert equal("grpo")
    assert equal("grpo")  # and the weights are where they were
    assert not equal("dapo")
    assert not equal("grpo", loss=loss.item() + 0.01)
    name = "model.layers.0.mlp.up_proj.weight"
    one = theirs["gradient"][name]
    assert not equal("grpo", gradient=theirs["gradient"] | {name: 1.01 * one})


class Bench:
    """A comparison whose sides are no processes; counts those that are open at once."""

    def __init__(self, folder, **options):
        self.turns, sizes = piece("turns"), piece("sizes")
        options = {"regimes": ["fixed", "hostile"], "part": None, **options}
        self.options, self.folder = SimpleNamespace(**options), folder
        self.size = replace(sizes.SIZES["1.5b"], turns=2, sides=("ours", "trl"))
        self.weights, self.prompt = 1000, 5
        self.open, self.most, self.started, self.asked = 0, 0, [], []

    def kept(self, part, measure):
        return self.turns.Benchmark.kept(self, part, measure)

    def _file(self, part):
        return self.folder / f"{part}.json"

    @contextmanager
    def start(self, name):
        self.started.append(name)
        self.open += 1
        self.most = max(self.most, self.open)
        yield SimpleNamespace(started={"ready_s": 1.0}, ask=partial(self.ask, name))
        self.open -= 1

    def ask(self, name, command):
        self.asked.append((name, command["do"]))
        if name == "trl":
            Path(command["file"]).touch()
        gradients = {"tensors": 1, "worst": ["w", 0.0], "tolerance": 1.0, "equal": True}
        return {"loss": [1.0, 1.0], **gradients}

    def turn(self, side, regime, first, steps):
        rows = [{"step": 2.0, "sample": 1.0, "train": 0.5}] * steps
        return {"rows": rows, "lengths": [[8] * 512] * steps, "cpu_s": 1.0, "peak_mib": 1.0}


def throughput(monkeypatch):
    """The functions of the script, with a machine's rates that are not measured."""
    script = runpy.run_path(str(BENCHMARKS / "throughput.py"))
    rates = {"flops_per_s": 1e9, "bytes_per_s": 1e9}
    monkeypatch.setitem(script["measured"].__globals__, "rates_apart", lambda bench: rates)
    return script


def test_one_side_at_a_time_is_in_memory_where_two_do_not_fit(tmp_path, monkeypatch):
    bench = Bench(tmp_path)
    found = throughput(monkeypatch)["measured"](bench)
    assert bench.most == 1
    assert bench.asked == [("trl", "prove"), ("ours", "prove")]
    assert found["proof"][0]["equal"]
    assert {name: len(turns) for name, turns in found["raw"]["fixed"].items()} == {
        "ours": 2,
        "trl": 2,
    }
    assert found["regimes"]["fixed"]["ratio"]["trl"]["ratio"] == 1
    assert not list(tmp_path.glob("*.pt"))


def test_parts_are_measured_once_in_any_number_of_processes(tmp_path, monkeypatch):
    script = throughput(monkeypatch)
    first = Bench(tmp_path, part="trl-fixed-1")
    script["one_part"](first)
    assert first.started == ["trl"]
    script["one_part"](first)
    assert first.started == ["trl"]
    later = Bench(tmp_path)
    found = script["measured"](later)
    assert sorted(later.started) == ["ours"] * 4 + ["trl"] * 3
    again = Bench(tmp_path)
    assert script["measured"](again) == found
    assert again.started == []


def test_a_part_that_there_is_not_is_named_beside_those_that_there_are(tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match="trl-fixed-9 is none of proof, ours-fixed-0, trl-fixed-0"):
        throughput(monkeypatch)["one_part"](Bench(tmp_path, part="trl-fixed-9"))


def test_the_tokenizer_that_transformers_loads_has_no_token_more_than_the_model(tmp_path):
    sizes = piece("sizes")
    size = sizes.Size(16, 32, 1, 2, 1, num_prompts=2, length=3)
    sizes.write(tmp_path, size)
    assert len(AutoTokenizer.from_pretrained(tmp_path)) == len(sizes.tokenizer(0))


def test_a_package_used_from_its_folder_has_no_version_and_stops_no_benchmark(monkeypatch):
    module = importlib.import_module("provenance")

    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(module.metadata, "version", missing)
    assert module.provenance("throughput.py")["versions"]["reasonenv"] == ""


@pytest.mark.slow(reason="measures whole steps in a process")
def test_our_side_takes_its_turns_with_the_lengths_that_were_wanted(tmp_path, monkeypatch):
    side, sizes, problems = piece("side"), piece("sizes"), piece("problems")
    problems.write(tmp_path / "data")
    sizes.write(tmp_path / "model", sizes.SIZES["tiny"])
    config = {"side": "ours", "size": "tiny", "scratch": str(tmp_path / "run"), "enemies": []}
    config |= {"model": str(tmp_path / "model"), "data": str(tmp_path / "data")}
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    with side.Side(config, sys.executable, threads=1) as ours:
        command = {"do": "run", "regime": "long-tailed", "step": 4, "steps": 2}
        answer = ours.ask(command, deadline=600)
    rows = read_json_lines(tmp_path / "run" / "metrics.jsonl")
    wanted = [piece("regimes").lengths("long-tailed", step, 64, 32, 128).mean() for step in (4, 5)]
    assert [row["response/length_mean"] for row in rows] == pytest.approx(wanted)
    assert answer["peak_mib"] > 0
    for row in answer["rows"]:
        assert row["step"] >= row["sample"] + row["train"] > 0
