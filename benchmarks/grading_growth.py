"""Growth of the cost of grading with the length of an answer, and memory over hostile answers.

    PYTHONPATH=tests python benchmarks/grading_growth.py

Each construct of `tests/helpers/constructs.py` grows to 10^5 characters, without caches: seconds
of CPU of `grade` in this process; math-verify, which runs in workers, is left out. Then 20,000
different answers made of the same constructs: resident memory before and after, of the rules alone
and of a `Grader`. Results go to grading/growth.json. Linux only.
"""

import json
import math
import os
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from helpers.constructs import KINDS, clear_caches, response

from provenance import provenance
from reasonenv import grading
from reasonenv.grading import OverBudget, grade, grade_by_rules
from reasonenv.workers import Grader

PATH = Path(__file__).with_name("grading") / "growth.json"
LENGTHS = (20, 380, 1000, 10_000, 100_000)
NUM_GRADINGS = 20_000
REPEATS = 2
# Of an ordinary grading: below it the power of the length says nothing.
MIN_SECONDS = 2e-4


def seconds(text: str) -> float:
    """CPU seconds of one grading without caches, the least of several."""
    times = []
    for _ in range(REPEATS):
        clear_caches()
        start = time.process_time()
        grade(text, "7")
        times.append(time.process_time() - start)
    return min(times)


def growth(kind: str) -> dict[str, Any]:
    """The slowest construct of a kind, and the steepest."""
    rows = []
    for name, construct in KINDS[kind]():
        times = [seconds(response(kind, construct(length))) for length in LENGTHS]
        first = max(times[0], MIN_SECONDS)
        powers = [
            math.log(max(spent, MIN_SECONDS) / first) / math.log(length / LENGTHS[0])
            for length, spent in zip(LENGTHS[1:], times[1:], strict=True)
        ]
        rows.append({"construct": name, "seconds": times, "exponent": round(max(powers), 2)})
    slowest = max(rows, key=lambda row: max(row["seconds"]))
    return {
        "constructs": len(rows),
        "slowest": slowest["construct"],
        "slowest_s": round(max(slowest["seconds"]), 4),
        "slowest_s_100000": round(max(row["seconds"][-1] for row in rows), 4),
        "above_100_ms": sum(max(row["seconds"]) > 0.1 for row in rows),
        "steepest": max(rows, key=lambda row: row["exponent"])["construct"],
        "exponent": max(row["exponent"] for row in rows),
    }


def hostile(number: int) -> Iterator[str]:
    """Different hostile answers of 20 to 1000 characters."""
    constructs = [construct for make in KINDS.values() for _, construct in make()]
    for index, construct in islice(enumerate(cycle(constructs)), number):
        yield f"{construct(20 + index * 37 % 980)}+{index}"


def resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def memory_of_rules() -> dict[str, float]:
    before = resident_mib()
    for answer in hostile(NUM_GRADINGS):
        try:
            grade_by_rules(answer, "7")
        except OverBudget:
            continue
    return {"before_mib": round(before, 1), "after_mib": round(resident_mib(), 1)}


def memory_of_grader() -> dict[str, float]:
    before = resident_mib()
    with Grader(num_workers=1) as grader:
        responses = [f"<answer>{answer}</answer>" for answer in hostile(NUM_GRADINGS)]
        grader.grade(responses, ["7"] * NUM_GRADINGS)
        after = resident_mib()
    return {"before_mib": round(before, 1), "after_mib": round(after, 1)}


def main() -> None:
    """Measures and writes the record."""
    result: dict[str, Any] = provenance("grading_growth.py")
    result["gradings"] = NUM_GRADINGS
    result["memory_grader"] = memory_of_grader()
    result["memory_rules"] = memory_of_rules()
    grading.symbolic_verdict = lambda answer, reference: (False, "ok")
    result["growth"] = {kind: growth(kind) for kind in KINDS}
    PATH.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
