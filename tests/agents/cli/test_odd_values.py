"""Every option of the commands with values that nobody would give: an answer in a line, at once."""

import dataclasses
import random

import pytest

from agents.cli.checks import MOST_RESPONSES, check_run
from agents.cli.settings import Run
from agents.cpgd import CPGD
from agents.errors import UsageError
from agents.grpo import GRPO
from agents.plan import __main__ as plan
from agents.rpg import RPG

NUMBERS = (
    *("0", "-1", "1", "100000000", "1000000000000000000", "9" * 400, "9" * 5000, "1e400", "1e300"),
    *("1e-300", "-1e-300", "nan", "inf", "-inf", "1_0", "0x10", "１"),
)
TEXTS = (
    *("", " ", "x", "None", "true", "'", "\x01\x1b[31m", "é" * 300, "a/../b", "/", "/dev/zero"),
    *("/nonexistent/x", "{}", "[]", "null", "NaN", '{"r": "x"}', '{"r": 1e400}', '{"": 1}'),
    *('{"tensor_parallel_size": 0}', '{"gpu_memory_utilization": "x"}', '{"level": 1e400}'),
    *("[" * 10**5, '{"a":' * 10**4, "token_mean", "clip_filter(nan)", "clip_filter(" * 3000),
    *("every(0)", "every(1e400)", "().x", "lambda: 0", "__import__('os')"),
)
VALUES = NUMBERS + TEXTS
LEARNERS = {"cpgd": CPGD, "rpg": RPG, "grpo": GRPO}
SETTINGS = [
    (name, field.name)
    for name, kind in {"cpgd": Run, **LEARNERS}.items()
    for field in dataclasses.fields(kind)
    if field.name != "model"  # a name on the hub, which is asked for it
]
SETTINGS += [("cpgd", field.name) for field in dataclasses.fields(Run) if field.name != "model"]
MACHINE = [field.name for field in dataclasses.fields(plan.Machine)]


def unseen(rng):
    """A random value: a number of any size, or characters that mean something to some parser."""
    if rng.random() < 0.5:
        return f"{rng.choice(['', '-'])}{rng.randrange(10 ** rng.randrange(1, 30))}" + (
            f"e{rng.randrange(-400, 400)}" if rng.random() < 0.5 else ""
        )
    return "".join(rng.choice("01x.,:;'\"\\[]{}()-=*&!%@#\t\n é\u202e") for _ in range(12))


def answered(words, capsys):
    """The planner, which checks the settings of a run too, ends with a status it has a name for."""
    try:
        status = plan.main(words)
    except SystemExit as ended:
        status = ended.code
    if isinstance(status, str):
        assert status.startswith("error: ")
        assert "\n" not in status
        assert len(status) <= 2000
    else:
        assert status in (0, 1, 2)
    assert "Traceback" not in capsys.readouterr().err


def words(learner, name, value):
    machine = [] if name in MACHINE else ["--num-gpus", "2", "--gpu-memory", "80"]
    chosen = [] if name == "learner" else ["--learner", learner]
    return [*machine, *chosen, f"--{name.replace('_', '-')}={value}"]


OPTIONS = [*dict.fromkeys(SETTINGS), *(("cpgd", name) for name in MACHINE)]
PARTS = 12


def values_of(learner, name, count):
    rng = random.Random(f"{learner} {name}")
    return *rng.sample(VALUES, count), *(unseen(rng) for _ in range(min(count, 10)))


@pytest.mark.parametrize(("learner", "name"), OPTIONS)
def test_an_odd_and_an_unseen_value_of_each_option_are_answered(
    learner, name, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    for value in values_of(learner, name, 1):
        answered(words(learner, name, value), capsys)


@pytest.mark.slow(reason="parses four thousand command lines")
@pytest.mark.parametrize("start", range(PARTS))
def test_every_odd_value_of_each_option_is_answered(start, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for learner, name in OPTIONS[start::PARTS]:
        for value in values_of(learner, name, len(VALUES)):
            answered(words(learner, name, value), capsys)


@pytest.mark.parametrize(
    "sizes",
    [
        {"group_size": 10**8, "minibatch_size": 2**31 - 1},
        {"num_prompts": 2**18},
        {"max_generations": 10**6},
    ],
)
def test_more_responses_than_memory_has_room_for_are_refused_before_work_starts(sizes):
    with pytest.raises(UsageError, match=rf"responses a step: give at most {MOST_RESPONSES:,}$"):
        check_run(dataclasses.replace(Run(), **sizes))


@pytest.mark.parametrize(
    ("sizes", "valid"),
    [
        ({"temperature": 1e-3}, True),
        ({"temperature": 9e-4}, False),
        ({"temperature": 1e-300}, False),
        ({"temperature": 1001.0}, False),
        ({"top_p": 1e-6}, True),
        ({"top_p": 1e-300}, False),
        ({"parity_tolerance": float("nan")}, False),
        ({"lora": {"r": 16}}, True),
        ({"lora": {"r": "x"}}, False),
        ({"lora": {"r": 1000000000}}, False),
        ({"lora": {"r": True}}, False),
        ({"vllm": "[" * 10**5}, False),
        ({"env_options": '{"a":' * 10**5}, False),
        ({"env_options": '{"a": ' + "9" * 5000 + "}"}, False),
    ],
)
def test_a_setting_that_only_fails_later_is_refused_before_work_starts(sizes, valid):
    run = dataclasses.replace(Run(), **sizes)
    if valid:
        check_run(run)
        return
    with pytest.raises(UsageError, match=r"^--[^\n]{1,900}$"):
        check_run(run)


def test_a_hyper_parameter_that_float32_cannot_hold_is_refused():
    assert CPGD(drift_cap=float("inf")).drift_cap == float("inf")
    with pytest.raises(UsageError, match=r"^drift_cap is 1e\+300: give at most 1e\+30$"):
        CPGD(drift_cap=1e300)
