"""Growth of the time of each regular expression with the length of an adversarial text.

    PYTHONPATH=tests python benchmarks/patterns.py

Every pattern of both packages, found by import and in the source, walks texts that pump each of its
repetitions, by the method that the code calls. Recorded in grading/patterns.json: the slowest text
of each pattern, its CPU seconds at the greatest length, and the power of the length with which they
grow. Status 1 if a pattern is above a limit.
"""

import json
import math
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

from helpers.patterns import Use, uses
from helpers.regex_steps import pumped

from provenance import provenance

PATH = Path(__file__).with_name("grading") / "patterns.json"
LENGTHS = (1000, 4000, 16_000)
MAX_EXPONENT = 1.3
MAX_SECONDS = 0.1
"""At the greatest length."""
PATIENCE_S = 5.0
MIN_SECONDS = 1e-3
"""Faster texts have no exponent: they are as good as instant at any length in use."""


def seconds(use: Use, text: str) -> float:
    """CPU seconds of one pass over a text; infinite when it outlasts the patience."""
    signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)
    start = time.process_time()
    try:
        use.run(text)
        return time.process_time() - start
    except TimeoutError:
        return math.inf
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def growth(times: list[float]) -> float:
    """The power of the length between the least and the greatest."""
    if max(times) < MIN_SECONDS:
        return 0.0
    first = max(times[0], MIN_SECONDS * LENGTHS[0] / LENGTHS[-1])
    return math.log(times[-1] / first) / math.log(LENGTHS[-1] / LENGTHS[0])


def texts(name: str, use: Use, length: int) -> list[str]:
    """Texts that pump a pattern; spellings see no gap of more than one space."""
    made = list(pumped(use.pattern, length))
    return [re.sub(r"\s{2,}", " ", text.strip()) for text in made] if "SPELLINGS" in name else made


def measured(name: str, use: Use) -> dict[str, Any]:
    """The slowest text of a pattern and the steepest growth."""
    slowest, exponent, example = 0.0, 0.0, ""
    for series in zip(*(texts(name, use, length) for length in LENGTHS), strict=True):
        times: list[float] = []
        for text in series:
            times.append(seconds(use, text))
            if times[-1] == math.inf:
                break
        if times[-1] >= slowest:
            slowest, example = times[-1], series[0][:40]
        exponent = max(exponent, growth(times))
    return {
        "pattern": name,
        "method": use.method,
        "seconds": None if slowest == math.inf else round(slowest, 5),
        "exponent": None if exponent == math.inf else round(exponent, 2),
        "text": example,
        "is_within": slowest <= MAX_SECONDS and exponent <= MAX_EXPONENT,
    }


def _ring(*_: object) -> None:
    raise TimeoutError


def main() -> int:
    """Measures, writes the record and names the patterns above a limit."""
    signal.signal(signal.SIGALRM, _ring)
    rows = [measured(name, use) for name, use in uses().items()]
    above = [row for row in rows if not row["is_within"]]
    result = provenance("patterns.py") | {
        "lengths": LENGTHS,
        "limits": {"exponent": MAX_EXPONENT, "seconds": MAX_SECONDS},
        "patterns": len(rows),
        "above": len(above),
        "rows": sorted(rows, key=lambda row: -(row["seconds"] or math.inf)),
    }
    PATH.write_text(json.dumps(result, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    for row in above:
        print(f"{row['pattern']} ({row['method']}): {row['seconds']} s, power {row['exponent']}")
    print(f"{len(rows) - len(above)} of {len(rows)} patterns are within the limits")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
