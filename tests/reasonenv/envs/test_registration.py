import importlib
import inspect
import sys

import gymnasium
import pytest
from helpers import toy

import reasonenv
from reasonenv.registration import BUILT_IN, find

SECTIONS = ["Description:", "Action Space:", "Observation Space:", "Rewards:", "Splits:"]


@pytest.fixture
def _toy():
    reasonenv.register(toy.TOY)
    yield
    del reasonenv.registry["Toy-v0"]
    del gymnasium.registry["reasonenv/Toy-v0"]


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_environment_is_known_to_gymnasium_too(name):
    spec = gymnasium.spec(f"reasonenv/{name}")
    assert isinstance(spec.entry_point, str)
    assert isinstance(spec.vector_entry_point, str)
    assert spec.to_json()


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_environment_has_a_page(name):
    module = BUILT_IN[name]
    page = inspect.getdoc(importlib.import_module(f"reasonenv.envs.{module}")) or ""
    assert name in (page if module.endswith("_benchmarks") else page.partition(":")[0])
    assert all(section in page for section in [*SECTIONS, "Version History:"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Figure-v1", "no environment is called 'Figure-v1': did you mean Figures-v2?"),
        ("mmk12", "did you mean MMK12-v0?"),
        ("Polygons-v0", "one that your module registers is module:Polygons-v0; there are Figures"),
        ("reasonenv/Figures-v3", "did you mean Figures-v2?"),
        (
            "CartPole",
            "no environment is called 'CartPole': one that your module registers is module:",
        ),
    ],
)
def test_an_unknown_name_is_told_with_the_nearest(name, message):
    with pytest.raises(gymnasium.error.NameNotFound) as caught:
        reasonenv.make(name)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_name_may_carry_the_namespace():
    assert find("reasonenv/Figures-v2") is find("Figures-v2")


@pytest.mark.usefixtures("_toy")
def test_anyones_module_is_an_environment():
    envs = reasonenv.make("Toy-v0", num_envs=4, group_size=2, split="test", size=2)
    assert set(envs.reset(seed=0)[1]["problem_id"]) == {"test/10", "test/11"}
    envs.close()
    env = gymnasium.make("reasonenv/Toy-v0")
    assert env.reset(seed=0)[0]["system"] == ""
    env.close()


@pytest.mark.usefixtures("_toy")
@pytest.mark.parametrize("num_envs", [None, 4])
@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"split": "validation"}, "Toy-v0 has no split 'validation': there are train, test"),
        ({"prompt": "poem"}, "no prompt is called 'poem': there are cpgd, dapo, plain"),
        ({"siz": 3}, "Toy-v0 takes no argument 'siz': did you mean 'size'?"),
        ({"colour": 3}, "Toy-v0 takes no argument 'colour': it takes"),
        ({"rewards": "accuracy"}, "rewards='accuracy': give names and weights"),
        ({"unjudged": "much"}, "reward 'unjudged' has weight 'much': a finite number is needed"),
        ({"reward": {}}, "Toy-v0 takes no argument 'reward': did you mean 'rewards'"),
        ({"data": "somewhere"}, "Toy-v0 makes its own problems and takes no data"),
        ({"num_workers": 0}, "num_workers=0: at least one process is needed"),
        ({"timeout": 0}, "timeout=0: more than 0 seconds are needed"),
    ],
)
def test_an_argument_that_does_not_fit_is_told_at_make(num_envs, kwargs, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - its text is compared below
        reasonenv.make("Toy-v0", num_envs=num_envs, **kwargs)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("_toy")
@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"num_envs": 0}, "num_envs=0: at least 1 is needed"),
        ({"num_envs": 6, "group_size": 0}, "group_size=0 does not divide num_envs=6"),
        ({"num_envs": 2, "rank": 2, "num_ranks": 2}, r"rank=2 is not in \[0, num_ranks=2\)"),
        ({"num_envs": 10, "group_size": 4}, "group_size=4 does not divide num_envs=10"),
        ({"group_size": 4}, "group_size=4 needs num_envs, a multiple of it"),
    ],
)
def test_a_number_of_environments_that_does_not_fit_is_told_at_make(kwargs, message):
    with pytest.raises(ValueError, match=message):
        reasonenv.make("Toy-v0", **kwargs)


_SUMS = """
import reasonenv


def problems(split="train"):
    return [reasonenv.Problem(id="a", question="1 + 1?", answer="2")]


reasonenv.register(reasonenv.Environment(id="OneSum-v0", problems=problems))
"""


@pytest.fixture
def _sums(tmp_path, monkeypatch):
    (tmp_path / "sums_by_module.py").write_text(_SUMS)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    del sys.modules["sums_by_module"]
    del reasonenv.registry["OneSum-v0"]
    del gymnasium.registry["reasonenv/OneSum-v0"]


@pytest.mark.usefixtures("_sums")
@pytest.mark.parametrize("name", ["OneSum-v0", "reasonenv/OneSum-v0"])
def test_a_module_before_the_name_is_imported_first(name):
    env = reasonenv.make(f"sums_by_module:{name}")
    observation, _ = env.reset(seed=0)
    env.close()
    assert observation["question"] == "1 + 1?"


@pytest.mark.parametrize("module", ["not_there", "reasonenv.not_there", "not_there.at_all"])
def test_a_module_that_is_not_there_is_told_in_one_line(module):
    with pytest.raises(gymnasium.error.NameNotFound, match=rf"no module is called '{module}'"):
        find(f"{module}:Sums-v0")


def test_what_a_module_itself_lacks_is_told_as_it_is(tmp_path, monkeypatch):
    (tmp_path / "needs_more.py").write_text("import not_there_either")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="not_there_either"):
        find("needs_more:Sums-v0")


@pytest.mark.parametrize("name", ["Figures-v0", "Figures-v1", "reasonenv/Figures-v1"])
def test_a_retired_environment_names_its_successor_and_the_release_that_has_it(name):
    with pytest.raises(gymnasium.error.NameNotFound) as caught:
        reasonenv.make(name)
    name = name.removeprefix("reasonenv/")
    assert str(caught.value) == (
        f"{name} has become Figures-v2: take that, or release 0.3.0 of reasonenv, which "
        f"reproduces records made with {name}"
    )
