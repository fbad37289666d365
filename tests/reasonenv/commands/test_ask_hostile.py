"""Servers that answer slowly, without an end, with nonsense, or with the key of the request."""

import json
import resource
import time

import pytest
from helpers.hostile_server import BROKEN, ECHOES, LARGE, SLOW, hostile_server, once

from reasonenv import ask
from reasonenv.console import printable
from reasonenv.errors import EndpointError

KEY = 'sk-4f/5e"6d-0123456789'


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    monkeypatch.setattr(ask.random, "uniform", lambda *_: 0.0)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def request(url, path, capsys, timeout):
    """The line of a failed request, and the seconds that it took; nothing else is printed."""
    words = ["--env", "Figures-v2", "--url", url, "--model", "m", "--output", str(path)]
    start = time.monotonic()
    status = ask.main([*words, "--num-problems", "1", "--timeout", str(timeout)])
    elapsed = time.monotonic() - start
    printed = capsys.readouterr()
    assert (status, printed.out) == (1, "1 of 1 requests failed; the same command repeats them\n")
    assert path.read_text() == ""
    (line,) = printed.err.splitlines()
    assert line == printable(line)
    assert len(line) < 700
    assert line.startswith("a request failed: ")
    return line, elapsed


@pytest.mark.parametrize("kind", SLOW)
def test_the_timeout_is_that_of_the_whole_request(kind):
    start = time.monotonic()
    with hostile_server(SLOW[kind]) as url, pytest.raises(EndpointError) as failed:
        ask.Api(url, KEY, {"model": "m"}, 0.25)([], 0)
    assert str(failed.value) == "no complete answer within 0.25 s"
    assert 0.2 < time.monotonic() - start < 10


def test_the_timeout_of_the_command_is_told_in_its_line(tmp_path, capsys):
    with hostile_server(SLOW["silence"]) as url:
        line, elapsed = request(url, tmp_path / "r.jsonl", capsys, 1)
    assert line == "a request failed: no complete answer within 1 s"
    assert 0.9 < elapsed < 10


@pytest.mark.parametrize("kind", LARGE)
def test_an_answer_is_read_up_to_a_limit(kind, tmp_path, capsys):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with hostile_server(LARGE[kind]) as url:
        line, elapsed = request(url, tmp_path / "r.jsonl", capsys, 60)
    assert line.endswith("the reply is not that of a chat API (it is larger than 16,777,216 bytes)")
    assert elapsed < 30
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**18  # KiB


@pytest.mark.parametrize("kind", BROKEN)
def test_an_answer_that_is_none_is_one_line(kind, tmp_path, capsys):
    with hostile_server(BROKEN[kind]) as url:
        line, elapsed = request(url, tmp_path / "r.jsonl", capsys, 60)
    assert "no complete answer" not in line
    assert elapsed < 30


@pytest.mark.parametrize("kind", ECHOES)
def test_a_key_that_a_server_echoes_is_not_repeated(kind, tmp_path, capsys):
    path = tmp_path / "r.jsonl"
    words = ["--env", "Figures-v2", "--model", "m", "--output", str(path), "--num-problems", "1"]
    with hostile_server(once(ECHOES[kind](KEY.encode()))) as url:
        status = ask.main([*words, "--url", url])
    printed = "".join(capsys.readouterr())
    assert status == (0 if kind == "in a response" else 1)
    for text in (printed, path.read_text()):
        assert not any(KEY[start : start + 6] in text for start in range(len(KEY) - 5))
        assert "***" in text or text in ("", printed)
    for row in map(json.loads, path.read_text().splitlines()):
        assert row["response"] == "is it ***?"
