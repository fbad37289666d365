import errno
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from agents.storage.lock import LOCK, locked

HOLDER = """
import sys, time
from pathlib import Path
from agents.storage.lock import locked
with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    time.sleep(60)
"""


@contextmanager
def another_process(folder):
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout.readline() == "locked\n"
            yield process
        finally:
            process.kill()


def test_a_second_process_is_told_which_one_writes_the_folder(tmp_path):
    with another_process(tmp_path) as process:
        for _ in range(2):
            with (
                pytest.raises(ValueError, match=rf"is in use by process {process.pid} on .*: wait"),
                locked(tmp_path),
            ):
                pass
        process.send_signal(signal.SIGKILL)
        process.wait()
        with locked(tmp_path):
            assert str(os.getpid()) in (tmp_path / LOCK).read_text()


def test_a_folder_is_free_again_after_an_error_and_removed_where_nothing_was_written(tmp_path):
    with locked(tmp_path / "run"):
        assert (tmp_path / "run").is_dir()
    assert not (tmp_path / "run").exists()
    with pytest.raises(KeyError), locked(tmp_path / "run"):
        {(tmp_path / "run" / "file").touch(): 0}.pop("absent")
    with locked(tmp_path / "run"):
        assert (tmp_path / "run" / "file").exists()


@pytest.mark.parametrize("name", ["own", "link", "."])
def test_an_empty_folder_of_the_user_stays(tmp_path, monkeypatch, name):
    (tmp_path / "own").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "own")
    monkeypatch.chdir(tmp_path / "own")
    place = Path(name) if name == "." else tmp_path / name
    with pytest.raises(ValueError, match="a setting does not fit"), locked(place):
        raise ValueError("a setting does not fit")
    assert (tmp_path / "own").is_dir()


def test_a_folder_that_cannot_be_removed_hides_no_error(tmp_path, monkeypatch):
    def refuse(path):
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(path))

    monkeypatch.setattr(Path, "rmdir", refuse)
    with pytest.raises(ValueError, match="a setting does not fit"), locked(tmp_path / "run"):
        raise ValueError("a setting does not fit")


def test_a_holder_that_did_not_write_its_name_is_another_process(tmp_path):
    with locked(tmp_path):
        (tmp_path / LOCK).write_bytes(b"")
        with pytest.raises(ValueError, match="in use by another process: wait"), locked(tmp_path):
            pass


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("file", "file is a file: give another --output-dir"),
        ("file/run", r"cannot write .* in .*file: give another"),
        ("closed/new/run", r"cannot write .* in .*closed: give another"),
    ],
)
def test_what_cannot_be_written_is_no_output_directory(tmp_path, monkeypatch, name, message):
    (tmp_path / "file").touch(0o777)
    (tmp_path / "closed").mkdir()
    # root may write all
    monkeypatch.setattr(os, "access", lambda place, mode: place != tmp_path / "closed")
    with pytest.raises(ValueError, match=message), locked(tmp_path / name):
        pass
    assert not (tmp_path / "closed" / "new").exists()
