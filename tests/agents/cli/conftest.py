import functools
import inspect

import pytest


@pytest.fixture(autouse=True, scope="session")
def sources_read_once():
    """The parser of flags reads the source of its classes for each of thousands of command lines,
    which is most of its time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inspect, "getsource", functools.cache(inspect.getsource))
        yield
