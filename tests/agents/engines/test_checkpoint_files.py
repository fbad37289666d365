"""Files of a checkpoint whose pickles would run code, and others that are unreadable."""

import os
import pickle
from pathlib import Path

import pytest
import torch
from helpers import tiny_engines
from helpers.tiny_engines import ascend, responses_of

from agents.engines.frozen_models import ReferencePolicy
from agents.errors import CheckpointError
from agents.references import fixed


class Attack:
    """Creates a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def saved(kind, folder, path):
    engine = tiny_engines.build(kind, folder)
    ascend(engine, responses_of(engine))
    engine.save(path)
    return engine


@pytest.mark.parametrize("kind", ["torch", "deepspeed-2"])
def test_no_file_of_a_checkpoint_runs_what_its_pickle_says(folder, tmp_path, kind):
    engine = saved(kind, folder, tmp_path / "saved")
    engine.load(tmp_path / "saved")
    files = sorted((tmp_path / "saved").rglob("*.pt"))
    assert files
    for number, file in enumerate(files):
        content, mark = file.read_bytes(), tmp_path / f"run-{number}"
        state = torch.load(file, weights_only=False)
        torch.save({**state, "optimizer": Attack(mark)}, file)
        with pytest.raises(CheckpointError, match="has more than tensors and plain values"):
            engine.load(tmp_path / "saved")
        assert not mark.exists()
        file.write_bytes(content)
    assert "TORCH_FORCE_WEIGHTS_ONLY_LOAD" not in os.environ


def test_a_reference_policy_runs_nothing(tmp_path):
    reference = ReferencePolicy(torch.nn.Linear(2, 2), lambda responses: responses.mask, fixed)
    reference.save(tmp_path)
    reference.load(tmp_path)
    torch.save({"model": {}, "token_kl": Attack(tmp_path / "run")}, tmp_path / "reference.pt")
    with pytest.raises(CheckpointError, match="has more than tensors and plain values"):
        reference.load(tmp_path)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04" + bytes(100),
        pickle.dumps({"optimizer": [1.5] * 99})[:-50],
        pickle.dumps({"optimizer": 5, "steps": "x"}, protocol=2),
    ],
    ids=["empty", "damaged", "cut", "of something else"],
)
def test_an_unreadable_file_is_one_line(folder, tmp_path, data):
    engine = saved("torch", folder, tmp_path)
    (tmp_path / "optimizer.pt").write_bytes(data)
    with pytest.raises(CheckpointError, match=r"optimizer\.pt does not fit this run: [^\n]+$"):
        engine.load(tmp_path)


def test_a_stage_is_saved_by_value_with_every_python(folder, tmp_path, monkeypatch):
    """Python 3.11.0 to 3.11.3 pickle enums as here, and `getattr` is refused by `load`."""
    stages = pytest.importorskip("deepspeed.runtime.zero.config").ZeroStageEnum
    monkeypatch.setattr(stages, "__reduce_ex__", lambda self, _: (getattr, (stages, self.name)))
    saved("deepspeed-2", folder, tmp_path).load(tmp_path)
