from pathlib import Path

import pytest

from agents.storage.cache import cache_folder


@pytest.mark.parametrize(
    ("own", "xdg", "expected"),
    [
        ("/own", "/xdg", "/own"),
        ("", "/xdg", "/xdg/reasonenv"),
        ("", "", "/home/me/.cache/reasonenv"),
        ("", "relative", "/home/me/.cache/reasonenv"),
    ],
)
def test_the_cache_is_where_the_variables_say(monkeypatch, own, xdg, expected):
    monkeypatch.setenv("REASONENV_CACHE", own)
    monkeypatch.setenv("XDG_CACHE_HOME", xdg)
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    assert cache_folder() == Path(expected)
