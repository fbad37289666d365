import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers

import reasonenv

RIGHT = r"<think>seen</think><answer>\boxed{{{}}}</answer>"


def answer():
    """The reference of the first problem of seed 0."""
    env = reasonenv.make("Figures-v2")
    posed = env.reset(seed=0)[1]["problem_id"]
    env.close()
    return env.get_wrapper_attr("problems")[int(posed.rpartition("/")[2])].answer


def test_wrappers_of_one_environment_stack():
    env = wrappers.TransformReward(reasonenv.make("Figures-v2"), lambda reward: 10 * reward)
    env = wrappers.RecordEpisodeStatistics(wrappers.TimeLimit(env, max_episode_steps=3))
    env.reset(seed=0)
    response = RIGHT.format(answer())
    _, reward, terminated, truncated, infos = env.step(response)
    assert (reward, terminated, truncated) == (11.0, True, False)
    assert infos["episode"]["r"] == 11.0
    assert infos["episode"]["l"] == 1
    env.close()


def test_an_observation_can_be_transformed_to_messages_of_a_chat():
    from reasonenv.messages import messages

    env = reasonenv.make("Figures-v2", prompt="cpgd")
    env = wrappers.TransformObservation(env, lambda seen: tuple(messages(seen)), None)
    observation, _ = env.reset(seed=0)
    assert [message["role"] for message in observation] == ["system", "user"]
    env.close()


def test_wrappers_of_a_vector_stack_and_keep_groups():
    envs = reasonenv.make("Figures-v2", num_envs=4, group_size=2)
    envs = wrappers.vector.TransformReward(envs, lambda rewards: -rewards)
    envs = wrappers.vector.RecordEpisodeStatistics(envs)
    observations, _ = envs.reset(seed=0)
    response = RIGHT.format(answer())
    _, rewards, terminations, _, infos = envs.step([response, "?", "?", "?"])
    np.testing.assert_allclose(rewards, [-1.1, 0, 0, 0])
    np.testing.assert_allclose(infos["episode"]["r"], [-1.1, 0, 0, 0])
    assert terminations.all()
    assert observations["question"][0] == observations["question"][1]
    envs.close()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_gymnasium_imports_the_package_and_runs_a_process_for_each_environment():
    id = "reasonenv:reasonenv/WordProblems-v0"
    options = {"vectorization_mode": "async", "vector_kwargs": {"shared_memory": False}}
    envs = gymnasium.make_vec(id, num_envs=2, num_workers=1, **options)
    _, infos = envs.reset(seed=0)
    with gymnasium.make(id, num_workers=1) as env:
        assert env.reset(seed=0)[1]["problem_id"] == infos["problem_id"][0]
    assert envs.step(("no", "no"))[1].tolist() == [0.0, 0.0]
    envs.close()
