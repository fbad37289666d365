import os

import pytest
from helpers.full_disk import full_disk

from agents.storage.atomic_files import append, write_atomically
from reasonenv.errors import UsageError


@pytest.mark.parametrize("write", [write_atomically, append])
def test_a_full_disk_leaves_the_file_as_it_was(tmp_path, write):
    path = tmp_path / "file"
    write_atomically(path, b"before")
    with full_disk(10), pytest.raises(OSError, match=f"too large: '{path}'"):
        write(path, b"after" * 10)
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["file"]
    write(path, b"!")
    assert path.read_bytes() == (b"before!" if write is append else b"!")


def test_what_is_no_file_is_not_replaced_by_one(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match=r"pipe is a device, a pipe or a folder: give a file"):
        write_atomically(tmp_path / "pipe", b"x")
    assert (tmp_path / "pipe").is_fifo()


def test_two_writers_of_one_file_do_not_meet(tmp_path, monkeypatch):
    path, fsync = tmp_path / "file", os.fsync

    def beside(handle):
        monkeypatch.setattr(os, "fsync", fsync)
        write_atomically(path, b"the other")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", beside)
    write_atomically(path, b"one")
    assert path.read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["file"]


def test_a_reader_sees_the_old_file_or_the_new(tmp_path):
    path = tmp_path / "file"
    write_atomically(path, b"before")
    with path.open("rb") as reader:
        write_atomically(path, b"after")
        assert reader.read() == b"before"
    assert path.read_bytes() == b"after"
