"""Loads hostile.jsonl: responses that must earn nothing; run as a script, grades them all."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reasonenv.workers import Grader

PATH = Path(__file__).parents[1] / "hostile.jsonl"


@dataclass(frozen=True)
class Attack:
    """One response that no grader may pay for.

    Args:
        id: Unique, and stable: the class and a number.
        kind: The class of the attack.
        response: Text, or pieces of it; [text, n] stands for n copies, # for the copy's number.
        reference: What the response does not answer.
        options: Texts of a multiple choice.
    """

    id: str
    kind: str
    response: str | list[str | list]
    reference: str
    options: tuple[str, ...]

    def job(self, canary: Path) -> tuple[str, str, tuple[str, ...]]:
        """What a grader is given; code that runs would create `canary`."""
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
    """The most memory that this process ever held, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


def main(canary: Path) -> None:
    """Grades every attack and prints what that came to, as one line of JSON."""
    # For whoever watches what is compiled: proof that the watch sees it.
    watched = eval("'watch' + 'ed'")
    paid, raised = [], []
    with Grader(num_workers=2, timeout=1) as grader:
        grader.grade([r"\boxed{x+1}"], ["1+x"])
        before = _peak_mib()
        for attack in attacks():
            response, reference, options = attack.job(canary)
            try:
                if grader.grade([response], [reference], [options])[0].correct:
                    paid.append(attack.id)
            # Reported below, so that one of them does not hide what the others do.
            except Exception as error:
                raised.append(f"{attack.id}: {error!r}")
    grown = _peak_mib() - before
    report = {"watched": watched, "paid": paid, "raised": raised, "grown_mib": grown}
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
