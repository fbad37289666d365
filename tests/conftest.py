import importlib.util
import os
import signal
from pathlib import Path

import pytest

# Sums differ by rounding with the number of threads; processes that tests start have one too.
os.environ["OMP_NUM_THREADS"] = "1"
# A shell that starts pytest in the background has it ignore Ctrl-C, and all that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    has = {"gpu": has_gpu, "vllm": lambda: importlib.util.find_spec("vllm") is not None}
    for mark, needs in {"gpu": "a CUDA device", "vllm": "vLLM"}.items():
        marked = [item for item in items if item.get_closest_marker(mark)]
        if marked and not has[mark]():
            for item in marked:
                item.add_marker(pytest.mark.skip(reason=f"needs {needs}"))


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
    from agents import tiny_model

    folder = tmp_path_factory.mktemp("tiny")
    tiny_model.save_untrained(
        folder, ["What is the sum of the numbers? How many letters are there?"], seed=0
    )
    return folder
