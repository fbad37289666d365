import json

import datasets
import huggingface_hub.constants
import pyarrow
import pytest
from helpers.tiny_runs import CPGD, SMALL, flags
from pyarrow import parquet

from agents import run
from agents.advantages import clip_filter, standardized
from agents.algorithms import ALGORITHMS, find_learner
from agents.cli.flags import format_function, parse_function, parse_run
from agents.cli.settings import COMMON, Run
from agents.dapo import DAPO
from agents.reductions import constant_length, token_mean


@pytest.fixture
def offline(monkeypatch, tmp_path):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.delenv("REASONENV_DATA", raising=False)


@pytest.fixture
def refused(tiny_folder, tmp_path):
    """The one line with which a run of these settings ends; it leaves nothing behind."""

    def end(**settings):
        folder = tmp_path / "run"
        words = flags(**SMALL | {"model": tiny_folder, "output_dir": folder} | settings)
        with pytest.raises(SystemExit) as ended:
            run.main(CPGD, words)
        message = ended.value.code
        assert isinstance(message, str), "a status other than 1"
        assert message.startswith("error: ")
        assert "\n" not in message
        assert not folder.exists()
        return message

    return end


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"env": "MMK13-v0"}, "no environment is called 'MMK13-v0': did you mean MMK12-v0?"),
        ({"env": "Sudoku"}, "there are Figures-v2, Diagrams-v0"),
        ({"temperature": 0}, "--temperature is 0.0"),
        ({"overlong_buffer": 13}, "--overlong-buffer 13 is longer than --max-response-length 12"),
        ({"group_size": 3}, "--group-size 3"),
        ({"minibatch_size": 12}, "divide the 16 responses of a rollout"),
        ({"env_options": '{"sise": 3}'}, "takes no argument 'sise': did you mean 'size'?"),
        ({"env_options": '{"rank": 1}'}, "--env-options cannot set rank"),
        ({"data": "/nowhere"}, "takes no data"),
        ({"model": "/no/such/model"}, "'/no/such/model': there is no such folder"),
        ({"engine": None, "deepspeed": "/no.json"}, "cannot read /no.json"),
        ({"deepspeed": __file__}, "test_flags.py"),
    ],
)
def test_what_does_not_fit_is_told_in_one_line(refused, settings, words):
    assert words in refused(**settings)


def test_what_is_on_no_hub_and_in_no_folder_is_told_in_one_line(refused, offline, tmp_path):
    message = refused(model="nobody/nothing")
    assert "cannot load the model 'nobody/nothing'" in message
    assert "a folder in Hugging Face format" in message
    message = refused(env="MMK12-v0")
    assert "FanqingM/MMK12 cannot be read from the hub" in message
    assert "--data DIR" in message
    assert f"no folder {tmp_path / 'x'}" in refused(env="MMK12-v0", data=tmp_path / "x")
    (tmp_path / "x").mkdir()
    assert "train-*.parquet was expected" in refused(env="MMK12-v0", data=tmp_path / "x")


def test_a_damaged_model_is_told_in_one_line(refused, tiny_folder, tmp_path):
    model = tmp_path / "damaged"
    model.mkdir()
    for file in tiny_folder.iterdir():
        (model / file.name).write_bytes(file.read_bytes()[:1000])
    assert f"cannot load the model '{model}'" in refused(model=model)
    (model / "config.json").write_bytes((tiny_folder / "config.json").read_bytes())
    assert f"cannot load the model '{model}'" in refused(model=model)


def test_a_model_larger_than_this_machine_is_refused_before_it_is_loaded(
    refused, tiny_folder, tmp_path
):
    config = json.loads((tiny_folder / "config.json").read_text())
    text = config["text_config"]
    text |= {"hidden_size": 3584 * 8, "intermediate_size": 18944 * 8, "vocab_size": 152064}
    text |= {"num_hidden_layers": 28, "num_attention_heads": 28 * 8, "num_key_value_heads": 4}
    text.pop("layer_types")
    config["vision_config"]["out_hidden_size"] = 3584 * 8
    model = tmp_path / "large"
    model.mkdir()
    (model / "config.json").write_text(json.dumps(config))
    message = refused(model=model)
    assert "billion weights, which need about" in message
    assert "on the CPU with" in message


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"id": ["1"], "question": ["?"]}, "has no column 'answer'"),
        ({"id": ["1"], "question": [3]}, "column 'question' holds int64, strings were expected"),
    ],
)
def test_malformed_data_are_told_by_file_and_column(refused, tmp_path, columns, words):
    file = tmp_path / "train-00000-of-00001.parquet"
    parquet.write_table(pyarrow.table(columns), file)
    message = refused(env="MMK12-v0", data=tmp_path)
    assert str(file) in message
    assert words in message


def test_one_process_is_all_that_the_torch_engine_takes(refused, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    assert "--engine torch runs in one process" in refused()
    assert "--num-prompts 3 does not divide among 2 ranks" in refused(
        num_prompts=3, minibatch_size=4, engine="auto"
    )


def test_images_for_a_model_that_cannot_see_are_refused_before_the_first_step(
    refused, tiny_folder, tmp_path
):
    from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM

    tokenizer = AutoTokenizer.from_pretrained(tiny_folder)
    small = {"num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1}
    sizes = {"hidden_size": 8, "intermediate_size": 8, "vocab_size": len(tokenizer)}
    Qwen2ForCausalLM(Qwen2Config(**small, **sizes)).save_pretrained(tmp_path / "blind")
    tokenizer.save_pretrained(tmp_path / "blind")
    assert "reads text alone, and problems of Letters-v0 have images: give" in refused(
        model=tmp_path / "blind"
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--learning-rat", "1"], "--learning-rat"),
        (["--num-steps", "few"], "--num-steps"),
        (["--env-options", "size: 3"], "Error parsing --env-options: 'size: 3' is not valid JSON"),
        (["--engine", "jax"], "'auto', 'torch', 'deepspeed'"),
        (["--advantage-function", "best"], "no function is called 'best'"),
        (["--advantage-function", "token_mean"], "no function is called 'token_mean'"),
        (["--advantage-function", "clip_filter(1.0, False, 3)"], "is not a valid function"),
        (["--reduction", "centered"], "no function is called 'centered'"),
        (["--reduction", "constant_length"], "is not a valid function"),
        (["--num-stesp", "3"], "--num-steps"),
        (["--clip-low", "3"], "clip_low is 3.0"),
    ],
)
def test_what_the_command_line_does_not_know_ends_with_status_2(words, told, capsys):
    with pytest.raises(SystemExit) as ended:
        parse_run(CPGD, words)
    assert ended.value.code == 2
    assert told in " ".join(capsys.readouterr().err.replace("│", " ").split())


def test_the_help_names_every_field_with_the_defaults_of_what_is_given(capsys):
    with pytest.raises(SystemExit) as ended:
        parse_run(CPGD, ["--env", "MMK12-v0", "--help-all"])
    assert ended.value.code == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for field in [*vars(Run()), *vars(CPGD())]:
        flag = field.replace("_", "-")
        assert f"--{flag}" in text or f"--no-{flag}" in text
    assert "Training steps: a rollout and its update each. (default: 610)" in text
    assert "Qwen/Qwen2.5-VL-7B-Instruct" in text


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        ("", {}),
        ("--clip-low 0.1 --reduction constant_length(64)", {"reduction": constant_length(64)}),
        ("--clip-low None", {"clip_low": None}),
        ("--advantage-function clip_filter", {"advantage_function": clip_filter()}),
    ],
)
def test_flags_set_the_run_and_the_learner(words, settings):
    settings |= {"clip_low": 0.1} if "0.1" in words else {}
    assert parse_run(CPGD, words.split()) == (Run(), CPGD(**settings))
    # DeepSpeed's launcher adds a word.
    words = ["--local_rank=1", *words.split(), "--seed", "3", "--resume"]
    assert parse_run(CPGD, words) == (Run(seed=3, resume=True), CPGD(**settings))


def test_a_misspelt_help_is_refused(capsys):
    with pytest.raises(SystemExit, match=r"^2$"):
        parse_run(CPGD, ["--hepl"])
    assert capsys.readouterr().err == "error: there is no flag --hepl: did you mean --help?\n"


@pytest.mark.parametrize(
    "value", [standardized, token_mean, clip_filter(3.0), clip_filter(cap=2.0), constant_length(7)]
)
def test_a_function_is_spelled_as_it_is_read(value):
    assert parse_function(format_function(value)) == value


@pytest.mark.parametrize(
    "text", ["", "nothing", "_find", "torch", "1", "clip_filter(", "clip_filter(__import__('os'))"]
)
def test_what_is_no_function_is_refused_by_value(text):
    with pytest.raises(
        ValueError,
        match=r"not the name of a function|no function is called|is not a valid|malformed",
    ):
        parse_function(text)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--env", "MMK12-v0"],
        ["--max-response-length", "8"],
        ["--max_response_length", "8"],
    ],
)
def test_what_an_algorithm_derives_from_the_length_limit_follows_the_one_that_is_given(words):
    run, _ = parse_run(DAPO, words)
    assert run.overlong_buffer == run.max_response_length // 5


@pytest.mark.parametrize("module", ALGORITHMS)
def test_the_help_of_an_algorithm_fits_150_lines_and_has_the_common_flags_and_its_own(
    module, capsys, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit, match="0"):
        parse_run(find_learner(module), ["--help"])
    text = capsys.readouterr().out
    assert len(text.splitlines()) <= 150
    assert "--help-all" in text
    assert all(f"--{name.replace('_', '-')}" in text for name in COMMON)
    assert "--float32-head" not in text
