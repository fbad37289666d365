import pytest


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A tiny model with words of its own; nobody writes into it."""
    from helpers import tiny_engines

    return tiny_engines.write(tmp_path_factory.mktemp("tiny"))
