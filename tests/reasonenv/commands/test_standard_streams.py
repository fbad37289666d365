"""Output of commands as of Unix tools: closing pipes, full disks, closed streams, odd terminals."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reasonenv.console import CLOSED_PIPE, NARROWEST, WIDEST, check_output_path, standard_streams
from reasonenv.errors import UsageError

ROOT = Path(__file__).parents[3]
PROGRAM = """
import sys, shutil
from reasonenv.console import standard_streams

@standard_streams()
def main():
    for number in range(100_000):
        print("line", number)
    return 0

sys.exit(main())
"""
posix = pytest.mark.skipif(os.name != "posix", reason="redirects as a POSIX shell does")


def shell(command, program=PROGRAM, **environment):
    """Runs a command line in which PYTHON stands for a program."""
    line = command.replace("PYTHON", f"'{sys.executable}' -c \"$0\"")
    return subprocess.run(
        ["bash", "-c", f"{line}; exit ${{PIPESTATUS[0]}}", program],
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@posix
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_seen_enough_ends_the_command_quietly(unbuffered):
    ended = shell("PYTHON | head -n 1", PYTHONUNBUFFERED=unbuffered)
    assert (ended.returncode, ended.stdout, ended.stderr) == (CLOSED_PIPE, "line 0\n", "")


@posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_under_standard_output_is_one_line(unbuffered):
    ended = shell("PYTHON > /dev/full", PYTHONUNBUFFERED=unbuffered)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == "error: [Errno 28] No space left on device\n"


@posix
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_do_not_matter(closed):
    ended = shell(f"PYTHON {closed}", PROGRAM.replace("100_000", "3") + "sys.stderr.write('')")
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize(
    ("columns", "expected"),
    [("1", NARROWEST), ("39", NARROWEST), ("1000000000", WIDEST), ("100", 100)],
)
def test_the_width_of_help_is_that_of_a_terminal_within_bounds(columns, expected, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    with standard_streams():
        assert os.environ["COLUMNS"] == str(expected)
    assert os.environ["COLUMNS"] == columns


def test_a_fault_of_a_command_keeps_its_traceback():
    with pytest.raises(BrokenPipeError, match="a worker"), standard_streams():
        raise BrokenPipeError("a worker")
    with pytest.raises(OSError, match="no number"), standard_streams():
        raise OSError("no number")


def test_the_traceback_of_a_full_disk_can_be_had(monkeypatch):
    monkeypatch.setenv("REASONENV_TRACEBACK", "1")
    with pytest.raises(FileNotFoundError), standard_streams():
        Path("no/such/file").read_text()


@posix
@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("pipe", "=.*pipe: this is a device or a pipe, give a file"),
        (os.devnull, f"={os.devnull}: this is a device or a pipe, give a file"),
        (".", "=.*: this is a folder, give a file"),
        ("nowhere/a.json", "=.*nowhere/a.json: no such parent folder"),
        ("", " is empty: give a file"),
        ("read", "=.*read: the command uses this file already, give another"),
    ],
)
def test_an_output_replaces_no_device_folder_or_file_that_is_read(
    tmp_path, monkeypatch, path, message
):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    with pytest.raises(UsageError, match=f"^--output{message}$"):
        check_output_path("output", path, str(tmp_path / "read"), None)
