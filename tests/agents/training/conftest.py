import pytest


@pytest.fixture
def engine(folder):
    from helpers import tiny_engines

    return tiny_engines.build("torch", folder)


@pytest.fixture
def responses(engine):
    """Two responses to each of four prompts, with 0, 1, 3 and 2 images."""
    from helpers import tiny_engines

    return tiny_engines.responses_of(engine, (0, 1, 3, 2), tiny_engines.LENGTHS)
