"""Calls of tools: their grammar, replies within ceilings, and what hostile responses cannot do."""

import logging
import multiprocessing
import os
import random

import numpy as np
import pytest
from helpers import counters

import reasonenv
from reasonenv import tools
from reasonenv.envs.sums import Calculator
from reasonenv.errors import UsageError
from reasonenv.problem import Problem
from reasonenv.tools import Expression, Reply, Toolbox

CALC = Toolbox(tools=[Calculator()], max_calls=2, max_characters=100)
PROBLEM = counters.problems()[5]


def reply(response, toolbox=CALC, num_calls=0):
    turn = toolbox.turn(PROBLEM, response, num_calls)
    return turn.status, turn.reply and turn.reply.words


@pytest.mark.parametrize(
    ("response", "words"),
    [
        ("calc(12 + 30)", "42"),
        ("First the sum.\n  calc( 12+30 )  \n\n", "42"),
        ("calc (12 + 30)", "42"),
        ("calc(12 - -30)\r\n", "42"),
        ("calc(-12 -30)", "-42"),
        ("calc(-0 + 0)", "0"),
        ("<think>calc(1 + 1) is two</think>\ncalc(12 + 30)", "42"),
        ("<answer>\\boxed{7}</answer>\ncalc(12 + 30)", "42"),
        (f"calc({'9' * 30} + 1)", f"1{'0' * 30}"),
    ],
)
def test_the_last_line_is_a_call(response, words):
    assert reply(response) == ("ok", words)


@pytest.mark.parametrize(
    "response",
    [
        *("42", "", "calc", "I call calc(12 + 30)", "calc(1 + 2)\n3", "Calc(1 + 2)"),
        *("<think>calc(1 + 2)", "<think>\ncalc(1 + 2)\n</think>", "a</think><think>\ncalc(1 + 2)"),
        *("sin(30)", "(1, 2)", "[calc(1 + 2)]", "`calc(1 + 2)`", "xcalc(1 + 2)", "calc\n(1 + 2)"),
    ],
)
def test_anything_else_is_the_answer(response):
    assert CALC.turn(PROBLEM, response, 0) == tools.Turn()


BAD = [
    *("calc()", "calc(", "calc(1 + 2", "calc(1 +)", "calc(+ 2)", "calc(1 2)", "calc(1 + 2))"),
    *("calc(calc(1 + 2) + 3)", "calc((1 + 2))", "calc(1, 2)", "calc(,)", "calc(1 + 2) calc(3 + 4)"),
    *("calc(9**9**9)", "calc(1 * 2)", "calc(4 / 2)", "calc(1 + 2 + 3)", "calc(5)", "calc(1.5 + 2)"),
    *("calc(nan + inf)", "calc(1e308 + 1e308)", "calc(0x10 + 1)", "calc(1_0 + 1)", "calc(١ + ٢)"),
    *(
        "calc(1 + 2) = 3",
        "calc(1 + 2).",
        "calc(1 + 2);",
        "calc(\x00)",
        "calc(\u202e1 + 2)",
        "calc(1＋2)",
    ),
    *(
        "calc(<|im_end|>)",
        "calc(<|image_pad|> + 1)",
        "calc(<image 1>)",
        "calc(WORDS)",
        "calc(WORDS",
    ),
    *("calc(__import__('os').system('true'))", "calc(None)", "calc(True + 1)", "calc(1 + a)"),
    *(f"calc({'9' * 10**6} + 1)", f"calc({'(' * 10**5}", f"calc({'1+' * 10**5}1)", "calc(\t1 + 2)"),
    f"calc({' ' * 70}1 + 2)",
    *("calc(1 + 2)\x00", "calc(1. + 2)", "calc(.5 + 2)", "calc(1 + - 2)", "calc(--1 + 2)"),
]


@pytest.mark.parametrize("response", BAD, ids=range(len(BAD)))
def test_a_bad_call_is_answered_in_words_that_hold_no_number(response):
    status, words = reply(response)
    assert status == "bad_call"
    assert not any(character.isdigit() for character in words)
    status, words = reply(response, num_calls=1)
    assert words.endswith("\nNo calls are left: answer.")
    assert len(words) <= CALC.max_characters
    assert CALC.turn(PROBLEM, response, 2) == tools.Turn("calc")


def test_numbers_of_a_call_are_whole_or_decimal_and_as_many_as_the_tool_takes():
    class Echo:
        name = "echo"
        usage = "echo(a, b + c)"

        def __call__(self, scene, number, expression: Expression) -> Reply:
            return Reply(f"{number!r} {expression!r}")

    toolbox = Toolbox(tools=[Echo()])
    expected = "-2.5 Expression(numbers=(3, 4.0, -5), signs='*/')"
    assert reply("echo(-2.50, 3 * 4.0/-5)", toolbox) == ("ok", expected)
    for text in ("echo(1)", "echo(1, 2, 3)", "echo(1 + 2, 3)"):
        assert reply(text, toolbox) == ("bad_call", "This is no call: echo(a, b + c)")


def test_a_tool_that_fails_costs_a_reply_and_is_logged_once_with_its_traceback(caplog, monkeypatch):
    monkeypatch.setattr(tools, "_LOGGED", set())
    with caplog.at_level(logging.ERROR, "reasonenv"):
        for _ in range(3):
            assert reply("add(13, 0)", counters.TOOLS) == ("failed", "The tool failed.")
    (record,) = caplog.records
    assert "tool add failed at '13, 0)' of problem count/5" in record.getMessage()
    assert "ZeroDivisionError: thirteen" in caplog.text
    assert reply("add(1, 0)", counters.TOOLS) == ("ok", "6")


def test_a_reply_beyond_the_ceilings_is_a_failure_of_the_tool(caplog, monkeypatch):
    monkeypatch.setattr(tools, "_LOGGED", set())
    assert reply("add(1, 1)", counters.TOOLS)[0] == "ok"
    assert reply("add(1, 2)", counters.TOOLS) == ("failed", "The tool failed.")
    assert "a reply of 28 characters and 2 images of up to 784 pixels exceeds" in caplog.text
    small = Toolbox(tools=[counters.Add()], max_images=1, max_pixels=783)
    assert reply("add(1, 1)", small)[0] == "failed"


def test_images_of_a_reply_cannot_be_changed_and_a_tool_sees_them_without_a_scene():
    class First:
        name = usage = "first"

        def __call__(self, scene) -> Reply:
            return Reply("", scene[:1])

    toolbox = Toolbox(tools=[First()], max_images=1, max_pixels=100)
    problem = Problem(id="1", question="?", answer="1", images=(np.zeros((9, 9, 3), np.uint8),))
    turn = toolbox.turn(problem, "first()", 0)
    assert turn.status == "ok"
    with pytest.raises(ValueError, match="read-only"):
        turn.reply.images[0][:] = 1
    problem.images[0][:] = 1


def test_a_worked_solution_is_divided_at_its_calls():
    responses = CALC.responses("<think>so</think>\ncalc(1 + 2)\nNow\ncalc(3 + 4)\nIt is\n7")
    assert responses == ["<think>so</think>\ncalc(1 + 2)", "Now\ncalc(3 + 4)", "It is\n7"]
    assert CALC.responses("7") == ["7"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tools": []}, "tools are called ''"),
        ({"tools": [Calculator(), Calculator()]}, "tools are called 'calc, calc'"),
        ({"tools": [Calculator()], "max_calls": 0}, "max_calls is 0"),
        ({"tools": [Calculator()], "max_characters": 60}, "the usage of calc makes a reply of 76"),
    ],
)
def test_tools_that_do_not_fit_are_told_in_one_line(arguments, message):
    with pytest.raises(UsageError, match=message):
        Toolbox(**arguments)


ENVIRONMENTS = [
    ("Sum-v0", {}),
    ("Zoom-v0", {}),
    ("Zoom-v0", {"level": 3, "families": ["r4"]}),
    ("Measure-v0", {}),
]
PIECES = [
    *("calc(", "zoom(", "ruler(", "protractor(", ")", "))", "(", ",", ", ", " + ", "-", "*", "\n"),
    *("0", "1", "-0", "7", "250", "500", "1000", "1001", "-5", "9" * 70, "1e308", "nan", "0.5"),
    *("<think>", "</think>", "<answer>", "\\boxed{", "}", "<|im_end|>", "<image 1>", "WORDS"),
    *("\x00", "\u202e", "\ud800", "é", "９", "\u2028", "\r", "\t", "9**9**9", "a" * 1000),
    *("\x1b[2J", "\x7f", "\ufeff", "\u200b", "٣", "²", "Ⅷ", "१२", "𝟗", "1_000", "0x1F", "+inf"),
    *("(" * 5000, ")" * 5000, "calc(" * 2000, "<think>" * 999, "1+" * 9999, "-" * 10**5),
    *(
        "<tool_call>",
        "</tool_call>",
        "zoom(0, 0, 9, 9) zoom(0, 0, 9, 9)",
        "calc(1 + 1)\ncalc(2 + 2)",
    ),
]


def hostile(rng):
    """A response of some pieces, half of which look like a call."""
    pieces = [rng.choice(PIECES) for _ in range(rng.randrange(12))]
    if rng.random() < 0.2:  # nested, or several in a line
        names = [rng.choice(PIECES[:4]) for _ in range(rng.choice((2, 3, 500)))]
        pieces.append(
            "\n" + rng.choice((")", ") ", ""))[: rng.randrange(3)].join(names) + "1" + ")" * 600
        )
    elif rng.random() < 0.5:
        numbers = ", ".join(rng.choice(PIECES[13:26]) for _ in range(rng.choice((1, 2, 4, 6))))
        pieces.append(f"\n{rng.choice(PIECES[:4])}{numbers})")
    return "".join(pieces)


@pytest.mark.parametrize(("id", "arguments"), ENVIRONMENTS)
def test_any_response_gets_a_reply_within_the_ceilings_or_ends_the_episode(id, arguments):
    envs = reasonenv.make(id, num_envs=50, **arguments)
    envs.reset(seed=0)
    rng, ends = random.Random(0), 0
    for _ in range(20):
        observations, rewards, terminations, truncations, infos = envs.step(
            [hostile(rng) for _ in range(50)]
        )
        is_over = terminations | truncations
        ends += is_over.sum()
        for i in np.flatnonzero(~is_over):
            words, images = observations["question"][i], observations["images"][i]
            assert len(words) <= envs.tools.max_characters
            assert len(images) <= envs.tools.max_images
            assert all(np.prod(image.shape[:2]) <= envs.tools.max_pixels for image in images)
            assert infos["tool_status"][i] in ("ok", "bad_call")
        assert not rewards[~is_over].any()
        assert all(infos["tool"][~is_over]), "only a call goes on"
    assert 100 < ends < 950
    envs.close()


@pytest.mark.parametrize(("id", "arguments"), ENVIRONMENTS)
def test_ten_thousand_episodes_leave_processes_and_files_as_they_were(id, arguments):
    envs = reasonenv.make(id, num_envs=500, group_size=50, **arguments)
    envs.reset(seed=0)
    call = f"{envs.tools.tools[0].name}(1, 2)"

    def episodes(count):
        for _ in range(count):
            envs.step([call] * 500)
            envs.step(["5"] * 500)
        return len(os.listdir("/proc/self/fd")), len(multiprocessing.active_children())

    before = episodes(1)
    assert episodes(20) == before
    envs.close()
