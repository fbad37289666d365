import json
import math
from dataclasses import replace

import pytest

from agents.cli.checks import check_run
from agents.cli.defaults import defaults
from agents.cli.flags import parse_run
from agents.cli.settings import Run
from agents.cpgd import CPGD
from agents.reductions import constant_length
from agents.storage.json_files import json_value
from agents.storage.provenance import write_run
from agents.training.setup import run_settings

BOOLEANS = [name for name, value in vars(Run()).items() if isinstance(value, bool)]


def refused(file, text):
    file.write_text(text)
    with pytest.raises(SystemExit) as stopped:
        parse_run(CPGD, ["--config", str(file)])
    assert str(stopped.value).startswith("error: --config")
    assert "\n" not in str(stopped.value)
    return str(stopped.value)


def test_a_file_gives_settings_of_run_and_learner(tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text("num-steps: 7\nbeta: 0.5\nreduction: constant_length(20)\nresume: true\n")
    run, learner = parse_run(CPGD, ["--config", str(file)])
    assert (run.num_steps, run.resume) == (7, True)
    assert (learner.beta, learner.reduction) == (0.5, constant_length(20))


def test_what_is_typed_wins_on_either_side_of_the_file(tmp_path):
    (tmp_path / "run.yaml").write_text("num_steps: 7\nseed: 3\nenv: MMK12-v0\n")
    file, typed = ["--config", str(tmp_path / "run.yaml")], ["--num-steps", "9"]
    for words in (typed + file, file + typed):
        run, _ = parse_run(CPGD, words)
        assert run == replace(defaults("MMK12-v0"), num_steps=9, seed=3)


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        (
            "env_options: {level: 2, families: [clocks]}",
            "env_options",
            {"level": 2, "families": ["clocks"]},
        ),
        (
            "lora:\n  r: 16\n  target_modules: all-linear",
            "lora",
            {"r": 16, "target_modules": "all-linear"},
        ),
        ("vllm: {}", "vllm", {}),
        ("stop: ['</answer>', \"\\nQ:\"]", "stop", ("</answer>", "\nQ:")),
        ("stop: '[\"x\"]'", "stop", ("x",)),
    ],
)
def test_json_may_be_a_mapping_or_list_of_yaml(tmp_path, text, name, value):
    file = tmp_path / "run.yaml"
    file.write_text(text)
    run, _ = parse_run(CPGD, ["--config", str(file)])
    assert getattr(check_run(run), name) == value


def test_a_flag_of_a_file_can_be_turned_off_and_on_again(tmp_path):
    file = tmp_path / "run.json"
    for value in (True, False):
        file.write_text(json.dumps({"env": "MMK12-v0"} | dict.fromkeys(BOOLEANS, value)))
        run, _ = parse_run(CPGD, ["--config", str(file)])
        assert {getattr(run, name) for name in BOOLEANS} == {value}
        other = [f"--{'no-' * value}{name.replace('_', '-')}" for name in BOOLEANS]
        run, _ = parse_run(CPGD, ["--config", str(file), *other])
        assert {getattr(run, name) for name in BOOLEANS} == {not value}


def test_the_record_of_a_run_repeats_it(tmp_path):
    words = ["--env", "MMK12-v0", "--beta", "0.1", "--drift-cap", "None", "--num-steps", "5"]
    run, learner = parse_run(CPGD, [*words, "--advantage-function", "clip_filter(3.0)"])
    file = tmp_path / "run.json"
    file.write_text(json.dumps({"settings": json_value(run_settings(run, learner))}))
    assert parse_run(CPGD, ["--config", str(file)]) == (run, learner)


def test_an_infinite_tolerance_is_recorded_and_resumed(tmp_path):
    given = parse_run(CPGD, ["--output-dir", str(tmp_path), "--parity-tolerance", "inf"])
    write_run(tmp_path, run_settings(*given))
    run, _ = parse_run(CPGD, ["--output-dir", str(tmp_path), "--resume"])
    assert run.parity_tolerance == math.inf
    run, _ = parse_run(CPGD, ["--config", str(tmp_path / "run.json")])
    assert run.parity_tolerance == math.inf


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("num-stepz: 7", "did you mean num_steps?"),
        ("nonsense_altogether: 7", "see --help"),
        ("resume: often", "true or false"),
        ("- 1\n- 2", "holds no mapping of settings"),
        ("a: [1", "cannot be read"),
        ("!!python/object/apply:os.getcwd []", "cannot be read"),
        ("[" * 10**5, "cannot be read"),
        ("num_steps: " + "9" * 5000, "cannot be read"),
        ("num_steps: 2024-13-45", "cannot be read"),
        ("num_steps: [1, 2]", "num-steps is [1, 2]: give a single value"),
        ("seed: {a: 2}", "seed is {'a': 2}: give a single value"),
        ("seed: 1\nepochs: 2\nseed: 3", "the key 'seed' comes 2 times"),
        ('{"seed": 1, "seed": 1}', "the key 'seed' comes 2 times"),
        ("env-options: {level: 1, level: 2}", "the key 'level' comes 2 times"),
        ("settings: {run: 1}", "is no record of a run"),
        ("settings: {run: {}, learner: null}", "is no record of a run"),
        ("x" * 1000 + ": 1", "there is no setting xxx"),
    ],
)
def test_what_does_not_fit_is_one_line(tmp_path, text, expected):
    assert expected in refused(tmp_path / "run.yaml", text)


@pytest.mark.parametrize("path", ["/", ".", "gone.yaml"])
def test_what_is_no_regular_file_is_one_line(path):
    with pytest.raises(SystemExit, match=r"^error: --config \S* cannot be read: [^\n]*$"):
        parse_run(CPGD, ["--config", path])


def test_a_length_limit_in_a_file_that_is_no_number_is_an_invalid_argument(tmp_path, capsys):
    file = tmp_path / "run.yaml"
    file.write_text("max-response-length: long\n")
    with pytest.raises(SystemExit, match="2"):
        parse_run(CPGD, ["--config", str(file)])
    assert "long" in capsys.readouterr().err
