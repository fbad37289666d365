"""Files of a checkpoint whose pickles would run code, and others that are unreadable."""

import os
import pickle
import zipfile
from pathlib import Path

import pytest
import torch
from helpers import tiny_engines
from helpers.tiny_engines import STAGES, respond

from agents.engines.checkpoint_files import FORBID, FORCE, read_tensors, weights_only
from agents.engines.reference_policy import ReferencePolicy
from agents.errors import CheckpointError
from agents.references import fixed

pytestmark = pytest.mark.filterwarnings("ignore:.torch.distributed:FutureWarning")


class Attack:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_engines.write(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def torch_engine(folder):
    return tiny_engines.build("torch", folder)


def trained(engine):
    prompts = engine.chat.encode(tiny_engines.observations())
    engine.backward(engine.forward(respond(prompts, (9, 1, 4), engine.chat))[0].sum() / 10)
    engine.step()
    return engine


CONFIGS = {"torch": ("torch", {})}
CONFIGS |= {f"{kind} fp32": (kind, {}) for kind in STAGES}
CONFIGS |= {f"{kind} bf16": (kind, {"bf16": {"enabled": True}}) for kind in ("deepspeed-1",)}


@pytest.mark.parametrize(("kind", "config"), CONFIGS.values(), ids=CONFIGS)
def test_no_file_of_a_checkpoint_runs_what_its_pickle_says(folder, tmp_path, kind, config):
    engine = trained(tiny_engines.build(kind, folder, config=config))
    engine.save(tmp_path / "saved")
    engine.load(tmp_path / "saved")
    files = sorted((tmp_path / "saved").rglob("*.pt"))
    assert files
    for number, file in enumerate(files):
        content, mark = file.read_bytes(), tmp_path / f"run-{number}"
        state = torch.load(file, weights_only=False)
        torch.save({**state, "optimizer": Attack(mark)}, file)
        with pytest.raises(CheckpointError, match=r"refers to posix\.mkdir, which is neither"):
            engine.load(tmp_path / "saved")
        assert not mark.exists()
        file.write_bytes(content)


def test_a_reference_policy_runs_nothing(tmp_path):
    reference = ReferencePolicy(torch.nn.Linear(2, 2), lambda responses: responses.mask, fixed)
    reference.save(tmp_path)
    reference.load(tmp_path)
    torch.save({"model": {}, "token_kl": Attack(tmp_path / "run")}, tmp_path / "reference.pt")
    with pytest.raises(CheckpointError, match=r"refers to posix\.mkdir"):
        reference.load(tmp_path)
    assert not (tmp_path / "run").exists()


def in_zip(data: bytes) -> bytes:
    path = Path(os.environ["PYTEST_ZIP"])
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("archive/data.pkl", data)
        file.writestr("archive/version", "3")
    return path.read_bytes()


PICKLES = {
    "empty": b"",
    "text": b"no pickle at all",
    "zeros": bytes(1000),
    "zip without a pickle": b"PK\x03\x04" + bytes(100),
    "stop": b".",
    "pop": b"0.",
    "memo": b"\x80\x02h\x07.",
    "protocol": b"\x80\xff.",
    "cut": pickle.dumps({"optimizer": [1.5] * 99})[:-50],
    "mark": b"\x80\x02(((((t.",
    "binint": b"\x80\x02J\x01",
    "unicode": b"\x80\x02X\x02\x00\x00\x00\xff\xff.",
    "persistent": b"\x80\x02K\x05Q.",
    "reduce": b"\x80\x02K\x05)R.",
    "build": b"\x80\x02}K\x05b.",
    "setitem": b"\x80\x02K\x05K\x05K\x05s.",
    "append": b"\x80\x02K\x05K\x05a.",
    "list": pickle.dumps([1, 2], protocol=2),
    "number": pickle.dumps(5, protocol=2),
    "no entry": pickle.dumps({}, protocol=2),
    "wrong entries": pickle.dumps({"optimizer": 5, "steps": "x"}, protocol=2),
    "wrong group": pickle.dumps(
        {"optimizer": {"param_groups": 5, "state": 5}, "steps": 3}, protocol=2
    ),
}


@pytest.mark.parametrize("zipped", [False, True], ids=["plain", "zip"])
@pytest.mark.parametrize("data", PICKLES.values(), ids=PICKLES)
def test_an_unreadable_pickle_is_one_line(torch_engine, tmp_path, monkeypatch, data, zipped):
    monkeypatch.setenv("PYTEST_ZIP", str(tmp_path / "zip"))
    torch_engine.save(tmp_path)
    (tmp_path / "optimizer.pt").write_bytes(in_zip(data) if zipped else data)
    with pytest.raises(CheckpointError, match=r"optimizer\.pt does not fit this run: ") as refused:
        torch_engine.load(tmp_path)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 500


def test_other_libraries_load_tensors_alone_and_the_environment_comes_back(tmp_path, monkeypatch):
    monkeypatch.delenv(FORCE, raising=False)
    monkeypatch.setenv(FORBID, "1")
    path = tmp_path / "state.pt"
    torch.save({"state": Attack(tmp_path / "run")}, path)
    with pytest.raises(pickle.UnpicklingError), weights_only([]):
        torch.load(path, weights_only=False)
    assert (os.environ.get(FORCE), os.environ[FORBID]) == (None, "1")
    with pytest.raises(CheckpointError):
        read_tensors(path)
    assert not (tmp_path / "run").exists()


def test_a_stage_is_saved_by_value_with_every_python(folder, tmp_path, monkeypatch):
    """Python 3.11.0 to 3.11.3 pickle enums as here, and `getattr` is refused by `load`."""
    stages = pytest.importorskip("deepspeed.runtime.zero.config").ZeroStageEnum
    monkeypatch.setattr(stages, "__reduce_ex__", lambda self, _: (getattr, (stages, self.name)))
    engine = trained(tiny_engines.build("deepspeed-2", folder))
    engine.save(tmp_path / "saved")
    engine.load(tmp_path / "saved")
