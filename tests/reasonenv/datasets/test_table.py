import contextlib
import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
import pytest
from datasets import Dataset, utils
from pyarrow import parquet as pq

from reasonenv.datasets.local import local_table
from reasonenv.datasets.table import parquet_dataset, table_of
from reasonenv.envs.paper_benchmarks import MMK12
from reasonenv.envs.text_benchmarks import DAPO_MATH
from reasonenv.errors import DataError


def row(number, image=None):
    texts = {"id": f"k{number}", "question": f"{number}?", "answer": "7", "subject": "math"}
    cell = {"bytes": image or b"%d" % number * 50, "path": f"{number}.png"}
    return {**texts, "image": cell}


@pytest.fixture
def folder(tmp_path):
    """Rows of a split in two files, the first of several row groups."""
    tmp_path = tmp_path / "a [1]"
    tmp_path.mkdir()
    for name, numbers in (("train-0", range(180)), ("train-1", range(180, 230))):
        table = pa.Table.from_pylist([row(number) for number in numbers])
        pq.write_table(table, tmp_path / f"{name}.parquet", row_group_size=100)
    return tmp_path


ORDER = [0, 229, 100, 99, 101, 5, 200, 199, 0]


def is_read(table, number):
    return list(table.images(number)) == [("column 'image'", row(number)["image"])]


def check(table):
    for number in ORDER:
        assert table.rows[number]["id"] == f"k{number}"
        assert "image" not in table.rows[number]
        assert is_read(table, number)
    assert [row["id"] for row in table.rows] == [f"k{number}" for number in range(230)]


def test_rows_of_any_file_and_group_are_read_in_any_order(folder):
    table = local_table(MMK12.schema, "train", folder)
    check(table)
    check(pickle.loads(pickle.dumps(table)))
    check(table_of(Dataset.from_list([row(number) for number in range(230)]), MMK12.schema))


def test_an_image_that_every_row_must_have_is_missing_where_it_is():
    rows = [row(0), {**row(1), "image": None}]
    table = table_of(Dataset.from_list(rows), MMK12.schema)
    assert list(table.images(1)) == [("column 'image'", None)]
    schema = replace(MMK12.schema, images=(), more_images=("image",))
    assert list(table_of(Dataset.from_list(rows), schema).images(1)) == []


def test_threads_and_forked_processes_read_at_once(folder):
    table = local_table(MMK12.schema, "train", folder)
    with ThreadPoolExecutor(4) as pool:
        reads = [pool.submit(is_read, table, number) for number in ORDER * 20]
        child = os.fork()
        if not child:
            signal.alarm(20)
            os._exit(0 if all(is_read(table, number) for number in ORDER) else 1)
    assert all(read.result() for read in reads)
    assert os.waitpid(child, 0)[1] == 0


def test_a_column_may_be_called_otherwise(tmp_path):
    rows = [{**row(1), "problem": "Which?"}]
    del rows[0]["question"]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "train.parquet")
    schema = replace(MMK12.schema, aliases={"question": ("Problem", "problem")})
    assert local_table(schema, "train", tmp_path).rows[0]["question"] == "Which?"
    with pytest.raises(ValueError, match="has no column 'question'"):
        local_table(MMK12.schema, "train", tmp_path)


def test_files_of_one_split_may_lack_values_but_not_differ_in_types(tmp_path):
    for number, hint in enumerate(("", None, 7)):
        table = pa.Table.from_pylist([{**row(number), "hint": hint}])
        pq.write_table(table, tmp_path / f"train-{number}.parquet")
    with pytest.raises(DataError, match="have columns of one name and different types") as error:
        local_table(MMK12.schema, "train", tmp_path)
    assert "\n" not in str(error.value)
    (tmp_path / "train-2.parquet").unlink()
    rows = local_table(MMK12.schema, "train", tmp_path).rows
    assert [row["hint"] for row in rows] == ["", None]


def dapo(question, index):
    return {
        "prompt": [{"content": question, "role": "user"}],
        "reward_model": {"ground_truth": str(index)},
        "extra_info": {"index": f"i{index}"},
    }


def test_of_equal_prompts_the_first_row_is_kept_whatever_the_batch():
    # More rows than a batch has, each prompt again and again, the last ones only late.
    questions = [f"{number % 700} of {min(number // 1500, 12)}" for number in range(21_000)]
    rows = [dapo(question, index) for index, question in enumerate(questions)]
    kept = table_of(Dataset(pa.Table.from_pylist(rows)), DAPO_MATH.schema).rows
    firsts = {question: index for index, question in reversed(list(enumerate(questions)))}
    assert len(kept) == len(firsts) == 700 * 13
    assert {row["prompt"][0]["content"] for row in kept} == firsts.keys()
    for number in range(0, len(kept), 97):
        index = firsts[kept[number]["prompt"][0]["content"]]
        assert kept[number]["extra_info"]["index"] == f"i{index}"


MEASURED = """
import sys
from pathlib import Path
from reasonenv.envs.paper_benchmarks import MMK12
from reasonenv.datasets.local import local_table

def anonymous():
    (line,) = [line for line in open("/proc/self/status") if line.startswith("RssAnon")]
    return int(line.split()[1]) / 1024

import datasets
before = anonymous()
table = local_table(MMK12.schema, "train", Path(sys.argv[1]))
for number in range(len(table.rows)):
    table.images(number)
print(anonymous() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.slow(reason="writes and reads files of 150 MB")
@pytest.mark.parametrize("group", [50, 5000])
def test_images_are_not_in_memory_whatever_the_row_groups(tmp_path, group):
    path = tmp_path / "train.parquet"
    schema = pa.Table.from_pylist([row(0)]).schema
    rows = [row(number, b"%08d" % number * 3_750) for number in range(5000)]
    pq.write_table(pa.Table.from_pylist(rows, schema), path, group, compression="none")
    assert path.stat().st_size > 140_000_000
    command = [sys.executable, "-c", MEASURED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert float(done.stdout) < 60


def test_the_library_is_silent_and_left_as_it_was(folder, capfd):
    utils.enable_progress_bars()
    path = folder / "train-0.parquet"
    assert len(parquet_dataset(path)) == 180
    path.write_bytes(path.read_bytes().replace(b"k1", b"\xff\xff"))
    with contextlib.suppress(DataError):
        parquet_dataset(path)
    assert capfd.readouterr() == ("", "")
    assert not utils.are_progress_bars_disabled()
    assert utils.logging.get_verbosity() == utils.logging.WARNING
