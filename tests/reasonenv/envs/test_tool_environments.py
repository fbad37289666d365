"""The environments with tools that are drawn by program: who needs the tool, and who earns what."""

import dataclasses
import functools
import math
import random
from itertools import combinations

import numpy as np
import pytest
from helpers import policies

import reasonenv
from reasonenv.envs import measure, sums, zoom
from reasonenv.envs.figures.canvas import TILE
from reasonenv.errors import UsageError
from reasonenv.grading import Grade
from reasonenv.testing import check_env

CASES = [
    *[("Sum-v0", {}), ("Sum-v0", {"terms": 12, "digits": 7})],
    *[("Zoom-v0", {"level": level}) for level in zoom.LEVELS],
    *[("Measure-v0", {"families": [name]}) for name in measure.FAMILIES],
]
PROBLEMS = {"Sum-v0": sums.problems, "Zoom-v0": zoom.problems, "Measure-v0": measure.problems}
IDS = [f"{id}-{'-'.join(map(str, options.values()))}" for id, options in CASES]
cases = pytest.mark.parametrize(("id", "options"), CASES, ids=IDS)


@pytest.fixture
def make(request):
    made = []

    def make(id, options, num_envs=40, **others):
        made.append(reasonenv.make(id, num_envs=num_envs, **options, **others))
        return made[-1]

    yield make
    for envs in made:
        envs.close()


@cases
def test_it_keeps_the_contract(id, options):
    check_env(functools.partial(reasonenv.make, id, **options))


@pytest.mark.parametrize("split", sums.SPLITS)
@cases
def test_the_oracle_earns_all_with_calls_that_all_succeed(make, id, options, split):
    envs = make(id, options, split=split)
    total, count, problems = policies.play(envs, policies.oracle)
    assert total.tolist() == [1.0] * envs.num_envs
    calls = [len(envs.tools.responses(problem.solution)) - 1 for problem in problems]
    assert count.tolist() == calls
    assert max(calls) <= envs.tools.max_calls


@cases
def test_no_answer_stands_in_a_reply_by_accident(id, options):
    problem = PROBLEMS[id](**options)[0]
    toolbox = reasonenv.registration.find(id).toolbox(options)
    for tool in toolbox.tools:
        for text in (
            "",
            "1, 2",
            "7 + 7, 1, 1, 1",
            "5, 5, 5, 5, 5, 5",
            "9, 9, 1, 1",
            "-1, -1, 0, 0",
        ):
            turn = toolbox.turn(problem, f"{tool.name}({text})", 0)
            assert turn.status == "ok" or not any(map(str.isdigit, turn.reply.words))


@cases
def test_a_worked_solution_is_the_reference_when_it_is_graded_alone(id, options):
    for problem in PROBLEMS[id](**options)[:20]:
        answer = problem.solution.splitlines()[-1]
        if id == "Measure-v0":
            assert measure.accuracy("", problem, Grade(False, answer, "ok")) == 1
        else:
            assert answer == problem.answer


# A bound on right guesses of 40, at five standard deviations of the chance that the docs state.
CHANCES = {"Zoom-v0": 1 / 90, "Measure-v0": 1 / 40}


@pytest.mark.parametrize("policy", [policies.blind, policies.at_random])
@pytest.mark.parametrize(
    ("id", "options"),
    [
        ("Zoom-v0", {"level": 1}),
        ("Zoom-v0", {"level": 3, "families": ["r4", "r8"]}),
        ("Measure-v0", {"families": ["distance"]}),
        ("Measure-v0", {"families": ["area"]}),
        ("Sum-v0", {"terms": 12, "digits": 7}),
    ],
)
def test_without_sight_of_the_reply_accuracy_is_chance(make, id, options, policy, monkeypatch):
    answers = [problem.answer for problem in PROBLEMS[id](**options, problem_seed=1)[:40]]
    monkeypatch.setattr(policies.blind, "answers", answers, raising=False)
    total, _, _ = policies.play(make(id, options), policy)
    chance = CHANCES.get(id, 1 / 90)
    assert total.sum() <= 40 * chance + 5 * math.sqrt(40 * chance)
    total, _, _ = policies.play(make(id, options), policies.oracle)
    assert total.mean() == 1


@pytest.mark.parametrize("layout", ["far", "r4", "r8"])
def test_the_posed_plan_is_the_same_whatever_the_numbers_are(layout):
    level = 1 if layout == "far" else 3
    for problem in zoom.problems(level=level, families=[layout])[:3]:
        plan = problem.scene
        rooms = tuple(room._replace(number=110 - room.number) for room in plan.rooms)
        other = dataclasses.replace(plan, rooms=rooms)
        scale = {"far": 7, "r4": 7, "r8": 3.5}[layout]
        np.testing.assert_array_equal(other.draw(plan.whole, scale), problem.images[0])
        for index, room in enumerate(rooms):
            if room.color and room.number != 55:
                part = plan.box(index)
                assert (other.draw(part, TILE) != plan.draw(part, TILE)).any()


@pytest.mark.parametrize("layout", ["near", "r1", "r2"])
def test_where_the_tool_is_useless_the_posed_plan_differs_with_the_numbers(layout):
    level = 2 if layout == "near" else 3
    problem = zoom.problems(level=level, families=[layout])[0]
    rooms = tuple(room._replace(number=110 - room.number) for room in problem.scene.rooms)
    other = dataclasses.replace(problem.scene, rooms=rooms)
    scale = 14 if layout == "r2" else 28
    assert (other.draw(other.whole, scale) != problem.images[0]).any()
    assert problem.metadata["is_tool_needed"] is False


@pytest.mark.parametrize(("layout", "count"), [("far", 1), ("near", 1), ("r2", 6), ("r8", 6)])
def test_a_tiny_model_has_a_single_colored_room_to_find(layout, count):
    level = 2 if layout in ("far", "near") else 3
    for problem in zoom.problems(level=level, families=[layout])[:5]:
        colors = [room.color for room in problem.scene.rooms if room.color]
        assert len({*colors}) == len(colors) == count
        assert problem.metadata["color"] in colors


@pytest.mark.parametrize("layout", ["far", "r4"])
def test_the_outer_wall_is_three_times_as_thick_as_others(layout):
    (plan,) = zoom.problems(level=1 if layout == "far" else 3, families=[layout])[0].images
    dark = (plan == 0).all(-1)
    assert all(side.all() for side in (dark[:3], dark[-3:], dark[:, :3], dark[:, -3:]))
    assert not dark[3].all()


@pytest.mark.parametrize("layout", ["far", "near"])
def test_every_color_is_asked_for_in_every_family(layout):
    problems = zoom.problems(level=2, families=[layout])[:60]
    assert {problem.metadata["color"] for problem in problems} == {*zoom.COLORS}


@pytest.mark.parametrize("level", [1, 2])
def test_plans_of_a_tiny_model_are_whole_tiles_and_a_digit_of_a_reply_fills_one(level):
    toolbox = zoom.tools(level)
    for problem in zoom.problems(level=level)[:30]:
        height, width, _ = problem.images[0].shape
        assert height % TILE == width % TILE == 0
        assert height * width <= 32 * TILE**2
        index = next(
            i for i, r in enumerate(problem.scene.rooms) if str(r.number) in problem.answer
        )
        image = toolbox.turn(problem, zoom.call(problem.scene, index), 0).reply.images[0]
        tiles = image.reshape(4, TILE, 4, TILE, 3).min(axis=(1, 3, 4))
        assert image.shape == (4 * TILE, 4 * TILE, 3)
        assert (tiles[1, 1:3] == 0).all(), "a digit is in each of these two tiles"
        inside = image[6:-6, 6:-6].copy()  # of the walls
        inside[TILE - 6 : 2 * TILE - 6, TILE - 6 : 3 * TILE - 6] = inside[0, 0]
        assert (inside == inside[0, 0]).all(), "and nowhere else"
    assert toolbox.max_pixels <= 32 * TILE**2


@pytest.mark.parametrize(
    ("call", "size"),
    [
        ("zoom(0, 0, 1000, 1000)", (56, 112)),
        ("zoom(-50, -1, 1001, 99999)", (56, 112)),
        ("zoom(0, 0, 500, 250)", (112, 112)),
        ("zoom(0.5, 0, 500.25, 250)", (112, 112)),
        ("zoom(999, 0, 1000, 1)", (28, 28)),
        ("zoom(0, 500, 1000, 501)", (112, 28)),
        ("zoom(500, 0, 501, 1000)", (28, 112)),
        ("zoom(250, 0, 0, 500)", None),
        ("zoom(5, 5, 5, 5)", None),
        ("zoom(2000, 0, 3000, 1000)", None),
        ("zoom(0, 0, -0, 0)", None),
    ],
)
def test_a_part_is_within_the_plan_and_no_smaller_than_a_tile(call, size):
    turn = zoom.tools(1).turn(zoom.problems()[0], call, 0)
    assert [image.shape[1::-1] for image in turn.reply.images] == ([size] if size else [])
    assert turn.status == ("ok" if size else "bad_call")


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [
        *[
            ("100", True),
            ("103", True),
            ("97.01", True),
            ("$100^\\circ$", True),
            ("100 units", True),
        ],
        *[("104", False), ("96", False), ("-100", False), ("", False), (None, False)],
        *[("99 or 100", False), ("1e2", False), ("nan", False), ("9" * 400, False)],
    ],
)
def test_a_measurement_is_right_within_three_percent(answer, is_right):
    problem = reasonenv.Problem(id="1", question="?", answer="100", metadata={"value": 100.0})
    assert measure.accuracy("", problem, Grade(False, answer, "ok")) == is_right


def test_a_thousand_separator_and_an_answer_in_a_box_are_read(make):
    envs = make("Measure-v0", {"families": ["area"]}, num_envs=1)
    envs.reset(seed=0)
    problem = envs._episodes[0].problem
    value = problem.metadata["value"]
    for response in (f"\\boxed{{{value:.2f}}}", f"<answer>{value:,.2f}</answer>"):
        envs.reset(options={"indices": [int(problem.id.split("/")[-1])]})
        assert envs.step([response])[1] == [1.0]


def test_the_ruler_and_the_protractor_measure_and_draw():
    toolbox, problem = measure.ENVIRONMENT.tools, measure.problems(families=["angle"])[0]
    for call, words in [
        ("protractor(0, 0, 500, 0, 500, 1000)", "90.0"),
        ("protractor(0, 500, 500, 500, 1000, 500)", "180"),
        ("ruler(5, 5, 5, 5)", "0.00"),
        ("ruler(0, 0, 1001, 0)", "A point is outside the figure."),
        ("ruler(0, -1, 0, 0)", "A point is outside the figure."),
        ("protractor(1, 1, 1, 1, 2, 2)", "An arm has no length."),
        ("ruler(0, 0, 1000, 0)", measure._text(problem.scene.unit * 448)),
    ]:
        turn = toolbox.turn(problem, call, 0)
        assert turn.reply.words == words
        changed = [(image != problem.images[0]).any() for image in turn.reply.images]
        assert changed == ([True] if turn.status == "ok" else [])


@cases
def test_no_problem_is_in_two_splits_and_what_is_held_out_is_in_no_other(id, options):
    def facts(split):
        posed = PROBLEMS[id](split=split, **options)[:60]
        if id == "Sum-v0":
            return {p.question for p in posed}, {tuple(p.question.split()[:3]) for p in posed}
        if id == "Zoom-v0":
            scenes = {(p.scene, p.question) for p in posed}
            return scenes, {(p.question, p.answer) for p in posed}
        return {p.scene for p in posed}, {p.answer for p in posed}

    splits = {split: facts(split) for split in sums.SPLITS}
    for one, two in combinations(sums.SPLITS, 2):
        assert not splits[one][0] & splits[two][0]
    assert not splits["heldout"][1] & (splits["train"][1] | splits["test"][1])
    assert len(splits["heldout"][0]) > 40


@cases
def test_a_problem_is_a_pure_function_of_its_arguments_and_index(id, options):
    first, again = PROBLEMS[id](**options), PROBLEMS[id](**options)
    for index in random.Random(0).sample(range(10**6), 5):
        one, two = first[index], again[index]
        assert (one.id, one.question, one.answer, one.solution) == (
            *(two.id, two.question, two.answer, two.solution),
        )
        assert one.scene == two.scene
        np.testing.assert_equal(one.images, two.images)
    assert first[0].id != PROBLEMS[id](**options, problem_seed=1)[0].id


@pytest.mark.parametrize(
    ("id", "options", "message"),
    [
        ("Sum-v0", {"terms": 1}, "terms is 1: give a whole number from 2 to 40"),
        ("Sum-v0", {"digits": "3"}, "digits is '3': give a whole number from 1 to 20"),
        ("Sum-v0", {"split": "all"}, "Sum-v0 has no split 'all'"),
        ("Zoom-v0", {"level": 4}, "level 4 of Zoom-v0 is unknown: take one of 1, 2, 3"),
        ("Zoom-v0", {"families": ["r4"]}, "family 'r4' is not in level 1 of Zoom-v0: take of far"),
        ("Measure-v0", {"families": ["length"]}, "family 'length' is not in level 1 of Measure-v0"),
    ],
)
def test_arguments_that_do_not_fit_are_told_in_one_line(id, options, message):
    with pytest.raises(UsageError, match=message):
        reasonenv.make(id, **options)


def test_an_unknown_split_is_told_where_the_environment_is_not_made_by_name():
    with pytest.raises(UsageError, match="split 'all' of Sum-v0 is unknown: take one of train"):
        sums.problems(split="all")
