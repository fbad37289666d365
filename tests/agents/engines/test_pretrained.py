"""Model folders that bring code, lack parts or are damaged: nothing runs, and one line says why."""

import json
import os
import re
import shutil
import struct
from pathlib import Path

import pytest
import torch
from helpers import tiny_engines, tiny_runs
from huggingface_hub import constants
from safetensors.torch import load_file, save_file

from agents import evaluate, run, sft
from agents.cli.exit import errors_in_one_line
from agents.cpgd import CPGD
from agents.engines import pretrained
from agents.engines import vllm_server as server
from agents.engines.load import load_model
from agents.engines.pretrained import load_config
from agents.errors import AgentsError, ModelError
from agents.plan import __main__ as plan

CODE = """
from pathlib import Path
from transformers import Qwen2Config, Qwen2ForCausalLM, Qwen2_5_VLConfig
Path({marker!r}).touch()
class Config(Qwen2_5_VLConfig): model_type = "mine"
class Other: pass
"""
AUTO = {"AutoConfig": "mine.Config", "AutoModelForImageTextToText": "mine.Other"}
PROCESSOR = {"auto_map": {"AutoImageProcessor": "mine.Other"}, "image_processor_type": "Mine"}
BRINGS_CODE = {
    "config.json": {"model_type": "mine", "auto_map": AUTO},
    "preprocessor_config.json": PROCESSOR,
}


def change(path: Path, **values) -> None:
    content = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(content | values))


@pytest.fixture
def folder(tiny_folder, tmp_path):
    return shutil.copytree(tiny_folder, tmp_path / "model")


def load(folder: Path):
    return load_model(str(folder), torch.device("cpu"), torch.float32)


def failure(folder: Path) -> str:
    with pytest.raises(AgentsError) as error:
        load(folder)
    assert "\n" not in str(error.value)
    return str(error.value)


def training(folder: Path, output: Path) -> None:
    flags = tiny_runs.SMALL | {"model": folder, "output_dir": output, "num_steps": 1}
    run.main(CPGD, tiny_runs.flags(**flags))


def serving(folder: Path, _: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "check_installed", lambda **_: None)
        with errors_in_one_line():
            server.main(["--model", str(folder)])


COMMANDS = {
    "train": training,
    "evaluate": lambda folder, output: evaluate.main(
        ["--model", str(folder), "--env", "Letters-v0", "--output-dir", str(output)]
    ),
    "sft": lambda folder, output: sft.main(["--model", str(folder), "--output-dir", str(output)]),
    "plan": lambda folder, _: plan.main(["--model", str(folder), "--num-gpus", "0"]),
    "server": serving,
}


def bring_code(folder: Path, file: str, marker: Path) -> None:
    (folder / "mine.py").write_text(CODE.format(marker=str(marker)))
    change(folder / file, **BRINGS_CODE[file])


@pytest.fixture
def answers_yes(monkeypatch):
    """The questions on the terminal, each answered with yes."""
    questions = []
    monkeypatch.setattr("builtins.input", lambda text="": questions.append(text) or "y")
    return questions


@pytest.mark.parametrize(
    ("file", "command"),
    [*(("config.json", command) for command in COMMANDS), ("preprocessor_config.json", "evaluate")],
)
def test_no_command_runs_a_models_code_or_asks(
    folder, tmp_path, file, command, answers_yes, capsys
):
    marker = tmp_path / "marker"
    bring_code(folder, file, marker)
    with pytest.raises(SystemExit, match="--trust-remote-code") as end:
        COMMANDS[command](folder, tmp_path / "out")
    assert "\n" not in str(end.value)
    assert not marker.exists()
    assert not answers_yes
    assert "[y/N]" not in capsys.readouterr().out


def test_a_models_code_runs_where_it_is_trusted(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", tmp_path / "modules")
    monkeypatch.syspath_prepend(tmp_path / "modules")
    bring_code(folder, "config.json", tmp_path / "marker")
    assert load_config(str(folder), trust_remote_code=True).model_type == "mine"
    assert (tmp_path / "marker").exists()


def test_a_kernel_of_the_hub_is_code_too(folder):
    change(folder / "config.json", attn_implementation="someone/kernel")
    assert re.search("needs the code of 'someone/kernel'.*--trust-remote-code", failure(folder))


class Program:
    def __init__(self, marker: Path):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


def test_a_pickle_of_weights_runs_nothing(folder, tmp_path):
    (folder / "model.safetensors").unlink()
    torch.save({"weight": Program(tmp_path / "marker")}, folder / "pytorch_model.bin")
    assert "save them as safetensors" in failure(folder)
    assert not (tmp_path / "marker").exists()


def test_a_pickle_of_tensors_is_read(folder):
    model, _ = load(folder)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    assert torch.equal(load(folder)[0].lm_head.weight, model.lm_head.weight)


def config(**values):
    return lambda folder: change(folder / "config.json", **values)


def text(**values):
    def changed(folder: Path) -> None:
        content = json.loads((folder / "config.json").read_text())
        change(folder / "config.json", text_config=content["text_config"] | values)

    return changed


def write(name: str, content: str | bytes):
    data = content if isinstance(content, bytes) else content.encode()
    return lambda folder: (folder / name).write_bytes(data)


def weights(act):
    def changed(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        act(tensors)
        save_file(tensors, folder / "model.safetensors", {"format": "pt"})

    return changed


def index(files):
    def changed(folder: Path) -> None:
        (folder / "model.safetensors").rename(folder / "part.safetensors")
        content = json.dumps({"metadata": {}, "weight_map": files})
        (folder / "model.safetensors.index.json").write_text(content)

    return changed


NORM = "model.norm.weight"
FAULTS = {
    "config a list": (write("config.json", "[]"), "Unrecognized model"),
    "config bytes": (write("config.json", b"\xff\xfe"), "not a valid JSON"),
    "unknown type": (config(model_type="nothing"), "`nothing`"),
    "few words": (text(vocab_size=50), r"is \[\d+, 128\] and should be \[50, 128\]"),
    "activation": (text(hidden_act="nothing"), "KeyError: 'nothing'"),
    "tokenizer null": (write("tokenizer.json", "null"), "cannot load the model"),
    "no tokenizer": (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer"),
    "missing tensor": (weights(lambda tensors: tensors.pop(NORM)), r"calls for \(1, \S+ first"),
    "other shape": (weights(lambda t: t.update({NORM: torch.ones(3)})), r"is \[3\] and should be"),
    "one nan": (weights(lambda tensors: tensors[NORM][3].fill_(torch.nan)), "not finite"),
    "damaged": (write("model.safetensors", struct.pack("<Q", 2**62)), "header too large"),
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), "no file named"),
    "index absent": (index({"a": "other.safetensors"}), "No such file"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_folder_that_is_no_whole_model_is_told_in_one_line(folder, fault):
    act, words = FAULTS[fault]
    act(folder)
    assert re.search(words, failure(folder))


def processor(**values):
    def changed(folder: Path) -> None:
        for path in folder.glob("*processor_config.json"):
            content = json.loads(path.read_text())
            inner = content.get("image_processor")
            change(path, **({"image_processor": inner | values} if inner else values))

    return changed


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"patch_size": 7}, "does not fit its vision tower"),
        ({"merge_size": 0}, "does not fit its vision tower"),
    ],
)
def test_an_image_processor_that_does_not_fit_is_told_in_one_line(folder, values, words):
    processor(**values)(folder)
    with pytest.raises(AgentsError, match=words) as error:
        load(folder)[1].encode(tiny_engines.observations(num_images=(1,)))
    assert "\n" not in str(error.value)


def test_a_token_to_ban_outside_of_the_vocabulary_is_none(folder):
    _, before = load(folder)
    ids = {"video_token_id": 10**12, "vision_start_token_id": -7}
    change(folder / "config.json", **ids)
    _, chat = load(folder)
    assert set(before.banned) > set(chat.banned)
    assert all(token in range(chat.vocabulary) for token in chat.banned)


def test_the_token_of_a_tokenizer_with_more_words_than_the_model_is_told(folder):
    _, chat = load(folder)
    chat.vocabulary = 20
    with pytest.raises(AgentsError, match=r"gives token .* its vocabulary has only 20"):
        chat.check()


def test_a_tokenizer_without_an_end_token_is_told(folder):
    change(folder / "tokenizer_config.json", tokenizer_class="PreTrainedTokenizerFast")
    content = json.loads((folder / "tokenizer_config.json").read_text())
    del content["eos_token"]
    (folder / "tokenizer_config.json").write_text(json.dumps(content))
    assert "no end token" in failure(folder)


def test_without_a_network_the_cache_alone_is_read_at_once(monkeypatch):
    seen = []

    def no_address(*_):
        raise OSError("no such host")

    def from_pretrained(*_, **__):
        seen.append(constants.HF_HUB_OFFLINE)
        raise OSError("not in the cache")

    monkeypatch.setattr(pretrained, "getproxies", dict)
    monkeypatch.setattr(pretrained.AutoConfig, "from_pretrained", from_pretrained)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    for resolve in (no_address, lambda *_: ["an address"]):
        pretrained._is_reachable.cache_clear()
        monkeypatch.setattr(pretrained.socket, "getaddrinfo", resolve)
        with pytest.raises(ModelError, match="not in the cache"):
            load_config("nobody/nothing")
    pretrained._is_reachable.cache_clear()
    assert seen == [True, False]
    assert not constants.HF_HUB_OFFLINE
