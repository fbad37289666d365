"""Equal numbers on several threads, and the number of threads beside other processes."""

import os
import platform
import subprocess
import sys

import pytest
import torch
from helpers import gradients_twice

from agents.engines import process
from agents.engines.process import set_threads
from agents.engines.sampling import Sampling
from agents.storage.provenance import last_num_threads, write_run

CORES = len(os.sched_getaffinity(0))


def user_environment(**variables):
    """Environment variables of a shell in which nobody has set a number of threads."""
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    return {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"} | paths | variables


def python(*words, **variables):
    return subprocess.run(
        [sys.executable, *map(str, words)],
        env=user_environment(**variables),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    ).stdout


@pytest.fixture
def load():
    """Two busy processes a core."""
    words = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(words) for _ in range(2 * CORES)]
    yield
    for one in busy:
        one.kill()
        one.wait()


@pytest.mark.slow(reason="a process that computes eight gradients; the next test has the reason")
@pytest.mark.parametrize("layout", ["packed", "padded"])
def test_a_gradient_has_the_same_bits_each_time_on_two_threads(layout):
    digests = python(gradients_twice.__file__, layout, OMP_NUM_THREADS="2").split()
    assert len(digests) == 8
    assert len(set(digests)) == 1


def nodes(node):
    """The nodes of an autograd graph."""
    todo, visited = [node], set()
    while todo:
        node = todo.pop()
        if node is not None and node not in visited:
            visited.add(node)
            todo += [parent for parent, _ in node.next_functions]
            yield node


@pytest.mark.parametrize("packs", [True, False])
def test_no_backward_pass_adds_gradients_with_atomic_operations(packs):
    """Indexing does where an index occurs twice, in an order that several threads decide."""
    policy = gradients_twice.policy(packs)
    log_prob, _ = policy(gradients_twice.responses(), Sampling())
    graph = [node for node in nodes(log_prob.grad_fn) if node.name() == "IndexBackward0"]
    for node in graph:
        indices = [index for index in node._saved_indices if index is not None]  # pyright: ignore
        if indices[0].dtype == torch.bool:  # an element occurs once or not at all
            continue
        rows = torch.stack([part.flatten() for part in torch.broadcast_tensors(*indices)], 1)
        assert len(rows.unique(dim=0)) == len(rows)
    assert bool(graph) == (not packs)  # the walk does not miss such nodes


SCRIPT = "from agents.engines.process import *; print(set_threads(), torch.get_num_threads())"


@pytest.mark.parametrize(
    ("free", "message", "threads"),
    [
        (2.3, "leave 2.3 of 4 cores: computing with 2 ", [2]),
        (0.1, "computing with 1 ", [1]),
        (4.0, "", []),
    ],
)
def test_as_many_threads_compute_as_cores_are_free(monkeypatch, free, message, threads):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    given = []
    monkeypatch.setattr(torch, "set_num_threads", given.append)
    monkeypatch.setattr(process, "_free_cores", lambda count: free)
    told = set_threads()
    assert message in told
    assert bool(told) == bool(message)
    assert given == threads


@pytest.mark.slow(reason="a process that measures, beside busy processes")
@pytest.mark.skipif(CORES < 2, reason="one core has one thread anyway")
def test_fewer_threads_where_other_processes_take_the_cores(load):
    message, _, threads = python("-c", SCRIPT).strip().rpartition(" ")
    assert 1 <= int(threads) < CORES
    assert f"of {CORES} cores: computing with {threads}" in message


RESUMED = """
import resource
from agents.engines.process import *

def faults(size=2**25):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    bytearray(size)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

default = [faults(), faults()]
keep_freed_memory()
print(*default, faults(), faults())
print(faults(2**27), faults(2**27))
print(*(torch.empty(2**19 + n).data_ptr() % 4096 for n in range(4)))
print(set_threads(1), torch.get_num_threads())
"""


@pytest.mark.slow(reason="a process that trains and resumes")
def test_a_resumed_run_keeps_its_number_of_threads_and_freed_memory_unless_it_is_large():
    *numbers, threads = python("-c", RESUMED).splitlines()
    *default, first, second = map(int, numbers[0].split())
    assert threads == " 1" or CORES < 2
    assert numbers[2] == "0 0 0 0"  # large tensors start at a page
    if platform.libc_ver()[0] == "glibc":
        assert min(*default, first, *map(int, numbers[1].split())) > 1000
        assert second < 100


SPINS = "import agents, os; print(os.environ.get('GOMP_SPINCOUNT'))"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "3000"),
        ({"OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "7"}, "7"),
    ],
)
def test_waiting_threads_spin_as_the_user_says(monkeypatch, variables, expected):
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    assert python("-c", SPINS, **variables).strip() == expected


def test_a_resumed_run_with_another_number_of_threads_has_a_line():
    assert "threads: 1, not 3 as before" in set_threads(3)
    assert not set_threads(1)


def test_the_number_of_threads_of_the_last_start_is_in_the_record_of_a_run(tmp_path):
    assert last_num_threads(tmp_path) is None
    write_run(tmp_path, {})
    write_run(tmp_path, {}, step=3)
    assert last_num_threads(tmp_path) == torch.get_num_threads()
