import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
import pytest
from datasets import Dataset
from pyarrow import parquet as pq

from reasonenv.datasets import parquet
from reasonenv.datasets.hub import HubTable
from reasonenv.datasets.parquet import ParquetTable
from reasonenv.envs import mmk12
from reasonenv.envs.text import DAPO_MATH


def row(number, image=None):
    texts = {"id": f"k{number}", "question": f"{number}?", "answer": "7", "subject": "math"}
    cell = {"bytes": image or b"%d" % number * 50, "path": f"{number}.png"}
    return {**texts, "image": cell}


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "train-0.parquet"
    pq.write_table(pa.Table.from_pylist([row(n) for n in range(230)]), path, row_group_size=100)
    return path


ORDER = [0, 229, 100, 99, 101, 5, 200, 199, 0]


def check(table):
    for number in ORDER:
        assert table.words(number)["id"] == f"k{number}"
        assert "image" not in table.words(number)
        assert table.images(number) == (("column 'image'", row(number)["image"]),)


@pytest.mark.parametrize("largest", [0, 10**9])
def test_rows_of_any_group_are_read_in_any_order(written, largest, monkeypatch):
    monkeypatch.setattr(parquet, "GROUP_BYTES", largest)
    table = ParquetTable(written, mmk12.SCHEMA)
    assert len(table) == 230
    check(table)


def test_one_thread_at_a_time_reads_a_group(written, monkeypatch):
    monkeypatch.setattr(parquet, "_GROUPS_IN_MEMORY", 1)
    table = ParquetTable(written, mmk12.SCHEMA)
    reading, overlaps = threading.Lock(), []
    iter_batches = table._file.iter_batches

    class File:
        metadata = table._file.metadata

        def iter_batches(self, *arguments):
            overlaps.append(not reading.acquire(blocking=False))
            time.sleep(0.005)
            batches = list(iter_batches(*arguments))
            if not overlaps[-1]:
                reading.release()
            return batches

    monkeypatch.setattr(table, "_file", File())
    with ThreadPoolExecutor(4) as pool:
        assert all(
            pool.map(lambda n: table.images(n) == (("column 'image'", row(n)["image"]),), ORDER * 8)
        )
    assert not any(overlaps)
    assert len(table._groups) == 1


def test_a_forked_process_reads_what_a_thread_was_reading(written):
    table = ParquetTable(written, mmk12.SCHEMA)
    table.images(0)
    with table._lock:  # as of a thread that reads, which the child does not have
        child = os.fork()
        if not child:
            signal.alarm(20)
            is_read = table.images(1) == (("column 'image'", row(1)["image"]),)
            os._exit(0 if is_read else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_table_travels_to_another_process(written):
    check(pickle.loads(pickle.dumps(ParquetTable(written, mmk12.SCHEMA))))


def test_the_hubs_rows_are_those_of_the_file(written):
    table = HubTable(Dataset.from_parquet(str(written)), mmk12.SCHEMA)
    check(table)
    assert list(table.column("id")) == list(ParquetTable(written, mmk12.SCHEMA).column("id"))
    assert list(table.column("nothing")) == [None] * 230


def test_a_column_may_be_called_otherwise(tmp_path):
    rows = [{**row(1), "problem": "Which?"}]
    del rows[0]["question"]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    source = replace(mmk12.SCHEMA, aliases={"question": ("Problem", "problem")})
    assert ParquetTable(tmp_path / "a.parquet", source).words(0)["question"] == "Which?"
    with pytest.raises(ValueError, match="has no column 'question'"):
        ParquetTable(tmp_path / "a.parquet", mmk12.SCHEMA)


def dapo(question, index):
    return {
        "prompt": [{"content": question, "role": "user"}],
        "reward_model": {"ground_truth": str(index)},
        "extra_info": {"index": f"i{index}"},
    }


@pytest.mark.parametrize("kind", ["parquet", "hub"])
def test_of_equal_prompts_the_first_row_is_kept_whatever_the_batch(tmp_path, kind):
    # More rows than a batch has, each prompt again and again, the last ones only late.
    questions = [f"{number % 700} of {min(number // 9000, 12)}" for number in range(140_000)]
    path = tmp_path / "train.parquet"
    table = pa.Table.from_pylist([dapo(q, index) for index, q in enumerate(questions)])
    pq.write_table(table, path, row_group_size=50_000)
    source = DAPO_MATH.schema
    kept = ParquetTable(path, source) if kind == "parquet" else HubTable(Dataset(table), source)
    firsts = {question: index for index, question in reversed(list(enumerate(questions)))}
    assert len(kept) == len(firsts) == 700 * 13
    told = [kept.words(number) for number in range(0, len(kept), 97)]
    for each in told:
        index = firsts[each["prompt"][0]["content"]]
        assert each["extra_info"]["index"] == f"i{index}"


MEASURED = """
import sys
from pathlib import Path
from reasonenv.envs import mmk12
from reasonenv.datasets.parquet import ParquetTable

def anonymous():
    (line,) = [line for line in open("/proc/self/status") if line.startswith("RssAnon")]
    return int(line.split()[1]) / 1024

table = ParquetTable(Path(sys.argv[1]), mmk12.SCHEMA)
table.images(len(table) - 1)
print(anonymous())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_group_larger_than_is_held_is_not_in_memory(tmp_path):
    memory = []
    for group in (50, 5000):
        path = tmp_path / f"{group}.parquet"
        schema = pa.Table.from_pylist([row(0)]).schema
        rows = [row(number, b"%08d" % number * 3_750) for number in range(5000)]
        pq.write_table(pa.Table.from_pylist(rows, schema), path, group, compression="none")
        assert path.stat().st_size > 140_000_000
        command = [sys.executable, "-c", MEASURED, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        memory.append(float(done.stdout))
    # A page of a column, here of 1,024 rows, is what is read at a time.
    assert memory[1] - memory[0] < 60
