import io
import pickle
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from helpers import toy
from PIL import Image

import reasonenv
from reasonenv import render
from reasonenv.env import ReasonEnv
from reasonenv.problem import Problem
from reasonenv.rewards import accuracy
from reasonenv.vector import ReasonVectorEnv

LOCAL = ["Figures-v2", "WordProblems-v0", "Sum-v0", "Zoom-v0", "Measure-v0"]


@pytest.fixture
def env():
    env = ReasonEnv(toy.problems(), toy.REWARDS, render_mode="ansi")
    yield env
    env.close()


@pytest.mark.parametrize("name", LOCAL)
@pytest.mark.parametrize("render_mode", ["rgb_array", "ansi", None])
def test_every_environment_that_needs_no_download_passes_gymnasiums_checker(name, render_mode):
    env = gymnasium.make(f"reasonenv/{name}", render_mode=render_mode)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Without a render mode the checker warns that there is nothing to render.
        check_env(env.unwrapped, skip_render_check=render_mode is None)
    env.close()


def test_an_episode_is_one_response(env):
    observation, infos = env.reset(seed=0)
    assert set(infos) == {"problem_id"}
    number = int(observation["question"].partition("+")[0])
    result = env.step(f"\\boxed{{{2 * number}}}")
    assert result[1:4] == (1.0, True, False)
    told = result[4]
    assert told["reference"] == told["answer"] == str(2 * number)
    assert told["problem_id"] == infos["problem_id"] == f"train/{number}"
    assert (told["accuracy"], told["format"], told["status"]) == (1.0, 0.0, "ok")
    assert told["metadata"] == {"k": number}


def test_a_problem_is_asked_once(env):
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset before step"):
        env.step("1")
    env.reset(seed=0)
    env.step("1")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("1")


@pytest.mark.parametrize("action", [3, None, b"3", ["3"], np.float64(3)])
def test_an_action_that_is_no_text_is_told_in_one_line(env, action):
    env.reset(seed=0)
    with pytest.raises(TypeError, match=r"an action is a text \(str\), not \w+: [^\n]*$"):
        env.step(action)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"index": [1]}, "unknown option 'index' of reset: it takes indices, subset and start"),
        ({"indices": []}, "at least one problem is needed"),
        ({"indices": [7]}, r"index 7 in indices is not in \[0, 7\)"),
        ({"indices": 3}, "indices=3: give a list of the numbers of problems"),
        ({"start": -1}, "start=-1: a position of 0 or above is needed"),
        ({"start": True}, "start=True: a position of 0 or above is needed"),
        ({"indices": np.arange(7) > 4}, r"indices=array.*False.* numpy.flatnonzero\(mask\)"),
        ({"subset": [True, False]}, r"subset=\[True, False\]: give a list"),
        ({"indices": [1.7]}, r"indices=\[1.7\]: give a list"),
        ({"subset": np.array([1.0])}, r"subset=array\(\[1.\]\): give a list"),
        ({"indices": ["1"]}, r"indices=\['1'\]: give a list"),
        ({"indices": "12"}, "indices='12': give a list"),
        ({"subset": b"12"}, "subset=b'12': give a list"),
        ({"subset": np.zeros((2, 2), int)}, r"subset=array\(\[\[0, 0\], \[0, 0\]\]\): give a list"),
        ({"indices": np.array(3)}, r"indices=array\(3\): give a list"),
        ({"indices": [0], "subset": [1]}, "reset got indices and subset: give one of them"),
        ({"subset": [1, 7]}, r"index 7 in subset is not in \[0, 7\)"),
    ],
)
def test_options_that_do_not_fit_are_told(env, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        env.reset(seed=0, options=options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("numbers", [[4, 2], (4, 2), range(4, 1, -2), np.array([4, 2], np.uint8)])
def test_numbers_of_problems_come_in_any_sequence(env, numbers):
    assert env.reset(options={"indices": numbers})[1]["problem_id"] == "train/14"
    assert env.reset()[1]["problem_id"] == "train/12"


@pytest.mark.parametrize("make", [ReasonEnv, ReasonVectorEnv])
def test_a_generator_that_is_set_draws_the_order(make):
    def first(seed):
        env = make(toy.problems(size=1000), toy.REWARDS)
        env.np_random = np.random.default_rng(seed)
        ids = [str(env.reset(options={"start": start})[1]["problem_id"]) for start in (0, 1)]
        env.close()
        return ids

    assert first(3) == first(3) != first(4)


def test_the_text_rendering_has_question_response_and_verdict(env):
    env.reset(options={"indices": [0]})
    assert env.render() == "10+10?"
    env.step("It is \\boxed{21}")
    assert env.render().splitlines()[-1] == "wrong: answer '21', reference '20'"
    assert "It is \\boxed{21}" in env.render()


def test_signs_of_mathematics_are_drawn_and_not_boxes():
    pytest.importorskip("matplotlib", reason="has a font with them")
    missing, *signs = (
        render.rgb_array(Problem(id="1", question=sign, answer="1"), None, None).tobytes()
        for sign in ("\uffff", "∠", "√", "≤", "π", "°")
    )
    assert missing not in signs
    assert len(set(signs)) == len(signs)


@pytest.mark.parametrize("response", ["\\boxed{20}", "", "\ud800 🙂\t\x00\n\n中", "word " * 5000])
def test_the_image_grows_by_the_response_and_the_verdict(response):
    figure = np.zeros((20, 30, 3), np.uint8)
    problem = Problem(id="a", question="What?\nNow.", answer="20", images=(figure,))
    env = ReasonEnv([problem], {"accuracy": (1.0, accuracy)}, render_mode="rgb_array")
    env.reset(seed=0)
    before = env.render()
    env.step(response)
    after = env.render()
    env.close()
    assert before.dtype == after.dtype == np.uint8
    assert after.shape[0] > before.shape[0]
    assert after.shape[1:] == before.shape[1:]
    # The figure stands on top, unchanged by what is written below it.
    np.testing.assert_array_equal(after[:80], before[:80])
    assert (before == 0).all(axis=2).sum() > 20 * 30


def test_drawing_on_an_observation_spoils_no_problem():
    figure = np.zeros((2, 2, 3), np.uint8)
    env = ReasonEnv([Problem(id="a", question="?", answer="1", images=(figure,))], toy.REWARDS)
    env.reset(seed=0)[0]["images"][0][:] = 255
    assert (env.reset()[0]["images"][0] == 0).all()


def test_the_solution_and_the_reference_are_in_no_observation():
    problem = Problem(id="a", question="Q?", answer="xyzzy", solution="plugh")
    env = ReasonEnv([problem], toy.REWARDS)
    observation, infos = env.reset(seed=0)
    after = env.step("1")[0]
    for shown in (observation, after, infos):
        for text in (repr(dict(shown)), repr(shown)):
            assert "xyzzy" not in text
            assert "plugh" not in text


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"problems": []}, "there are no problems"),
        ({"render_mode": "human"}, "unknown render_mode='human'"),
    ],
)
def test_arguments_that_do_not_fit_are_told_at_once(kwargs, message):
    with pytest.raises(ValueError, match=message):
        ReasonEnv(**{"problems": toy.problems(), "rewards": toy.REWARDS, **kwargs})


def test_observations_and_infos_are_short_texts_and_stay_dicts():
    env = reasonenv.make("Figures-v2", num_workers=1)
    observation, _ = env.reset(seed=0)
    outcome = env.step("x" * 10_000)
    for shown in (observation, outcome[0], outcome[4]):
        assert isinstance(shown, dict)
        assert len(repr(shown)) < 500
        assert type(pickle.loads(pickle.dumps(shown))) is type(shown)
    height, width, _ = observation["images"][0].shape
    assert f"<array {height}x{width}x3>" in repr(observation)
    assert repr(observation) != repr(outcome[4])
    env.close()


def test_a_notebook_shows_figures_questions_and_frames(env):
    figure = np.zeros((2, 3, 3), np.uint8)
    problem = Problem(id="a", question="Is 1 <b> 2?", answer="no", images=(figure,))
    env = ReasonEnv([problem], toy.REWARDS)
    assert env._repr_png_() is None
    observation, _ = env.reset(seed=0)
    page = observation._repr_html_()
    assert page.count('<img src="data:image/png;base64,') == 1
    assert "Is 1 &lt;b&gt; 2?" in page
    assert Image.open(io.BytesIO(env._repr_png_())).width > 400
    env.close()


@pytest.mark.parametrize("count", [{}, {"num_envs": 2}])
def test_a_rendering_without_a_render_mode_warns(count):
    env = reasonenv.make("WordProblems-v0", num_workers=1, **count)
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="without specifying any render mode: give render_mode="):
        assert env.render() is None
    env.close()
