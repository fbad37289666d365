"""Hostile responses, none of them correct; as a script, grades them all."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from reasonenv.attacks import Attack, corpus
from reasonenv.workers import Grader


def hostile() -> Iterator[Attack]:
    """The rows of hostile.jsonl."""
    return corpus(files=["hostile.jsonl"])


def _peak_mib() -> float:
    """Peak memory of this process in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


def main(canary: Path) -> None:
    """Grades every attack and prints a report as one line of JSON."""
    # Shows an audit hook that watches compilation that it works.
    watched = eval("'watch' + 'ed'")
    accepted, errors = [], []
    with Grader(num_workers=2, timeout=1) as grader:
        grader.grade([r"\boxed{x+1}"], ["1+x"])
        before = _peak_mib()
        for attack in hostile():
            response, reference, options = attack.job(canary)
            try:
                if grader.grade([response], [reference], [options])[0].correct:
                    accepted.append(attack.id)
            # Reported below, so that one error does not hide the others.
            except Exception as error:
                errors.append(f"{attack.id}: {error!r}")
    growth = _peak_mib() - before
    report = {"watched": watched, "accepted": accepted, "errors": errors, "growth_mib": growth}
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
