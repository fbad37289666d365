import pytest
from helpers.tiny_runs import train
from huggingface_hub import ModelCard

from agents.storage.checkpoints import latest
from agents.storage.json_files import read_json
from agents.storage.model_card import model_card, write_model_card


@pytest.fixture(scope="module")
def done(tmp_path_factory, tiny_folder):
    folder = tmp_path_factory.mktemp("card") / "done"
    train(tiny_folder, folder, num_test_problems=4, num_steps=2, save_every=1)
    return folder


def test_a_checkpoint_brings_a_card_with_the_facts_of_its_run(done):
    found = ModelCard.load(latest(done) / "README.md")
    assert found.data.library_name == "transformers"
    assert {"reasonenv", "cpgd", "Letters-v0"} <= set(found.data.tags)
    assert found.data.base_model is None  # a folder of this machine says nothing elsewhere
    record = read_json(done / "run.json")
    assert record["command"] in found.text
    assert f"torch {record['versions']['torch']}" in found.text
    assert "| test | 0 |" in found.text
    assert "## Usage" in found.text


def test_a_card_knows_nothing_of_later_steps(done):
    write_model_card(done, done, step=1)
    text = (done / "README.md").read_text()
    assert "step 1" in text
    assert "| test | 2 |" not in text


def test_a_card_tells_a_zero_and_leaves_out_what_is_not_known(done):
    record = read_json(done / "run.json")
    one = {"split": "test", "step": 1, "accuracy": 1.0, "interval": [0.2, 1.0], "num_problems": 1}
    old = {"split": "old", "step": 1, "accuracy": 0.0, "standard_error": 0.0, "num_problems": 37}
    text = model_card(record, [one, old], 1)
    assert "| test | 1 | 1.000 | 0.200 to 1.000 | 1 |" in text
    assert "| old | 1 | 0.000 | - | 37 |" in text


def test_a_resumed_run_is_repeated_by_all_its_commands(done):
    record = read_json(done / "run.json")
    again = {"step": 1, "command": "python -m agents.cpgd --resume", "environment": {"A": "1"}}
    record["resumed"] = [again, again]
    text = model_card(record, [], 2)
    assert f"{record['command']}\nA=1 python -m agents.cpgd --resume\n```" in text


def test_the_base_model_of_the_hub_is_named(done):
    record = read_json(done / "run.json")
    record["settings"]["run"]["model"] = "Qwen/Qwen2.5-VL-7B-Instruct"
    text = model_card(record, [], 0)
    assert ModelCard(text).data.base_model == "Qwen/Qwen2.5-VL-7B-Instruct"
    assert "## Accuracy" not in text
