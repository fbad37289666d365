from collections import Counter
from dataclasses import replace
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from helpers import toy
from helpers.hub_rows import cell, hub, lines

import reasonenv
from reasonenv.datasets.selection import warn_once
from reasonenv.entry_points import invalid_rows
from reasonenv.envs import mixture
from reasonenv.envs.mixture import Mixture, Part
from reasonenv.errors import DataError
from reasonenv.problem import Problem
from reasonenv.prompts import find_prompt
from reasonenv.registration import find
from reasonenv.rewards import accuracy
from reasonenv.scoring import score
from reasonenv.testing import check_env


def part(name, size, weight):
    made = [Problem(f"{name}{k}", "?", "1") for k in range(size)]
    return Part(name, made, {"accuracy": (1.0, accuracy)}, find_prompt("plain"), weight)


@pytest.mark.parametrize(
    ("sizes", "weights"),
    [((10, 10), (1, 1)), ((10, 10), (3, 1)), ((7, 100), (1, 1)), ((5, 3, 2), (0.2, 0.3, 0.5))],
)
def test_a_pass_holds_every_problem_and_the_parts_by_weight(sizes, weights):
    parts = [
        part("abc"[k], size, w) for k, (size, w) in enumerate(zip(sizes, weights, strict=True))
    ]
    mixed = Mixture(parts)
    times = Counter(problem.id for problem in mixed)
    assert len(times) == sum(sizes)
    for each in parts:
        own = [count for id, count in times.items() if id[0] == each.id]
        assert max(own) - min(own) <= 1
        share = sum(own) / len(mixed)
        assert share == pytest.approx(each.weight / sum(weights), abs=1 / len(mixed))
    assert mixed[-1].metadata["env"] == parts[-1].id


def test_a_mixture_warns_of_problems_that_its_parts_share_with_others(tmp_path, caplog):
    row = {"id": 1, "problem": "<image>Find x.", "answer": "7", "images": [cell()]}
    hub(tmp_path / "geometry3k", "train", [row])
    warn_once.cache_clear()
    envs = ["Geometry3K-v0", "Figures-v2"]
    reasonenv.make(envs, data=str(tmp_path), num_workers=1).close()
    (record,) = caplog.records
    assert record.getMessage().startswith(
        "Geometry3K-v0 shares problems with MathVista-v0, 62 problems of its split testmini: "
    )


@pytest.fixture
def figures():
    """A second environment beside Figures, with rewards and a prompt of its own."""
    reasonenv.register(toy.TOY)
    yield ["Figures-v2", "Toy-v0"]
    del reasonenv.registry["Toy-v0"]
    del gymnasium.registry["reasonenv/Toy-v0"]


def test_a_mixture_poses_its_parts_as_often_as_it_should(figures):
    options = {"options": {"Toy-v0": {"size": 50}}, "num_workers": 1}
    envs = reasonenv.make(figures, weights=[1, 3], num_envs=400, **options)
    infos = envs.reset(seed=0)[1]
    told = envs.step([""] * 400)[4]
    envs.close()
    parts = Counter(metadata["env"] for metadata in told["metadata"])
    assert 60 < parts["Figures-v2"] < 140
    assert parts["Toy-v0"] == 400 - parts["Figures-v2"]
    assert sum(id.startswith("Figures-v2/") for id in infos["problem_id"]) == parts["Figures-v2"]


def test_each_part_asks_and_pays_as_it_does_alone(figures):
    envs = reasonenv.make(figures, num_envs=40, num_workers=1)
    envs.reset(seed=0)
    references = envs.step([""] * 40)[4]["reference"]
    observations, _ = envs.reset(seed=0)
    written = [f"<think>So.</think><answer>\\boxed{{{answer}}}</answer>" for answer in references]
    _, rewards, _, _, infos = envs.step(written)
    envs.close()
    of_figures = np.array([metadata["env"] == "Figures-v2" for metadata in infos["metadata"]])
    assert of_figures.any()
    assert not of_figures.all()
    np.testing.assert_allclose(rewards, np.where(of_figures, 1.1, 1.0))
    assert (infos["accuracy"] == 1).all()
    assert set(observations["system"]) == {""}


def test_a_prompt_and_rewards_may_be_chosen_for_all(figures):
    envs = reasonenv.make(
        figures, num_envs=20, prompt="cpgd", rewards={"accuracy": 2.0}, num_workers=1
    )
    observations, _ = envs.reset(seed=0)
    envs.close()
    assert all("<think>" in system for system in observations["system"])
    assert {name: weight for name, (weight, _) in envs.rewards.items()} == {"accuracy": 2.0}


def test_a_mixture_keeps_the_contract_of_environments(figures):
    def make(**kwargs):
        rewards = {"accuracy": 1.0}
        return reasonenv.make(figures, rewards=rewards, num_workers=1, **kwargs)

    check_env(make)


def test_gymnasium_makes_mixtures_too_and_tells_their_specification(figures):
    envs = gymnasium.make_vec("reasonenv/Mixture-v0", num_envs=2, envs=figures, weights=[1, 1])
    assert envs.spec.kwargs["envs"] == figures
    assert envs.spec.to_json()
    envs.close()
    env = reasonenv.make(figures)
    assert env.reset(seed=0)[1]["problem_id"]
    env.close()


def test_the_files_of_several_data_sets_are_mixed(shared):
    names = ["MMK12-v0", "MathVision-v0", "GSM8K-v0"]
    envs = reasonenv.make(names, num_envs=30, data=shared / "data", num_workers=1)
    observations, _ = envs.reset(seed=1)
    infos = envs.step([""] * 30)[4]
    envs.close()
    assert {metadata["env"] for metadata in infos["metadata"]} == set(names)
    for system, metadata in zip(observations["system"], infos["metadata"], strict=True):
        assert ("<think>" in system) == (metadata["env"] != "GSM8K-v0")


@pytest.mark.parametrize(
    ("names", "kwargs", "message"),
    [
        ([], {}, r"envs=\[\]: give a list of environments"),
        (["Toy-v0", "toy-v1"], {}, "no environment is called 'toy-v1'"),
        (["Toy-v0", "Toy-v0"], {}, "each environment once, and no mixture among them"),
        (["Toy-v0", "Mixture-v0"], {}, "each environment once, and no mixture among them"),
        (["Toy-v0"], {"weights": [1, 2]}, "2 weights for 1 environments"),
        (["Toy-v0"], {"weights": [0]}, "weight 0 of Toy-v0: a number above 0 is needed"),
        (["Toy-v0"], {"weights": [float("nan")]}, "weight nan of Toy-v0"),
        (["Toy-v0"], {"weights": True}, "weights=True: give a list of numbers"),
        ([["Toy-v0", {}]], {}, r"envs=\[\['Toy-v0', {}\]\]: give a list of environments"),
        ({"GSM8K-v0": 1}, {}, "envs={'GSM8K-v0': 1}: give a list of environments to mix"),
        (3, {}, "envs=3: give a list of environments to mix"),
        ([None], {}, r"envs=\[None\]: give a list of environments"),
        (["Toy-v0"], {"options": 3}, "options=3: give a dict of options for each part"),
        (["Toy-v0"], {"options": {"Toy-v0": 3}}, r"options=\{'Toy-v0': 3\}: give a dict"),
        (["Toy-v0"], {"options": {"MMK12-v0": {}}}, "options: 'MMK12-v0' is no part"),
        (["Toy-v0"], {"options": {"Toy-v0": {"x": 1}}}, "Toy-v0 takes no argument 'x'"),
        (["Toy-v0"], {"split": "dev"}, "Toy-v0 has no split 'dev': there are train, test"),
    ],
)
@pytest.mark.usefixtures("figures")
def test_a_mixture_that_does_not_fit_is_told_in_one_line(names, kwargs, message):
    with pytest.raises((ValueError, gymnasium.error.NameNotFound), match=message) as caught:
        reasonenv.make("Mixture-v0", envs=names, **kwargs)
    assert "\n" not in str(caught.value)


@pytest.fixture
def broken():
    """Options of a part with a question that has no answer."""
    rows = [{"question": f"{k}+0?", "answer": str(k) if k != 2 else ""} for k in range(4)]
    return {"file": {"data": rows}}


def ids_of(env):
    env.close()
    return sorted({problem.id for problem in env.get_wrapper_attr("problems")})


@pytest.mark.usefixtures("figures")
def test_rows_that_make_no_problem_are_left_out_of_every_part(broken):
    names = ["file", "Toy-v0"]
    with pytest.raises(DataError, match="column 'answer' is empty"):
        reasonenv.make(names, options=broken)
    own = {**broken, "file": {**broken["file"], "without": ["3"]}}
    expected = ids_of(reasonenv.make(names, options=own))
    assert len(expected) == 3 + 7
    assert ids_of(reasonenv.make(names, options=broken, without="invalid")) == expected


@pytest.mark.usefixtures("figures")
def test_rows_that_make_no_problem_are_known_to_evaluations_and_scores(broken):
    options = {"envs": ["file", "Toy-v0"], "weights": [3, 1], "options": broken}
    assert {row.id for row in invalid_rows("Mixture-v0", options)} == {"file/3"}
    assert invalid_rows("Mixture-v0", {**options, "without": ["file/3"]}) == []
    expected = ids_of(reasonenv.make("Mixture-v0", without="invalid", **options))
    assert ids_of(reasonenv.make("Mixture-v0", without=["file/3"], **options)) == expected
    with pytest.raises(DataError, match=r"left out by without=\['file/3'\], --env-opt"):
        reasonenv.make("Mixture-v0", **options)
    rows = [{"id": "file/1", "response": "\\boxed{0}"}]
    assert score("Mixture-v0", rows, env_options=options)["accuracy"] == 1


@pytest.mark.usefixtures("figures")
@pytest.mark.parametrize("option", ["filter", "without", "holdout"])
def test_problems_of_a_mixture_are_chosen_as_those_of_its_parts(option):
    first, *others = ids_of(reasonenv.make(["Toy-v0"]))
    value = {"filter": {"k": range(11, 17)}, "without": [first], "holdout": 0.5}[option]
    env = reasonenv.make(["Toy-v0"], **{option: value})
    env.reset(seed=0)
    assert env.step("1")[4]["own"] == 0
    ids = ids_of(env)
    assert set(ids) < {first, *others} if option == "holdout" else ids == others


def test_a_pass_that_no_memory_holds_is_refused():
    with pytest.raises(ValueError, match="weights so unequal need a pass of "):
        Mixture([part("a", 10, 1e-9), part("b", 10, 1)])


@pytest.fixture
def two(tmp_path):
    """Folder of a data set with two splits and of a benchmark, whose ids are the same numbers."""
    for split in ("train", "test"):
        rows = [{"question": f"{split} {k}", "answer": f"#### {k}"} for k in range(6)]
        lines(tmp_path / "gsm8k", f"{split}.jsonl", rows)
    rows = [{"problem": f"aime {k}", "answer": k + 50, "id": k} for k in range(6)]
    lines(tmp_path / "aime25", "test.jsonl", rows)
    return str(tmp_path)


BOTH = {"envs": ["GSM8K-v0", "AIME25-v0"]}


def posed(data, **options):
    return list(
        reasonenv.make("Mixture-v0", data=data, **BOTH, **options).get_wrapper_attr("problems")
    )


def test_ids_of_a_mixture_name_the_part(two):
    problems = posed(two)
    assert len({problem.id for problem in problems}) == len(problems) == 12
    assert {problem.id for problem in problems} >= {"GSM8K-v0/0", "AIME25-v0/0"}
    rows = [{"id": p.id, "response": f"\\boxed{{{p.answer}}}"} for p in problems]
    scores = score("Mixture-v0", rows, two, env_options=BOTH)
    assert (scores["accuracy"], scores["num_problems"], scores["num_samples"]) == (1.0, 12, 1)
    assert len(posed(two, filter={"env": ["AIME25-v0"]})) == 6


def test_a_mixture_is_evaluated_on_what_its_parts_do_not_train_on(two, caplog):
    warn_once.cache_clear()
    assert find("Mixture-v0").evaluation_split({**BOTH, "data": two}) == "test"
    assert {p.question[:5] for p in posed(two)} == {"train", "aime "}
    assert {p.question[:5] for p in posed(two, split="test")} == {"test "}
    (line,) = {record.getMessage() for record in caplog.records}
    assert line == "AIME25-v0 has no problems beside those to train on: the test leaves it out"
    # What is held out of a part without another split is what it is evaluated on.
    trained = {p.question for p in posed(two, holdout=0.5)}
    unseen = {p.question for p in posed(two, split="test", holdout=0.5)}
    assert not trained & unseen
    assert len(unseen | {question for question in trained if question < "b"}) == 12
    assert {question[:5] for question in unseen} == {"test ", "aime "}


def test_of_benchmarks_what_is_held_out_is_evaluated_once_each(two):
    lines(Path(two) / "amc23", "test.jsonl", [{"question": f"{k}?", "answer": k} for k in range(9)])
    options = {"envs": ["AIME25-v0", "AMC23-v0"], "data": two, "holdout": 0.5}
    assert mixture.splits(two, options["envs"], holdout=0.5) == ("test", "heldout")
    assert find("Mixture-v0").evaluation_split(options) == "heldout"
    unseen = reasonenv.make("Mixture-v0", split="heldout", **options).get_wrapper_attr("problems")
    trained = reasonenv.make("Mixture-v0", **options).get_wrapper_attr("problems")
    ids, others = [problem.id for problem in unseen], {problem.id for problem in trained}
    assert len(ids) + len(others) == len({*ids, *others}) == 15
    assert all(any(id.startswith(name) for id in ids) for name in options["envs"])


def test_splits_of_a_mixture_are_those_of_its_parts(two):
    assert mixture.splits(two, BOTH["envs"]) == ("train", "test")
    assert mixture.splits(two, ["AIME25-v0"]) == ("test",)
    own = {"GSM8K-v0": {"split": "test"}}
    assert mixture.splits(two, BOTH["envs"], own) == ("train",)
    assert find("Mixture-v0").evaluation_split({**BOTH, "data": two, "options": own}) == "train"


def test_an_evaluation_of_a_mixture_begins_with_every_part(figures):
    options = {"Toy-v0": {"size": 3}}
    problems = reasonenv.make(figures, split="test", options=options).get_wrapper_attr("problems")
    assert len(problems) == 503
    envs = [problems[index].metadata["env"] for index in range(8)]
    assert envs == ["Figures-v2", "Toy-v0"] * 3 + ["Figures-v2"] * 2
    assert problems[502].id.startswith("Figures-v2/figures-v2/2/test/0/499")


def test_clusters_of_a_mixture_are_those_of_the_parts():
    made = [Problem(f"{k}", "?", "1", metadata={"sort": k // 2, "env": "x"}) for k in range(4)]
    parts = [replace(part(name, 4, 1), problems=made, cluster="sort") for name in "ab"]
    clusters = [problem.metadata["cluster"] for problem in Mixture(parts)]
    assert clusters == ["a/0", "a/0", "a/1", "a/1", "b/0", "b/0", "b/1", "b/1"]
    assert next(iter(Mixture(parts)[0].metadata)) == "env"
    assert Mixture(parts)[0].metadata["env"] == "a"
    assert Mixture([part("a", 1, 1)])[0].metadata["cluster"] is None
