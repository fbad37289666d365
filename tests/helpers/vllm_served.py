"""A real vLLM server in another process, as a run's own, for test_vllm_server.py."""

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from helpers import torchrun

START = 240.0
"""Seconds in which a server must be up."""


@contextmanager
def served(
    folder: Path, log: Path, max_length: int = 256, options: Sequence[str] = ()
) -> Iterator[tuple[str, list[psutil.Process]]]:
    """The address of a server of the model in `folder`, with further options, and its processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "agents.engines.vllm_server", "--model", str(folder)]
    words += ["--host", "127.0.0.1", "--port", str(port), "--", "--max-model-len", str(max_length)]
    words += options
    settings = torchrun.ENVIRONMENT | {"VLLM_NO_USAGE_STATS": "1"}
    with log.open("wb") as to:
        server = subprocess.Popen(words, stdout=to, stderr=to, env=settings)
    url = f"http://127.0.0.1:{port}"
    try:
        while not is_up(url):
            assert server.poll() is None, log.read_text()[-3000:]
            assert time.time() - psutil.Process(server.pid).create_time() < START
            time.sleep(0.5)
        yield url, processes(server.pid)
    finally:
        end(processes(server.pid))
        server.wait()


def is_up(url: str) -> bool:
    try:
        return urllib.request.urlopen(f"{url}/health", timeout=5).status == 200
    except (urllib.error.URLError, OSError):
        return False


def processes(pid: int) -> list[psutil.Process]:
    """The server and all that it started."""
    try:
        server = psutil.Process(pid)
        return [server, *server.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def end(running: list[psutil.Process]) -> None:
    for process in running:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(running, timeout=30)
