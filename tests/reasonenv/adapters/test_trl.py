import json
import subprocess
import sys
from pathlib import Path

import pytest

trl = pytest.importorskip("trl", reason="needs TRL: pip install --no-deps trl accelerate")

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "howto" / "from-trl.md"
# TRL and what it imports warn about their own future.
QUIET = [sys.executable, "-W", "ignore"]


@pytest.fixture
def words_model(tmp_path):
    """A causal model without eyes, of the classes of Qwen3-4B."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    from benchmarks.tiny import model as tiny_model

    tokens = tiny_model.tokenizer(["How many apples are left? Tom has two of them."])
    torch.manual_seed(0)
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokens),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            eos_token_id=tokens.eos_token_id,
            pad_token_id=tokens.pad_token_id,
        )
    )
    folder = tmp_path / "model"
    model.save_pretrained(folder)
    tokens.save_pretrained(folder)
    return folder


@pytest.fixture
def gsm8k(tmp_path):
    rows = [
        {
            "question": f"Tom has {k} apples and eats one. How many?",
            "answer": f"{k}-1\n#### {k - 1}",
        }
        for k in range(2, 18)
    ]
    folder = tmp_path / "gsm8k"
    folder.mkdir()
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_the_program_of_the_page_trains_with_grpotrainer(tmp_path, words_model, gsm8k):
    page = PAGE.read_text()
    code = page.split('```python title="train_with_trl.py"\n')[1].split("```")[0]
    (tmp_path / "train_with_trl.py").write_text(code)
    out = tmp_path / "out"
    command = [*QUIET, "train_with_trl.py", str(words_model), str(gsm8k), str(out)]
    done = subprocess.run(
        command, cwd=tmp_path, check=False, timeout=500, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    state = json.loads((out / "checkpoint-2" / "trainer_state.json").read_text())
    steps = [line for line in state["log_history"] if "loss" in line]
    assert [line["step"] for line in steps] == [1, 2]
    for line in steps:
        assert 0 <= line["rewards/accuracy_reward/mean"] <= 1
        assert 0 <= line["rewards/format_reward/mean"] <= 1
        assert "grade/ok" in line


def test_trl_finds_a_place_for_each_image():
    from trl.data_utils import prepare_multimodal_messages

    from reasonenv.adapters.trl import dataset

    row = dataset("Figures-v2", prompt="cpgd")[0]
    system, user = prepare_multimodal_messages(row["prompt"], images=row["images"])
    assert system["role"] == "system"
    assert user["content"][0]["image"] is row["images"][0]
