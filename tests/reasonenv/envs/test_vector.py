import functools
import itertools
import json
import time

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from helpers import faulty, toy

import reasonenv
from reasonenv.errors import DataError, UsageError
from reasonenv.ordering import ProblemOrder
from reasonenv.problem import Problem
from reasonenv.testing import check_env
from reasonenv.vector import ReasonVectorEnv

make_toy = functools.partial(ReasonVectorEnv, toy.problems(), toy.REWARDS)


def ids(infos) -> list[str]:
    return list(infos["problem_id"])


@pytest.fixture
def envs():
    envs = make_toy(num_envs=6, group_size=3, render_mode="ansi")
    yield envs
    envs.close()


CHOSEN = {"accuracy": 1, "think_answer_format": 0.5, "repetition": 0.1}


@pytest.mark.parametrize(
    "make",
    [
        make_toy,
        functools.partial(reasonenv.make, "Figures-v2"),
        functools.partial(reasonenv.make, "Figures-v2", split="test"),
        functools.partial(reasonenv.make, "Figures-v2", rewards=CHOSEN, unjudged=0.5),
    ],
)
def test_every_environment_that_needs_no_download_keeps_the_contract(make):
    check_env(make)


class Broken(ReasonVectorEnv):
    """Rewards of everyone go to the neighbour."""

    def step(self, actions):
        observations, rewards, *rest = super().step(actions)
        return observations, np.roll(rewards, 1) * np.arange(self.num_envs), *rest


class Telling(ReasonVectorEnv):
    """Tells the reference to who asks."""

    def reset(self, **kwargs):
        observations, infos = super().reset(**kwargs)
        return observations, {
            **infos,
            "reference": [e.problem.answer for e in self._episodes.values()],
        }


class Hinting(ReasonVectorEnv):
    """Ends a question with its answer."""

    def _observations(self):
        shown = super()._observations()
        hints = [
            f"{q} (The answer is {e.problem.answer}.)"
            for q, e in zip(shown["question"], self._episodes.values(), strict=True)
        ]
        return {**shown, "question": tuple(hints)}


class Forgetful(ReasonVectorEnv):
    """Heeds no seed."""

    def reset(self, *, seed=None, options=None):
        return super().reset(options=options)


class Alone(ReasonVectorEnv):
    """Takes the whole batch whatever its rank."""

    def __init__(self, *args, rank=0, num_ranks=1, **kwargs):
        super().__init__(*args, **kwargs)


@pytest.mark.parametrize("kind", [Broken, Telling, Hinting, Forgetful, Alone])
def test_the_contract_finds_an_environment_that_breaks_it(kind):
    with pytest.raises(AssertionError):
        check_env(functools.partial(kind, toy.problems(size=50), toy.REWARDS))


def test_a_batch_of_responses_gets_its_rewards_in_order(envs):
    observations, _ = envs.reset(seed=0)
    answers = [str(2 * int(question[:2])) for question in observations["question"]]
    responses = [answer if index % 2 else "0" for index, answer in enumerate(answers)]
    _, rewards, terminations, truncations, infos = envs.step(responses)
    assert rewards.tolist() == [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]
    assert infos["accuracy"].tolist() == rewards.tolist()
    assert list(infos["reference"]) == answers
    assert list(infos["answer"]) == responses
    assert terminations.all()
    assert not truncations.any()


def test_infos_tell_the_outcome_of_each_grading_and_its_counts(envs):
    envs.reset(options={"indices": [0]})
    tower = "\\boxed{9^{9^{9^{9^{9}}}}}"
    responses = ["20", "21", "", "\\boxed{x+20-x}", tower, "20"]
    infos = envs.step(responses)[4]
    grade = infos["grade"]
    assert list(grade) == ["ok", "no_answer", "unparseable", "timeout", "memory", "error"]
    assert all(told.dtype == bool and told.shape == (6,) for told in grade.values())
    for status, told in grade.items():
        assert told.tolist() == [each == status for each in infos["status"]]
    assert grade["ok"].tolist() == [True, True, False, True, False, True]
    assert grade["no_answer"].sum() == 1
    assert sum(told.sum() for told in grade.values()) == 6
    np.testing.assert_equal(infos["final_info"]["grade"], grade)


def test_rewards_are_chosen_by_name_and_weight():
    rewards = {"accuracy": 2, "format": 0.5, "repetition": {"weight": 0.1, "n": 1}}
    envs = reasonenv.make("Figures-v2", num_envs=3, group_size=3, rewards=rewards, unjudged=-0.4)
    envs.reset(seed=0)
    reference = envs.step([""] * 3)[4]["reference"][0]
    envs.reset(seed=0)
    right = f"<think>so</think><answer>{reference}</answer>"
    tower = "\\boxed{9^{9^{9^{9^{9}}}}}"
    _, paid, _, _, infos = envs.step([right, "so so so so", tower])
    assert paid.tolist() == pytest.approx([2.5, -0.075, -0.4])
    assert infos["repetition"].tolist() == [0.0, -0.75, 0.0]
    assert infos["unjudged"].tolist() == [0.0, 0.0, 1.0]
    assert envs.spec.kwargs["rewards"] == rewards
    assert json.loads(envs.spec.to_json())["kwargs"]["unjudged"] == -0.4
    envs.close()


def test_a_step_poses_the_next_problems_and_tells_about_the_last(envs):
    first = ids(envs.reset(seed=0)[1])
    infos = envs.step(["1"] * 6)[4]
    assert ids(infos) == ids(infos["final_info"]) == first
    assert "next_problem_id" not in infos["final_info"]
    assert ids(envs.step(["1"] * 6)[4]) == list(infos["next_problem_id"]) != first
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP


@pytest.mark.parametrize("subset", [None, [2, 7, 7, 9]])
def test_an_order_has_every_problem_once_a_pass_and_each_pass_is_shuffled(subset):
    order, expected = ProblemOrder(10, seed=0, subset=subset), subset or list(range(10))
    size = len(expected)
    passes = [[order[k * size + place] for place in range(size)] for k in range(9)]
    assert all(sorted(numbers) == expected for numbers in passes)
    assert len({tuple(numbers) for numbers in passes}) > 3


def test_an_order_is_a_function_of_seed_and_position():
    forwards = [ProblemOrder(10, seed=4)[position] for position in range(35)]
    order = ProblemOrder(10, seed=4)
    assert [order[position] for position in reversed(range(35))] == forwards[::-1]
    assert [ProblemOrder(10, seed=5)[position] for position in range(35)] != forwards


def test_a_reset_draws_from_a_subset_until_another_reset(envs):
    posed = {*ids(envs.reset(seed=0, options={"subset": [1, 4]})[1])}
    posed |= {*ids(envs.step(["1"] * 6)[4])} | {*ids(envs.step(["1"] * 6)[4])}
    assert posed == {envs.problems[k].id for k in (1, 4)}
    assert ids(envs.reset(seed=0)[1]) == ids(make_toy(num_envs=6, group_size=3).reset(seed=0)[1])


def test_images_of_observations_cannot_be_changed_and_are_shared_by_a_group():
    white = np.full((28, 28, 3), 255, np.uint8)
    problem = Problem("1", "?", "2", images=(white,))
    envs = ReasonVectorEnv([problem], toy.REWARDS, num_envs=4, group_size=2)
    observations, _ = envs.reset(seed=0)
    final_obs = envs.step([""] * 4)[4]["final_obs"]
    for images in (*observations["images"], *(single["images"] for single in final_obs)):
        with pytest.raises(ValueError, match="read-only"):
            images[0][:] = 0
    final_obs[0]["question"] = "!"
    assert final_obs[1]["question"] == "?"
    envs.close()
    assert white.min() == 255
    white[0] = 0  # it stays the caller's
    assert observations["images"][0] is observations["images"][1]


def test_a_data_set_smaller_than_a_batch_is_passed_through_again():
    envs = make_toy(num_envs=20)
    counts = np.unique(ids(envs.reset(seed=0)[1]), return_counts=True)[1]
    assert sorted(counts) == [2, 3, 3, 3, 3, 3, 3]


def test_indices_are_posed_in_order_and_from_the_first_again():
    envs = make_toy(num_envs=2)
    posed = [ids(envs.reset(options={"indices": [2, 0, 1]})[1])]
    envs.step(["", ""])
    posed.append(ids(envs.step(["", ""])[4]))
    assert posed == [["train/12", "train/10"], ["train/11", "train/12"]]


def test_a_reset_without_a_seed_continues_the_order():
    one, two = make_toy(num_envs=2), make_toy(num_envs=2)
    one.reset(seed=0)
    one.step(["", ""])
    after_a_step = ids(one.step(["", ""])[4])
    two.reset(seed=0)
    assert ids(two.reset()[1]) == after_a_step


def test_what_was_submitted_for_one_problem_is_not_for_the_next(envs):
    envs.reset(options={"indices": [0, 1, 2, 3]})
    envs.submit(0, "20")
    assert envs.step(["20"] * 6)[1].tolist() == [1.0] * 3 + [0.0] * 3
    assert envs.step(["20"] * 6)[1].tolist() == [0.0] * 6


@pytest.mark.parametrize("index", [-1, 6])
def test_submitting_for_nobody_is_an_error(envs, index):
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=r"is not in \[0, 6\)"):
        envs.submit(index, "1")


@pytest.mark.parametrize(
    ("actions", "kind", "message"),
    [
        (["1"] * 5, ValueError, "5 actions for num_envs=6 problems"),
        ("111111", TypeError, "actions are a list of texts, not str"),
        (None, TypeError, "actions are a list of texts, not NoneType"),
        (["1"] * 5 + [6], TypeError, r"an action is a text \(str\), not int at index 5: 6"),
    ],
)
def test_actions_that_do_not_fit_are_told_in_one_line(envs, actions, kind, message):
    envs.reset(seed=0)
    with pytest.raises(kind, match=f"^{message}$"):
        envs.step(actions)


@pytest.mark.parametrize("call", ["step", "submit", "render"])
def test_everything_needs_a_reset_first(envs, call):
    arguments = {"step": (["1"] * 6,), "submit": (0, "1"), "render": ()}[call]
    with pytest.raises(gymnasium.error.ResetNeeded, match=f"call reset before {call}"):
        getattr(envs, call)(*arguments)


def test_one_seed_is_for_all(envs):
    with pytest.raises(ValueError, match="give one seed, not a list"):
        envs.reset(seed=[1, 2, 3, 4, 5, 6])


def test_a_frame_of_each_sub_environment_is_rendered(envs):
    envs.reset(options={"indices": [0]})
    assert envs.render() == ("10+10?",) * 6
    envs.step(["20"] + ["21"] * 5)
    first, second = envs.render()[:2]
    assert first.endswith("right: answer '20', reference '20'")
    assert second.endswith("wrong: answer '21', reference '20'")


def test_a_step_of_plain_numbers_takes_milliseconds():
    envs = make_toy(num_envs=256, group_size=8)
    envs.reset(seed=0)
    seconds = []
    for _ in range(5):
        start = time.process_time()
        envs.step(["<think>a</think><answer>The answer is $\\boxed{17}$</answer>"] * 256)
        seconds.append(time.process_time() - start)
    envs.close()
    assert min(seconds) < 0.02


@pytest.mark.parametrize("count", [{}, {"num_envs": 4, "group_size": 2}])
def test_this_package_and_gymnasium_make_the_same_environment(count):
    make = gymnasium.make_vec if count else gymnasium.make
    one = reasonenv.make("Figures-v2", prompt="cpgd", **count)
    two = make("reasonenv/Figures-v2", prompt="cpgd", **count)
    assert one.spec.id == two.spec.id == "reasonenv/Figures-v2"
    assert count.items() <= {"num_envs": 4, **one.spec.kwargs}.items()
    np.testing.assert_equal(one.reset(seed=1), two.reset(seed=1))
    one.close()
    two.close()


def test_many_observations_and_infos_are_a_few_words_and_pictures(envs):
    assert envs._repr_html_() is None
    observations, infos = envs.reset(seed=0)
    assert observations._repr_html_().endswith("<p>6 observations of 2 problems</p>")
    assert envs._repr_html_().count("<img") == 2
    for shown in (observations, infos, envs.step(["1"] * 6)[4]):
        assert "... 6 in all" in repr(shown)
        assert len(repr(shown)) < 3000
    assert "Tuple(TextSpace() x 6)" in repr(envs.observation_space)


def posed(unreadable=(), too_long=(), start=0, rank=0, num_ranks=1, left_out=True):
    """Ids of some batches of two problems a rank, and the numbers of those that were left out."""
    problems = faulty.problems(unreadable=unreadable)
    options = {"num_envs": 4 // num_ranks, "group_size": 2, "rank": rank, "num_ranks": num_ranks}
    envs = ReasonVectorEnv(problems, faulty.REWARDS, **options)
    envs.left_out = {} if left_out else None
    envs.reset(seed=0, options={"start": start})
    batches = []
    for _ in range(6):
        while rows := {
            row: "long"
            for row, (number, *_) in enumerate(envs._posed.values())
            if number in too_long
        }:
            envs.leave_out({2 * row: reason for row, reason in rows.items()})
        batches.append(ids(envs.step([""] * envs.num_envs)[4])[::2])
    envs.close()
    return batches, envs.left_out


def test_the_next_of_the_order_stands_in_place_of_a_problem_that_cannot_be_posed():
    order = ProblemOrder(12, 0)
    expected, _ = posed()
    batches, left_out = posed(unreadable=[order[3]], too_long=[order[4]])
    flat, before = (list(itertools.chain(*ids)) for ids in (batches, expected))
    assert flat[3] == flat[4] == before[5]
    assert flat[:3] + flat[5:] == before[:3] + before[5:]
    assert set(left_out) == {order[3], order[4]}


@pytest.mark.parametrize("faults", [{"unreadable": [3, 4, 8]}, {"too_long": [3, 4, 8]}])
def test_ranks_and_a_later_start_leave_the_same_problems_out(faults):
    whole, _ = posed(**faults)
    ranks = [posed(**faults, rank=rank, num_ranks=2)[0] for rank in range(2)]
    assert [[*one, *two] for one, two in zip(*ranks, strict=True)] == whole
    assert posed(**faults, start=6)[0][:3] == whole[3:]


def test_problems_are_left_out_only_where_that_is_asked_for_and_never_of_indices():
    with pytest.raises(DataError, match="the image cannot be read"):
        posed(unreadable=[ProblemOrder(12, 0)[0]], left_out=False)
    with pytest.raises(DataError, match="no problem can be posed; one of them: faulty, row "):
        posed(unreadable=range(12))
    envs = reasonenv.make("Faulty-v0", num_envs=1, unreadable=[3], without="invalid")
    for _ in range(12):
        envs.reset(seed=0)
    with pytest.raises(DataError, match="the image cannot be read"):
        envs.reset(options={"indices": [3]})
    envs.reset(options={"indices": [2]})
    with pytest.raises(UsageError, match=r"^problem 'train/2': too long"):
        envs.leave_out({0: "too long"})
    envs.close()


def test_one_problem_at_a_time_leaves_out_what_is_invalid():
    env = reasonenv.make("Faulty-v0", unreadable=[3], without="invalid")
    answered = {env.reset(seed=0 if k == 0 else None)[1]["problem_id"] for k in range(12)}
    env.close()
    assert answered == {f"train/{k}" for k in range(12)} - {"train/3"}
