import os
from pathlib import Path

import pytest

# Sums differ by rounding with the number of threads; processes that tests start have one too.
os.environ["OMP_NUM_THREADS"] = "1"


def pytest_collection_modifyitems(items):
    marked = [item for item in items if "gpu" in item.keywords]
    if not marked:
        return
    import torch

    if not torch.cuda.is_available():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))


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
    from agents import tiny

    folder = tmp_path_factory.mktemp("tiny")
    tiny.write(folder, ["What is the sum of the numbers? How many letters are there?"], seed=0)
    return folder
