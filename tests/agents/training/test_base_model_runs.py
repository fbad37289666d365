"""Whole runs of a model without a chat template: training, resumption, evaluation."""

import json
import re
import shutil

import pytest
from helpers import text_models, vowels  # noqa: F401 - registers the environment
from helpers.tiny_runs import flags, numbers, refusal, same, train

from agents import evaluate, sft
from agents.engines.chat_template import PLAIN_LINE
from agents.storage.checkpoints import latest
from agents.storage.json_files import read_json_lines

ENV = {"env": "Vowels-v0"}
RUN = {"env": "Vowels-v0", "num_steps": 2, "save_every": 1, "keep_checkpoints": 9}
TEMPLATE = "{% for m in messages %}Q: {{ m.content }}\n{% endfor %}A:\r\n"
"""With an end of a line as Windows has it, which the rendered text lacks."""
STOP = '["e", "\\nQ:"]'


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return text_models.base(tmp_path_factory.mktemp("base") / "model")


@pytest.fixture(scope="module")
def template(model):
    path = model.with_name("template.jinja")
    path.write_bytes(TEMPLATE.encode())
    return path


@pytest.fixture(scope="module")
def own(model, template):
    """Settings and folder of a run with a template and stop strings of the user's."""
    settings = RUN | {"chat_template": template, "stop": STOP}
    folder = model.with_name("run")
    train(model, folder, **settings)
    return settings, folder


def assess(model, folder, **settings):
    words = {"env": "Vowels-v0", "split": "train", "num_problems": 6, "max_response_length": 12}
    evaluate.main(flags(**words | {"model": model, "output_dir": folder} | settings))
    return [row["response"] for row in read_json_lines(folder / "Vowels-v0.jsonl")]


def test_a_base_model_trains_on_plain_text_and_a_line_says_so(model, tmp_path, capsys):
    train(model, tmp_path, **RUN | {"num_steps": 1})
    assert capsys.readouterr().err.count(f"\n{PLAIN_LINE}\n") == 1
    checkpoint = latest(tmp_path)
    assess(checkpoint, tmp_path / "out")
    assert PLAIN_LINE not in capsys.readouterr().err
    assess(model, tmp_path / "base")
    assert PLAIN_LINE in capsys.readouterr().err


def test_a_stopped_response_is_cut_and_not_truncated(own):
    rows = read_json_lines(own[1] / "metrics.jsonl")
    assert all(0 < row["response/truncated"] < 1 for row in rows)
    logged = read_json_lines(own[1] / "rollouts" / "step-1.jsonl")
    assert {row["finished"] for row in logged} == {True, False}
    for row in logged:
        assert "e" not in row["response"]
        assert row["finished"] or "e" not in "".join(row["tokens"])


def test_an_interrupted_run_goes_on_with_its_template(own, model, tmp_path):
    settings, whole = own
    shutil.copytree(whole, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "checkpoints" / "step-2")
    (saved,) = (tmp_path / "run" / "checkpoints").glob("step-1")
    # The path may be another, the content not.
    settings = settings | {"chat_template": saved / "chat_template.jinja"}
    train(model, tmp_path / "run", **settings, resume=True)
    assert numbers(tmp_path / "run") == numbers(whole)
    assert same(tmp_path / "run", whole)


def test_a_run_goes_on_with_template_and_stop_strings_that_are_not_given_again(
    own, model, tmp_path
):
    settings, whole = own
    for name, form in {"given": {}, "recorded": {"chat_template": None, "stop": None}}.items():
        shutil.copytree(whole, tmp_path / name)
        changes = form | {"num_steps": 3}
        train(model, tmp_path / name, **settings | changes, resume=True)
    assert numbers(tmp_path / "recorded") == numbers(tmp_path / "given")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"chat_template": "None"}, "is not the chat template of this run"),
        ({"stop": "None"}, "run.stop was ['e', "),
        ({"stop": "[]"}, "run.stop was ['e', "),
    ],
)
def test_a_run_does_not_go_on_with_another_template(own, model, tmp_path, change, message):
    settings, whole = own
    shutil.copytree(whole, tmp_path / "run")
    changes = change | {"num_steps": 3, "resume": True}
    assert message in refusal(model, tmp_path / "run", **settings | changes)


def test_a_template_that_has_changed_since_is_refused(own, model, template, tmp_path):
    settings, whole = own
    shutil.copytree(whole, tmp_path / "run")
    (tmp_path / "other.jinja").write_bytes(TEMPLATE.encode() + b" ")
    settings = settings | {"chat_template": tmp_path / "other.jinja", "num_steps": 3}
    message = refusal(model, tmp_path / "run", **settings, resume=True)
    assert re.search("give --chat-template .*step-2/chat_template.jinja", message)


def test_an_evaluation_of_a_checkpoint_has_its_template_and_stop_strings(own, model, tmp_path):
    settings, whole = own
    checkpoint = latest(whole)
    form = {name: settings[name] for name in ("chat_template", "stop")}
    implied, given = (
        assess(checkpoint, tmp_path / name, **more) for name, more in {"a": {}, "b": form}.items()
    )
    assert implied == given
    assert not any("e" in text for text in implied)
    assert assess(checkpoint, tmp_path / "c", stop="[]") != implied


def test_variables_of_a_template_reach_training_sampling_and_the_checkpoint(model, tmp_path):
    path = tmp_path / "template.jinja"
    path.write_text("{{ messages[-1].content }}{% if mode is defined %} {{ mode }}{% endif %}")
    form = {"chat_template": path, "chat_template_kwargs": '{"mode": "numbers"}'}
    train(model, tmp_path / "run", **RUN | form | {"num_steps": 1})
    checkpoint = latest(tmp_path / "run")
    assert "set mode = 'numbers'" in (checkpoint / "chat_template.jinja").read_text()
    given = form | {"chat_template_kwargs": '{"mode": "vowels"}'}
    texts = [
        assess(checkpoint, tmp_path / name, **more)
        for name, more in {"own": {}, "same": form, "other": given}.items()
    ]
    assert texts[0] == texts[1] != texts[2]


def test_an_evaluation_is_not_resumed_with_another_template(model, tmp_path):
    path = tmp_path / "template.jinja"
    path.write_bytes(TEMPLATE.encode())
    assess(model, tmp_path / "out", chat_template=path)
    assess(model, tmp_path / "out", chat_template=path)
    path.write_bytes(TEMPLATE.encode() + b" ")
    with pytest.raises(SystemExit, match=r"--chat-template was '[0-9a-f]{12}' and is '"):
        assess(model, tmp_path / "out", chat_template=path)
    with pytest.raises(SystemExit, match=r"--stop was None and is \['x'\]"):
        assess(model, tmp_path / "out", chat_template=path, stop='"x"')


def tune(model, folder, **settings):
    sft.main(flags(**settings, model=model, output_dir=folder))


@pytest.mark.parametrize("command", [train, assess, tune])
@pytest.mark.parametrize(
    ("stop", "message"),
    [
        ("3", "--stop is 3: give a JSON list"),
        ('["a", ""]', "--stop 1 is : string should have at least 1 character"),
        ('[["a"]]', "--stop 0 is ['a']: give a text"),
        (json.dumps(["a"] * 17), "tuple should have at most 16 items"),
        (json.dumps("a" * 1000), "string should have at most 999 characters"),
        (r'["\ud800"]', "unable to parse raw data as a unicode string"),
    ],
)
def test_odd_stop_strings_are_one_line(model, tmp_path, command, stop, message):
    with pytest.raises(SystemExit) as refused:
        command(model, tmp_path / "run", **ENV, stop=stop)
    assert message in refused.value.code
    assert "\n" not in refused.value.code
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("command", [train, assess, tune])
def test_a_stop_string_without_quotes_is_told_by_the_parser(model, tmp_path, capsys, command):
    with pytest.raises(SystemExit, match=r"^2$"):
        command(model, tmp_path / "run", **ENV, stop="</answer>")
    told = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert "Error parsing --stop: '</answer>' is not valid JSON" in told
