import importlib.util
import os
import re
import signal
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Sums differ by rounding with the number of threads; processes that tests start have one too.
os.environ["OMP_NUM_THREADS"] = "1"
# Where `datasets` writes rows of Parquet; removed with this process.
CACHE = tempfile.TemporaryDirectory(prefix="datasets-of-tests-")
os.environ["HF_DATASETS_CACHE"] = CACHE.name
# Otherwise a vLLM server would write one into the home directory.
os.environ["VLLM_API_KEY"] = "key-of-the-tests"
# A shell that starts pytest in the background has it ignore Ctrl-C, and all that it starts; nohup
# has it ignore SIGHUP.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def has_shapes(module: Path) -> bool:
    return bool(re.search(r"\b(jaxtyping|PerToken|Group)\b", module.read_text(encoding="utf-8")))


def check_shapes() -> None:
    """Checks shapes in every test, which costs nothing in production.

    Only in modules that name some: a wrapper takes milliseconds to make, and tens of microseconds
    a call. agents.testing calls functions of a learner, which are checked, by the thousand.
    """
    from jaxtyping import install_import_hook

    modules = sorted((ROOT / "agents").rglob("[!_]*.py"))
    names = [
        ".".join(module.relative_to(ROOT).with_suffix("").parts)
        for module in modules
        if module.parent.name != "testing" and has_shapes(module)
    ]
    install_import_hook(
        names, "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"
    )


if importlib.util.find_spec("jaxtyping") and importlib.util.find_spec("beartype"):
    check_shapes()


SLOW = pytest.StashKey[dict[str, str | None]]()
"""Reason of each collected test that is marked slow, deselected ones too."""
COLLECTED = pytest.StashKey[int]()
"""Number of collected tests."""


def pytest_collection_modifyitems(config, items):
    skip_where_absent(items)
    marks = {item.nodeid: item.get_closest_marker("slow") for item in items}
    config.stash[SLOW] = {test: mark.kwargs.get("reason") for test, mark in marks.items() if mark}
    config.stash[COLLECTED] = len(items)


@pytest.fixture
def slow(pytestconfig) -> dict[str, str | None]:
    """Reason of each slow test of the whole suite.

    What a test says, `pytest -n` shows; an error at collection ends its workers without a line.
    """
    if pytestconfig.option.file_or_dir not in ([], ["tests"]):
        pytest.skip("concerns the whole suite")
    return pytestconfig.stash[SLOW]


@pytest.fixture
def num_tests(pytestconfig) -> int:
    """Number of tests of the run, deselected ones too."""
    return pytestconfig.stash[COLLECTED]


def skip_where_absent(items):
    has = {"gpu": has_gpu, "vllm": lambda: importlib.util.find_spec("vllm") is not None}
    for mark, requirement in {"gpu": "a CUDA device", "vllm": "vLLM"}.items():
        marked = [item for item in items if item.get_closest_marker(mark)]
        if marked and not has[mark]():
            for item in marked:
                item.add_marker(pytest.mark.skip(reason=f"needs {requirement}"))


def has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


@pytest.fixture(scope="session")
def shared() -> Path:
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("needs the folder ../shared")
    return folder


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory) -> Path:
    """An untrained tiny model; nobody writes into it."""
    pytest.importorskip("torch", reason="needs the extra train")
    from benchmarks.tiny import model as tiny_model

    folder = tmp_path_factory.mktemp("tiny")
    tiny_model.save_untrained(
        folder, ["What is the sum of the numbers? How many letters are there?"], seed=0
    )
    return folder


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """SmolLM2-135M-Instruct; nobody writes into it."""
    from benchmarks import pretrained

    if not pretrained.folder().is_dir():
        pytest.skip("needs a pretrained model: make pretrained")
    return pretrained.folder()
