from collections import Counter

import gymnasium
import numpy as np
import pytest

import reasonenv
from reasonenv.envs.mixture import Mixture, Part
from reasonenv.problem import Problem
from reasonenv.prompts import find_prompt
from reasonenv.rewards import accuracy
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
    mixture = Mixture(parts)
    times = Counter(problem.id for problem in mixture)
    assert len(times) == sum(sizes)
    for each in parts:
        own = [count for id, count in times.items() if id[0] == each.id]
        assert max(own) - min(own) <= 1
        share = sum(own) / len(mixture)
        assert share == pytest.approx(each.weight / sum(weights), abs=1 / len(mixture))
    assert mixture[-1].metadata["env"] == parts[-1].id


@pytest.fixture
def figures():
    """A second environment beside Figures, with rewards and a prompt of its own."""
    reasonenv.register("Toy-v0", "helpers.toy")
    yield ["Figures-v1", "Toy-v0"]
    del reasonenv.registry["Toy-v0"]
    del gymnasium.registry["reasonenv/Toy-v0"]


def test_a_mixture_poses_its_parts_as_often_as_it_should(figures):
    options = {"options": {"Toy-v0": {"size": 50}}, "num_workers": 1}
    envs = reasonenv.make(figures, weights=[1, 3], num_envs=400, **options)
    infos = envs.reset(seed=0)[1]
    told = envs.step([""] * 400)[4]
    envs.close()
    parts = Counter(metadata["env"] for metadata in told["metadata"])
    assert 60 < parts["Figures-v1"] < 140
    assert parts["Toy-v0"] == 400 - parts["Figures-v1"]
    assert sum(id.startswith("Figures-v1/") for id in infos["problem_id"]) == parts["Figures-v1"]


def test_each_part_asks_and_pays_as_it_does_alone(figures):
    envs = reasonenv.make(figures, num_envs=40, num_workers=1)
    envs.reset(seed=0)
    references = envs.step([""] * 40)[4]["reference"]
    observations, _ = envs.reset(seed=0)
    written = [f"<think>So.</think><answer>\\boxed{{{answer}}}</answer>" for answer in references]
    _, rewards, _, _, infos = envs.step(written)
    envs.close()
    of_figures = np.array([metadata["env"] == "Figures-v1" for metadata in infos["metadata"]])
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
        (["Toy-v0"], {"options": {"MMK12-v0": {}}}, "options: 'MMK12-v0' is no part"),
        (["Toy-v0"], {"options": {"Toy-v0": {"x": 1}}}, "Toy-v0 takes no argument 'x'"),
        (["Toy-v0"], {"split": "dev"}, "toy has no split 'dev': there are train, test"),
    ],
)
@pytest.mark.usefixtures("figures")
def test_a_mixture_that_does_not_fit_is_told_in_one_line(names, kwargs, message):
    with pytest.raises((ValueError, gymnasium.error.NameNotFound), match=message) as caught:
        reasonenv.make(names, **kwargs)
    assert "\n" not in str(caught.value)


def test_a_pass_that_no_memory_holds_is_refused():
    with pytest.raises(ValueError, match="weights so unequal need a pass of "):
        Mixture([part("a", 10, 1e-9), part("b", 10, 1)])
