"""The contract of vectorised environments, as a test of any environment."""

import random
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded

from reasonenv.check import as_response
from reasonenv.rewards import maximum
from reasonenv.vector import ReasonVectorEnv

Make = Callable[..., ReasonVectorEnv]

_NUM_PROMPTS, _GROUP_SIZE = 4, 3


def check_env(make: Make) -> None:
    """Tests the contract of a vectorised environment; an AssertionError says what it breaks.

        check_env(functools.partial(reasonenv.make, "Figures-v2"))

    Args:
        make: Makes the environment from num_envs, group_size, rank and num_ranks. It has at
            least two problems, and a component of its reward lies in [0, 1], or is a
            `rewards.Penalty`, at most 0.
    """
    sizes = {"num_envs": _NUM_PROMPTS * _GROUP_SIZE, "group_size": _GROUP_SIZE}
    for check in (
        _check_spaces_contain_observations,
        _check_groups_share_a_problem,
        _check_the_reference_earns_the_maximum,
        _check_no_observation_holds_the_reference,
        _check_final_infos,
        _check_misuse_is_an_error,
        _check_equal_seeds_give_equal_problems,
        _check_ranks_share_the_batch,
        _check_start_resumes_the_order,
        _check_indices_pose_these_problems,
        _check_submit_changes_nothing,
        _check_calls_get_replies_up_to_a_ceiling,
        _check_episodes_do_not_depend_on_the_others,
    ):
        with ExitStack() as stack:
            check(lambda **own: stack.enter_context(closing(make(**{**sizes, **own}))))


def _ids(infos: dict[str, Any]) -> list[str]:
    return list(infos["problem_id"])


def _next_ids(env: ReasonVectorEnv) -> list[str]:
    return _ids(env.step([""] * env.num_envs)[4])


def _check_spaces_contain_observations(make: Make) -> None:
    env = make()
    observations, _ = env.reset(seed=0)
    _check_contained(env, observations, "reset")
    env.action_space.seed(0)
    observations, rewards, terminations, truncations, _ = env.step(env.action_space.sample())
    _check_contained(env, observations, "step")
    assert rewards.shape == terminations.shape == truncations.shape == (env.num_envs,)
    assert np.issubdtype(rewards.dtype, np.floating), f"rewards are {rewards.dtype}"
    assert terminations.all(), "an episode is one response, and it terminates"
    assert not truncations.any(), "no episode is truncated"


def _check_contained(env: ReasonVectorEnv, observations: dict[str, Any], call: str) -> None:
    spaces: Any = env.single_observation_space
    for key, space in spaces.items():
        values = [" ".join(repr(v).split())[:80] for v in observations[key] if v not in space]
        assert not values, f"{call} leaves the observation space: {key} is {values[0]}, no {space}"
    assert observations in env.observation_space, f"{call} leaves the observation space"


def _check_groups_share_a_problem(make: Make) -> None:
    env = make()
    observations, infos = env.reset(seed=0)
    for first in range(0, env.num_envs, _GROUP_SIZE):
        group = slice(first, first + _GROUP_SIZE)
        assert len(set(_ids(infos)[group])) == 1, "a group has more than one problem"
        assert len(set(observations["question"][group])) == 1, "a group has several questions"


def _check_equal_seeds_give_equal_problems(make: Make) -> None:
    one, two = make(), make()
    before = repr((random.getstate(), np.random.get_state()))
    ids = _ids(one.reset(seed=7)[1])
    assert ids == _ids(two.reset(seed=7)[1]), "equal seeds give different problems"
    assert _next_ids(one) == _next_ids(two) == ids, "infos name other problems than were posed"
    assert _next_ids(one) == _next_ids(two), "equal seeds differ after a step"
    after = repr((random.getstate(), np.random.get_state()))
    assert before == after, "the environment touches a global random number generator"


def _check_the_reference_earns_the_maximum(make: Make) -> None:
    env = make()
    env.reset(seed=0)
    references = env.step([""] * env.num_envs)[4]["reference"]
    env.reset(seed=0)
    _, rewards, _, _, infos = env.step([as_response(reference) for reference in references])
    best = maximum(env.rewards)
    for reward, reference in zip(rewards, references, strict=True):
        assert np.isclose(reward, best), f"reference {reference!r} earns {reward}, not {best}"
    assert (infos["accuracy"] == 1).all(), "a reference is not accurate"
    assert (infos["status"] == "ok").all(), "a reference has a status other than ok"


def _check_no_observation_holds_the_reference(make: Make) -> None:
    env = make()
    observations, infos = env.reset(seed=0)
    assert set(observations) == {"system", "question", "images"}, f"keys {set(observations)}"
    assert not {"reference", "answer", "solution"} & set(infos), "infos of reset hold the reference"
    references = env.step([""] * env.num_envs)[4]["reference"]
    texts = zip(observations["system"], observations["question"], references, strict=True)
    for system, question, reference in texts:
        assert reference not in (system, question), "system or question is the reference"
        answers = (f"\\boxed{{{reference}}}", f"answer: {reference}", f"answer is {reference}")
        is_hint = any(answer.lower() in question.lower() for answer in answers)
        assert not is_hint, "a question answers itself"


def _check_final_infos(make: Make) -> None:
    env = make()
    observations, _ = env.reset(seed=0)
    infos = env.step([""] * env.num_envs)[4]
    names = {"accuracy", "format", "answer", "reference", "status", "problem_id"}
    assert names <= set(infos), f"infos lack {names - set(infos)}"
    for name in names:
        values = list(infos["final_info"][name])
        assert len(values) == env.num_envs, f"final_info has {len(values)} entries of {name}"
        assert values == list(infos[name]), f"final_info has another {name}"
    questions = tuple(observation["question"] for observation in infos["final_obs"])
    assert questions == observations["question"], "final_obs is not the answered observation"


def _check_ranks_share_the_batch(make: Make) -> None:
    whole = make(num_envs=2 * _NUM_PROMPTS, group_size=1)
    ranks = [make(num_envs=_NUM_PROMPTS, group_size=1, rank=rank, num_ranks=2) for rank in range(2)]
    for env in (whole, *ranks):
        env.reset(seed=3)
    for _ in range(2):
        batch = _next_ids(whole)
        for rank, env in enumerate(ranks):
            assert _next_ids(env) == batch[rank::2], "a rank does not take its slice of the batch"


def _check_start_resumes_the_order(make: Make) -> None:
    one, two = make(), make()
    one.reset(seed=5)
    _next_ids(one)
    _, infos = two.reset(seed=5, options={"start": one.position})
    assert _ids(infos) == _next_ids(one), "start does not resume"


def _check_indices_pose_these_problems(make: Make) -> None:
    env = make(num_envs=2, group_size=1)
    ids = _ids(env.reset(options={"indices": [1, 0]})[1])
    assert ids == [env.problems[1].id, env.problems[0].id], "indices pose other problems"


def _check_submit_changes_nothing(make: Make) -> None:
    plain, eager = make(), make()
    for env in (plain, eager):
        env.reset(seed=0)
    # One is submitted as it is, one is changed afterwards, the others are not submitted.
    responses = [as_response(str(number)) for number in range(plain.num_envs)]
    eager.submit(1, responses[1])
    eager.submit(0, as_response("another"))
    one, two = plain.step(responses), eager.step(responses)
    assert (one[1] == two[1]).all(), "submit changes the rewards"
    assert (one[4]["answer"] == two[4]["answer"]).all(), "submit changes the answers"


def _check_calls_get_replies_up_to_a_ceiling(make: Make) -> None:
    env = make()
    if env.tools is None:
        return
    before, _ = env.reset(seed=0)
    actions = [f"{env.tools.tools[0].name}()", *[None] * (env.num_envs - 1)]
    for turn in range(env.tools.max_calls):
        observations, rewards, *flags, infos = env.step(actions)
        _check_contained(env, observations, "step")
        assert infos["turn"].tolist() == [turn] + [-1] * (env.num_envs - 1), "turns are miscounted"
        assert not np.any([rewards, *flags]), "an episode ends with a call"
        for key, values in observations.items():
            message = f"None changes the {key} of a sub-environment"
            np.testing.assert_equal(values[1:], before[key][1:], message)
    _, _, terminations, truncations, infos = env.step(actions)
    assert truncations[0], "a call when none is left does not truncate the episode"
    assert not np.any([terminations[1:], truncations[1:]]), "None ends an episode"
    assert infos["status"][0] == "no_answer", "a call when none is left has another status"


def _check_episodes_do_not_depend_on_the_others(make: Make) -> None:
    together, apart = make(), make()
    if together.tools is None:
        return
    together.reset(seed=0)
    apart.reset(seed=0)
    rounds = [_next_ids(together) for _ in range(3)]
    for index in reversed(range(apart.num_envs)):
        alone: Sequence[Any] = ["" if i == index else None for i in range(apart.num_envs)]
        ids = [_ids(apart.step(alone)[4])[index] for _ in rounds]
        assert ids == [ids_of_round[index] for ids_of_round in rounds], "episodes change with order"
    assert apart.position == together.position, "positions differ after equal episodes"


def _check_misuse_is_an_error(make: Make) -> None:
    env = make()
    responses = [""] * env.num_envs
    _expect(ResetNeeded, lambda: env.step(responses), "step before reset")
    env.reset(seed=0)
    _expect(ValueError, lambda: env.step(responses[1:]), "a wrong number of actions")
    wrong: Sequence[Any] = [3, *responses[1:]]
    _expect(TypeError, lambda: env.step(wrong), "an action that is not a text")


def _expect(kind: type[Exception], call: Callable[[], object], what: str) -> None:
    try:
        call()
    except kind as error:
        message = str(error)
    else:
        raise AssertionError(f"{what} raises no {kind.__name__}")
    assert "\n" not in message, f"the error of {what} has more than one line"
