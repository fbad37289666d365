"""Hostile responses of hostile.jsonl, none of them correct; as a script, grades them all."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reasonenv.workers import Grader

PATH = Path(__file__).parents[1] / "hostile.jsonl"


@dataclass(frozen=True)
class Attack:
    """One response that no grader may accept.

    Args:
        id: Unique, and stable: the class and a number.
        kind: The class of the attack.
        response: Text, or pieces of it; [text, n] stands for n copies, # for the copy's number.
        reference: Right answer, which the response does not give.
        options: Texts of a multiple choice.
    """

    id: str
    kind: str
    response: str | list[str | list]
    reference: str
    options: tuple[str, ...]

    def job(self, canary: Path) -> tuple[str, str, tuple[str, ...]]:
        """Arguments of a grader; code in the response that runs would create `canary`."""
        pieces = [self.response] if isinstance(self.response, str) else self.response
        texts = ["".join(map(_copies, pieces)), self.reference, *self.options]
        response, reference, *options = (text.replace("{canary}", str(canary)) for text in texts)
        return response, reference, tuple(options)


def attacks() -> Iterator[Attack]:
    """Every attack of the file, in its order."""
    for line in PATH.read_text().splitlines():
        row = json.loads(line)
        options = tuple(row.get("options", ()))
        yield Attack(row["id"], row["class"], row["response"], row["reference"], options)


def _copies(piece: str | list) -> str:
    if isinstance(piece, str):
        return piece
    text, count = piece
    if "#" in text:
        return "".join(text.replace("#", str(number)) for number in range(count))
    return text * count


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
        for attack in attacks():
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
