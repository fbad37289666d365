"""Rows of files, each kind and each fault, and files that are replaced as a whole."""

import gzip
import json
import os
import socket

import pandas
import pytest

from reasonenv import files
from reasonenv.errors import DataError, UsageError
from reasonenv.files import FileRow, atomic_write, read_objects, read_rows

ROWS = [{"id": 1, "answer": "½"}, {"id": 2, "answer": "7"}]


def as_parquet(rows):
    return pandas.DataFrame(rows).assign(image=[b"x"] * len(rows)).to_parquet()


CONTENTS = {
    "a.jsonl": "\n\n".join(map(json.dumps, ROWS)).encode("utf-8-sig"),
    "a.out": "\r\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS).encode(),
    "a.jsonl.gz": gzip.compress("\n".join(map(json.dumps, ROWS)).encode(), mtime=0),
    "a.json": json.dumps(ROWS, indent=1).encode(),
    "a.json.gz": gzip.compress(json.dumps({"rows": ROWS}).encode(), mtime=0),
    "lines.json": "\n".join(map(json.dumps, ROWS)).encode(),
    "keys.json": json.dumps({"a": ROWS[0], "b": ROWS[1]}).encode(),
    "a.csv": "id,answer\r\n1,½\r\n2,7\r\n".encode("utf-8-sig"),
    "a.parquet": as_parquet(ROWS),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_rows_of_every_kind_of_file_are_the_same(tmp_path, name):
    (tmp_path / name).write_bytes(CONTENTS[name])
    rows = [{**row, "id": int(row["id"])} for row in read_objects(tmp_path / name)]
    assert rows == ROWS
    keys = ["a", "b"] if name == "keys.json" else [None, None]
    assert [row.key for row in read_rows(tmp_path / name)] == keys


def test_an_object_is_one_row_or_rows_by_id(tmp_path):
    (tmp_path / "a.json").write_text('{"id": 1, "answer": [7]}')
    assert list(read_rows(tmp_path / "a.json")) == [FileRow(1, {"id": 1, "answer": [7]})]
    (tmp_path / "a.json").write_text('{"a": [7], "b": "8"}')
    rows = [FileRow(1, [7], "a"), FileRow(2, "8", "b")]
    assert list(read_rows(tmp_path / "a.json")) == rows


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b"{", "a.json is not JSON: Expecting"),
        ("a.json", b"3", "a.json holds 3: a list of objects was expected"),
        ("a.json", b'{"1": 2, "1": 3}', "is not JSON: the key '1' comes 2 times"),
        ("a.json", b"[" * 10**5, "is not JSON: it is nested too deeply"),
        ("a.json", "ü".encode("latin-1"), "a.json: byte 0 is not UTF-8: save it as UTF-8"),
        ("a.json.gz", CONTENTS["a.json.gz"][:-20], "a.json.gz cannot be read: "),
        ("a.jsonl", b"[1]", "a.jsonl is a list, not one object a line: name it a.json"),
        ("a.jsonl", b"1" * 5000, "a.jsonl, line 1: it is not JSON: Exceeds the limit"),
        ("a.jsonl", b'{"a":' * 10**5, "a.jsonl, line 1: it is not JSON: it is nested too deeply"),
        ("a.jsonl", b"{'x': 1}", "a.jsonl, line 1: it is not JSON: Expecting property name"),
        ("a.jsonl", '{"id": "ü"}'.encode("utf-16"), "line 1: byte 0 is not UTF-8: save it as"),
        ("a.jsonl", b'{"id": 1}\n3', "a.jsonl, line 2: it is 3: an object was expected"),
        ("a.jsonl", b'\n{"id": \n', "a.jsonl, line 2: it is not JSON: Expecting value"),
        ("a.jsonl", b"{}\n\xfc", "a.jsonl, line 2: byte 0 is not UTF-8: save it as UTF-8"),
        ("a.jsonl", b"{}\n" + b" " * 2**20, "a.jsonl, line 2 has 1,048,576 bytes: remove it"),
        ("a.csv", b"a,b\n1\n", "row 1: it has fewer values than the 2 columns"),
        ("a.csv", b"a,b\n1,000,2\n", "row 1: it has 3 values for 2 columns: quote those with"),
        ("a.csv", b'a,b\n"1,2\n', "line 2: unexpected end of data: check its quotes"),
        ("a.csv", b"a,a\n1,2\n", "has 2 columns called 'a': rename all but one"),
        ("a.parquet", b"PAR1", "a.parquet is not a readable parquet file: "),
    ],
)
def test_a_fault_is_one_line_with_its_place(tmp_path, monkeypatch, name, content, message):
    monkeypatch.setattr(files, "LONGEST_LINE", 2**20)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message) as raised:
        list(read_objects(tmp_path / name))
    assert str(raised.value).startswith(f"{tmp_path / name}")
    assert "\n" not in str(raised.value)


def test_a_row_that_cannot_be_read_stays_in_its_place(tmp_path):
    lines = "\n".join(json.dumps({"id": os.urandom(99).hex()}) for _ in range(99)).encode()
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b"{}\n\n{\n[3]\n" + lines)[:-400])
    first, broken, other, *_, last = read_rows(tmp_path / "a.jsonl.gz")
    assert (first, other) == (FileRow(1, {}, unit="line"), FileRow(4, [3], unit="line"))
    assert (broken.place, str(broken.value)[:14]) == ("line 3", "it is not JSON")
    assert str(last.value).startswith("it and the rest cannot be read: ")


def test_pipes_and_devices_are_neither_read_nor_replaced(tmp_path):
    # A read of most of these would never end.
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
    for name in ("full", "null", "tty", "stdin"):
        (tmp_path / name).symlink_to(f"/dev/{name}")
    for path in (tmp_path, *tmp_path.iterdir()):
        with pytest.raises(DataError, match="is a pipe, a device or a folder: a regular file"):
            files.read_regular(path)
        with pytest.raises(UsageError, match="give a file"), atomic_write(path):
            pass
    (tmp_path / "file").write_bytes(b"12345")
    assert files.read_regular(tmp_path / "file", 5) == b"12345"
    with pytest.raises(DataError, match="too large: at most 4 bytes"):
        files.read_regular(tmp_path / "file", 4)


def fill(path):
    path.write_text("three")
    raise OSError(28, "full")


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "file"
    with atomic_write(path) as temporary:
        temporary.write_text("one")
        with atomic_write(path) as other:  # of another process, which is done first
            other.write_text("two")
        assert path.read_text() == "two"
    with pytest.raises(OSError, match=f"full: '{path}'"), atomic_write(path) as temporary:
        fill(temporary)
    assert path.read_text() == "one"
    assert os.listdir(tmp_path) == ["file"]
