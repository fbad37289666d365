"""Episodes of several turns: what a step returns, whose order counts, and what it does not."""

import functools
import random
from collections import defaultdict

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers
from helpers import counters
from hypothesis import given, settings
from hypothesis import strategies as st

import reasonenv
from reasonenv.env import ReasonEnv
from reasonenv.errors import UsageError
from reasonenv.messages import grow, messages
from reasonenv.testing import check_env
from reasonenv.vector import ReasonVectorEnv

make_counters = functools.partial(
    ReasonVectorEnv, counters.problems(), counters.REWARDS, tools=counters.TOOLS
)
SUMS = functools.partial(reasonenv.make, "Sum-v0", terms=4, digits=2)


@pytest.fixture
def env():
    env = ReasonEnv(counters.problems(), counters.REWARDS, tools=counters.TOOLS, render_mode="ansi")
    env.reset(options={"indices": [5]})
    yield env
    env.close()


@pytest.fixture
def envs():
    envs = make_counters(num_envs=4, group_size=2, render_mode="ansi")
    envs.reset(options={"indices": [*range(12)]})
    yield envs
    envs.close()


@pytest.mark.parametrize("make", [make_counters, SUMS])
def test_an_environment_with_tools_keeps_the_contract(make):
    check_env(make)


class Waiting(ReasonVectorEnv):
    """Poses the next problem of everyone when one episode ends."""

    def _move_on(self, *parts):
        super()._move_on(*parts)
        self._starts = [max(self._starts)] * self.num_envs


class Generous(ReasonVectorEnv):
    """Replies to one call more than its tools say."""

    def step(self, actions):
        for episode in self._episodes.values():
            del episode.turns[1:]
        return super().step(actions)


@pytest.mark.parametrize("kind", [Waiting, Generous])
def test_the_contract_finds_an_environment_with_tools_that_breaks_it(kind):
    make = functools.partial(kind, *make_counters.args, **make_counters.keywords)
    with pytest.raises(AssertionError):
        check_env(make)


def test_the_question_says_what_can_be_called_and_a_reply_is_what_is_new(env):
    observation, _ = env.reset(options={"indices": [5]})
    assert observation["question"] == (
        "5 and 5?\n\nAt most 2 calls, each the last line of a response:\n"
        "add(number, pictures): the sum and so many pictures"
    )
    observation, reward, terminated, truncated, infos = env.step("I add.\nadd(5, 1)")
    assert {**observation, "images": len(observation["images"])} == {
        **{"system": "", "question": "10", "images": 1}
    }
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert infos == {"turn": 0, "tool": "add", "tool_status": "ok"}
    last, reward, terminated, truncated, infos = env.step("10")
    np.testing.assert_equal(last, observation)
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert infos["turn"] == infos["calls"] == infos["metadata"]["calls"] == 1
    assert (infos["tool"], infos["tool_status"], infos["status"]) == ("", "", "ok")
    with pytest.raises(gymnasium.error.ResetNeeded, match="the episode is over"):
        env.step("10")


def test_the_reply_to_the_last_call_says_so_and_a_call_after_it_is_no_answer(env):
    assert env.step("add(1, 0)")[0]["question"] == "6"
    assert env.step("add(2, 0)")[0]["question"] == "7\nNo calls are left: answer."
    _, reward, terminated, truncated, infos = env.step("\\boxed{10}\nadd(3, 0)")
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert (infos["status"], infos["answer"], infos["calls"]) == ("no_answer", None, 2)


def test_many_at_once_end_by_an_answer_or_by_a_call_too_many_and_the_earliest_is_the_position(envs):
    for _ in range(2):
        envs.step(["add(1, 0)", "add(1, 0)", None, None])
    _, _, terminations, truncations, _ = envs.step(["add(1, 0)", "0", "1", None])
    assert terminations.tolist() == [False, True, True, False]
    assert truncations.tolist() == [True, False, False, False]
    assert envs.position == 0
    envs.step([None, None, None, "1"])
    assert envs.position == 2


def test_without_tools_none_is_no_action():
    envs = ReasonVectorEnv(counters.problems(), counters.REWARDS, num_envs=2)
    envs.reset(seed=0)
    with pytest.raises(TypeError, match="not NoneType at index 1"):
        envs.step(["1", None])
    envs.close()


def test_the_price_of_calls_is_a_weight_and_rewards_of_turns_add_up():
    rewards = {"accuracy": 1.0, "calls": -0.25}
    envs = make_counters(num_envs=2)
    priced = ReasonVectorEnv(counters.problems(), rewards, tools=counters.TOOLS, num_envs=2)
    for each, expected in ((envs, [1.0, 1.0]), (priced, [0.75, 0.5])):
        each.reset(options={"indices": [3]})
        each.step(["add(3, 0)", "add(3, 0)"])
        assert not each.step([None, "add(-1, 0)"])[1].any()
        _, paid, _, _, infos = each.step(["6", "6"])
        assert paid.tolist() == expected
        assert infos["calls"].tolist() == [1.0, 2.0]
        each.close()
    made = reasonenv.make("Sum-v0", num_envs=1, rewards=rewards)
    assert made.rewards["calls"][0] == -0.25
    made.close()


def test_infos_of_a_step_have_masks_where_an_episode_ended(envs):
    observations, _, terminations, truncations, infos = envs.step(["0", "add(4, 0)", None, "?"])
    assert terminations.tolist() == [True, False, False, True]
    assert not truncations.any()
    assert infos["turn"].tolist() == [0, 0, -1, 0]
    assert infos["tool"].tolist() == ["", "add", "", ""]
    assert infos["tool_status"].tolist() == ["", "ok", "", ""]
    for name in ("status", "accuracy", "calls", "grade", "final_obs", "final_info", "problem_id"):
        assert infos[f"_{name}"].tolist() == terminations.tolist()
    assert infos["status"].tolist() == ["ok", None, None, "unparseable"]
    assert infos["problem_id"].tolist() == ["count/0", None, None, "count/1"]
    np.testing.assert_equal(infos["accuracy"], [1.0, np.nan, np.nan, 0.0])
    assert infos["grade"]["ok"].tolist() == [True, False, False, False]
    assert infos["final_obs"][3]["question"].startswith("1 and 1?")
    assert infos["final_obs"][1] is None
    assert infos["next_problem_id"].tolist() == ["count/2", "count/0", "count/1", "count/3"]
    assert [question[:7] for question in observations["question"]] == [
        *("2 and 2", "4", "1 and 1", "3 and 3")
    ]
    infos = envs.step(["add(1, 0)", None, None, None])[4]
    assert set(infos) == {"turn", "tool", "tool_status", "next_problem_id"}
    for infos in (envs.step(["", "", "", ""])[4], envs.step(["", "", "", ""])[4]):
        assert infos["_status"].all()


def test_the_contents_of_one_response_infos_are_those_of_environments_without_tools(envs):
    plain = ReasonVectorEnv(counters.problems(), counters.REWARDS, num_envs=4, group_size=2)
    plain.reset(options={"indices": [*range(12)]})
    expected, infos = plain.step(["0", "1", "2", ""])[4], envs.step(["0", "1", "2", ""])[4]
    for name in expected.keys() - {"final_info", "final_obs", "metadata"}:
        np.testing.assert_equal(infos[name], expected[name])


def test_what_was_submitted_counts_and_a_call_is_not_graded_ahead(envs):
    envs.submit(0, "add(1, 0)")
    envs.submit(1, "0")
    assert list(envs._submitted) == [1]
    assert envs.step(["add(1, 0)", "0", "2", None])[1].tolist() == [0.0, 1.0, 1.0, 0.0]
    assert envs.step(["0", "0", "0", "0"])[1].tolist() == [1.0, 0.0, 0.0, 0.0]


def test_a_reward_that_fails_changes_no_episode():
    def strict(response, problem, grade):
        return float("nan") if response == "x" else 1.0

    rewards = {"accuracy": 1.0, "strict": (1.0, strict)}
    envs = ReasonVectorEnv(counters.problems(), rewards, tools=counters.TOOLS, num_envs=2)
    envs.reset(options={"indices": [1, 2]})
    envs.step(["add(1, 0)", None])
    with pytest.raises(reasonenv.errors.RewardError):
        envs.step(["x", "add(1, 0)"])
    _, rewards, _, _, infos = envs.step(["2", "add(1, 0)"])
    assert rewards.tolist() == [2.0, 0.0]
    assert infos["turn"].tolist() == [1, 0]
    envs.close()


def plan(index, episode, problem):
    """Responses to a problem: some right, some bad, some that never answer."""
    rng = random.Random(f"{index}/{episode}/{problem}")
    calls = ["calc(1 + 1)", "calc(12 - 40)", "calc(1 +", "calc(1.5 + 2)", "calc(1, 2)"]
    lines = [rng.choice(calls) for _ in range(rng.randrange(6))]
    return [*lines, *rng.choice([["1"], ["5"], ["12"], [""], ["calc(7 + 7)"] * 6])]


def play(envs, subsets, episodes=2):
    """Outcome of the first episodes of each sub-environment, which step as the subsets say."""
    _, infos = envs.reset(seed=3)
    current, outcomes = list(infos["problem_id"]), defaultdict(list)
    rest = {index: plan(index, 0, problem) for index, problem in enumerate(current)}
    returns = np.zeros(envs.num_envs)
    subsets = iter(subsets)
    while is_open := [i for i in range(envs.num_envs) if len(outcomes[i]) < episodes]:
        chosen = [i for i in is_open if i in next(subsets, range(envs.num_envs))]
        actions = [rest[i].pop(0) if i in chosen else None for i in range(envs.num_envs)]
        _, rewards, terminations, truncations, infos = envs.step(actions)
        returns += rewards
        for i in np.flatnonzero(terminations | truncations):
            verdict = [infos[key][i] for key in ("problem_id", "status", "answer", "calls", "turn")]
            outcomes[i].append([*verdict, returns[i], truncations[i]])
            returns[i] = 0
            rest[i] = plan(i, len(outcomes[i]), infos["next_problem_id"][i])
    return dict(outcomes), envs.position


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sets(st.integers(0, 5)), max_size=30))
def test_any_interleaving_gives_the_problems_and_rewards_of_lockstep(subsets):
    envs = SUMS(num_envs=6, group_size=2)
    assert play(envs, subsets) == play(envs, [])
    envs.close()


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sets(st.integers(0, 3)), max_size=12), st.integers(0, 1))
def test_ranks_together_pose_what_one_rank_poses_in_any_order(subsets, rank):
    whole, part = SUMS(num_envs=8, group_size=2), SUMS(num_envs=4, group_size=2)
    part.close()
    part = SUMS(num_envs=4, group_size=2, rank=rank, num_ranks=2)

    def ids(outcomes):
        return {i: [episode[0] for episode in each] for i, each in outcomes.items()}

    expected, (outcomes, position) = ids(play(whole, [])[0]), play(part, subsets)
    groups = [group for group in range(4) if group % 2 == rank]
    of_rank = [2 * group + member for group in groups for member in range(2)]
    assert [ids(outcomes)[i] for i in range(4)] == [expected[i] for i in of_rank]
    assert position == whole.position
    whole.close()
    part.close()


def test_groups_share_the_problem_of_an_episode_however_long_it_takes():
    outcomes, _ = play(SUMS(num_envs=6, group_size=3), [[0, 3], [0, 3], [0, 1]] * 8, episodes=4)
    ids = {i: [episode[0] for episode in each] for i, each in outcomes.items()}
    assert ids[0] == ids[1] == ids[2] != ids[3] == ids[4] == ids[5]
    assert len({*ids[0], *ids[3]}) == 8


def test_a_reset_poses_the_same_problems_afresh(envs):
    first = envs.reset(seed=0)
    envs.step(["add(1, 0)", None, "0", None])
    np.testing.assert_equal(envs.reset(seed=0), first)
    infos = envs.step(["", "", "", "add(1, 0)"])[4]
    assert infos["calls"].tolist()[:3] == [0.0, 0.0, 0.0]


def test_a_run_goes_on_at_the_position_of_a_round():
    one, two = SUMS(num_envs=4, group_size=2), SUMS(num_envs=4, group_size=2)
    play(one, [[0], [1, 2]], episodes=2)
    two.reset(seed=3, options={"start": one.position})
    assert two.step([""] * 4)[4]["problem_id"].tolist() == one._ids().tolist()
    ahead = one.step(["", None, None, None])[4]["next_problem_id"][0]
    after = one.reset()[1]["problem_id"]
    assert ahead not in after
    one.close()
    two.close()


def test_a_problem_that_is_left_out_takes_no_other_episode_with_it():
    envs = make_counters(num_envs=4, group_size=2)
    envs.left_out = {}
    ids = envs.reset(seed=0)[1]["problem_id"]
    envs.step([None, None, "add(1, 0)", None])
    observations = envs.leave_out({0: "too long"})
    assert envs.num_left_out == 1
    assert observations["question"][2].isdigit()
    _, _, _, _, infos = envs.step(["", "", "", ""])
    assert infos["problem_id"][0] == infos["problem_id"][1] != ids[0]
    assert infos["turn"].tolist() == [0, 0, 1, 0]
    envs.close()


def test_a_frame_has_the_conversation_so_far_and_the_answer_that_ended_it(envs):
    envs.step(["add(1, 1)", "0", None, "I add.\nadd(1, 0)"])
    frames = envs.render()
    assert frames[0] == "0 and 0?\n\nadd(1, 1)\n\n1\n<image 28x28>"
    assert frames[1] == "0 and 0?\n\n0\n\nright: answer '0', reference '0'"
    assert frames[2] == "1 and 1?"
    assert frames[3] == "1 and 1?\n\nI add.\nadd(1, 0)\n\n2"
    envs.step(["1", None, None, "add(13, 0)"])
    first, second, _, last = envs.render()
    assert first == f"{frames[0]}\n\n1\n\nwrong: answer '1', reference '0'"
    assert second == "2 and 2?"
    assert last == f"{frames[3]}\n\nadd(13, 0)\n\nThe tool failed.\nNo calls are left: answer."
    envs.step([None, None, None, "add(1, 0)"])
    assert envs.render()[3].endswith("add(1, 0)\n\nwrong (no_answer): answer None, reference '2'")


def test_a_frame_of_one_episode_grows_by_the_pictures_of_its_replies():
    env = ReasonEnv(
        counters.problems(), counters.REWARDS, tools=counters.TOOLS, render_mode="rgb_array"
    )
    env.reset(options={"indices": [5]})
    frames = [env.render()]
    for response in ("add(1, 0)", "add(1, 1)", "10"):
        env.step(response)
        frames.append(env.render())
    shapes = [frame.shape[0] for frame in frames]
    words, picture, answer = np.diff(shapes)
    # A picture of 28 pixels is enlarged four times, and a line below says that no calls are left.
    assert picture == words + 4 * 28 + 12 + 18
    assert 0 < answer <= words
    bottom = frames[2][-12 - 2 * 18 - 12 - 4 * 28 : -12 - 2 * 18 - 12, 12 : 12 + 4 * 28]
    assert not bottom.any()
    np.testing.assert_array_equal(frames[2], frames[3][: shapes[2]])
    env.close()


def test_no_calls_make_it_an_environment_of_one_response():
    env = reasonenv.make("Sum-v0", max_calls=0)
    question = env.reset(seed=0)[0]["question"]
    assert question.endswith("= ?")
    assert env.step("calc(1 + 2)")[2]
    assert env.get_wrapper_attr("tools") is None
    env.close()


def test_the_ceilings_are_known_before_the_first_step():
    envs = gymnasium.make_vec("reasonenv/Sum-v0", num_envs=2, max_calls=7)
    assert (envs.tools.max_calls, envs.tools.max_turns) == (7, 8)
    assert (envs.tools.max_characters, envs.tools.max_images, envs.tools.max_pixels) == (100, 0, 0)
    assert reasonenv.make("Figures-v2", num_envs=2).tools is None
    envs.close()


@pytest.mark.parametrize("max_calls", [-1, 1.5, "2"])
def test_a_number_of_calls_that_is_none_is_told_at_make(max_calls):
    with pytest.raises(UsageError, match="max_calls is "):
        reasonenv.make("Sum-v0", max_calls=max_calls)


def test_a_mixture_has_no_tools():
    with pytest.raises(UsageError, match="Sum-v0 has episodes of several turns: a mixture has"):
        reasonenv.make(["Figures-v2", "Sum-v0"])
    with pytest.raises(UsageError, match="Figures-v2 takes no argument 'max_calls'"):
        reasonenv.make("Figures-v2", max_calls=2)


def test_gymnasiums_statistics_have_returns_of_episodes_and_count_steps_of_rest():
    envs = wrappers.vector.RecordEpisodeStatistics(make_counters(num_envs=2))
    envs.reset(options={"indices": [1]})
    envs.step(["2", "add(1, 0)"])
    infos = envs.step([None, "2"])[4]
    assert infos["_episode"].tolist() == [False, True]
    assert infos["episode"]["r"].tolist() == [0.0, 1.0]
    infos = envs.step(["2", "2"])[4]
    assert infos["episode"]["r"].tolist() == [1.0, 1.0]
    assert infos["episode"]["l"].tolist() == [2, 1]
    assert (infos["turn"] + 1).tolist() == [1, 1]
    envs.close()


def test_wrappers_of_one_environment_take_several_steps():
    env = ReasonEnv(counters.problems(), counters.REWARDS, tools=counters.TOOLS)
    env = wrappers.RecordEpisodeStatistics(wrappers.TimeLimit(env, max_episode_steps=5))
    env.reset(options={"indices": [4]})
    env.step("add(1, 0)")
    infos = env.step("8")[4]
    assert (infos["episode"]["r"], infos["episode"]["l"]) == (1.0, 2)
    env.close()


def test_a_conversation_grows_by_a_response_and_its_reply(env):
    observation, _ = env.reset(options={"indices": [5]})
    first = messages(observation)
    reply = env.step("add(5, 1)")[0]
    roles = [message["role"] for message in grow(first, "add(5, 1)", reply)]
    assert roles == ["user", "assistant", "user"]
    *_, response, last = grow(first, "add(5, 1)", reply)
    assert response["content"] == "add(5, 1)"
    assert [part["type"] for part in last["content"]] == ["image_url", "text"]
    assert len(first) == 1
