"""Faults put into copies of the mathematics, one at a time: do the tests notice?

    python tests/mutants/run.py
    python tests/mutants/run.py --files agents/losses.py --num-workers 1

`mutants.json` names for each file the tests that guard it and the mutants, as a text that stands
in the file once and what takes its place. Every mutant is tried on a copy of the packages, in a
process of its own that is forked after the heavy imports. The exit code is 1 when one survives.
"""

import argparse
import importlib
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parents[2]
MUTANTS = Path(__file__).with_name("mutants.json")
TIMEOUT = 600.0
"""Seconds; whoever needs longer counts as a survivor, since a busy machine notices no fault."""
NEAREST = 2
"""Tests at the head of a file's list that are run before the others."""


def mutated(source: str, before: str, after: str) -> str:
    """The source with its one `before` replaced."""
    if source.count(before) != 1 or before == after:
        raise ValueError(
            f"{before!r} stands {source.count(before)} times in the file: name it once"
        )
    return source.replace(before, after)


def copy(folder: Path) -> Path:
    """The packages, their tests and pages, to be changed."""
    for name in ("agents", "docs", "reasonenv", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def passes(folder: Path, tests: list[str]) -> bool:
    """Whether no test of a copy has failed, in time or at all."""
    if not tests:
        return True  # pytest without a name would run them all
    process = multiprocessing.get_context("fork").Process(target=_test, args=(folder, tests))
    process.start()
    process.join(TIMEOUT)
    if process.is_alive():
        process.kill()
        process.join()
        return True
    return process.exitcode == 0


def _test(folder: Path, tests: list[str]) -> None:
    """Runs pytest and ends this process with its exit code."""
    os.chdir(folder)
    sys.path[:0] = [str(folder), str(folder / "tests")]
    sys.dont_write_bytecode = True
    with open(folder / "log.txt", "w") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        import pytest

        code = pytest.main(["-x", "-q", "-m", "", "-p", "no:cacheprovider", *tests])
        sys.stdout.flush()
        os._exit(int(code))


def survivors(files: dict[str, dict], num_workers: int) -> list[str]:
    """The mutants that no test notices, after all of them have been tried."""
    folders: SimpleQueue[Path] = SimpleQueue()
    found = []

    def attempt(file: str, before: str, after: str) -> None:
        folder = folders.get()
        target, began = folder / file, time.perf_counter()
        source = target.read_text()
        target.write_text(mutated(source, before, after))
        tests = files[file]["tests"]
        # The nearest tests first: collecting the others takes longer than running these.
        survived = passes(folder, tests[:NEAREST]) and passes(folder, tests[NEAREST:])
        target.write_text(source)
        folders.put(folder)
        verdict = "SURVIVED" if survived else "killed"
        seconds = time.perf_counter() - began
        print(f"{verdict:8} {seconds:5.1f} s  {file}: {before!r} -> {after!r}", flush=True)
        if survived:
            found.append(f"{file}: {before!r} -> {after!r}")

    with tempfile.TemporaryDirectory() as scratch:
        for worker in range(num_workers):
            folders.put(copy(Path(scratch) / str(worker)))
        folder = folders.get()
        if not passes(
            folder, sorted({test for entry in files.values() for test in entry["tests"]})
        ):
            sys.exit((folder / "log.txt").read_text() + "the tests fail without any mutant")
        folders.put(folder)
        with ThreadPoolExecutor(num_workers) as pool:
            futures = [
                pool.submit(attempt, file, before, after)
                for file, entry in files.items()
                for before, after in entry["mutants"]
            ]
            for future in futures:
                future.result()
    return found


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--files", nargs="*", help="only these of the files in mutants.json")
    parser.add_argument("--mutants", type=Path, default=MUTANTS, help="another list")
    parser.add_argument("--num-workers", type=int, default=2, choices=(1, 2))
    given = parser.parse_args()
    files = json.loads(given.mutants.read_text())
    if given.files:
        files = {file: files[file] for file in given.files}
    # What the forks share; the packages themselves are imported by each from its copy.
    for module in ("torch", "numpy", "beartype"):
        importlib.import_module(module)
    found = survivors(files, given.num_workers)
    count = sum(len(entry["mutants"]) for entry in files.values())
    print(f"{count - len(found)} of {count} mutants killed")
    for line in found:
        print("survived:", line)
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
