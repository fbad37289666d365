"""The corpus of attacks: wrong answers that a grader may pay for, and right ones as controls.

Each line of the three files of this folder is an object:

    id         unique and stable
    kind       one of `KINDS`
    reference  the right answer
    response   text of a model; of `hostile.jsonl` also a list of texts and of [text, n], which is
               n copies, with # for the copy's number
    options    texts of a multiple choice, absent where there is none
    expected   "wrong" or "right"

`hostile.jsonl` are responses that cost time or memory, run code, list candidates or deceive an
equality; `wrong.jsonl` are wrong answers that look like the right one, in English and in Chinese;
`right.jsonl` are right answers in the same wrappers: a grader that refuses everything fails these.
"""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reasonenv.errors import UsageError

FILES = ("hostile.jsonl", "wrong.jsonl", "right.jsonl")

KINDS = {
    "absolute": "tiny numbers, equal only to an absolute tolerance",
    "binomial": "binomial coefficients too large to evaluate",
    "calculus": "integrals, sums and limits that take long",
    "choice": "several letters, or every option",
    "claim": "several claims, of which one is right, or the right number in a reason",
    "correction": "right answers that are taken back",
    "dropped": "text that a parser drops before it compares the rest",
    "equation": "equations that share a side with the reference",
    "extraction": "right answers where no answer stands: in the reasoning, in another section",
    "factorial": "factorials too large to evaluate",
    "injection": "code that runs if a response is evaluated",
    "length": "texts of up to megabytes",
    "listing": "lists of candidates",
    "literal": "numbers with an exponent of millions",
    "matrix": "matrices whose determinant or eigenvalues take long",
    "members": "sets and lists of thousands of members",
    "name": "names in capitals and words, which are no products: SSA for SAS",
    "near": "numbers that differ in one place",
    "nesting": "brackets nested thousands deep",
    "number": "numbers and expressions in every wrapper",
    "options": "texts that equal no option",
    "order": "points, intervals and matrices in another order",
    "power-of-sum": "powers of sums that expand to millions of terms",
    "range": "ranges and scores, which are no differences: 3-2 for 2-1",
    "regex": "texts on which regular expressions backtrack",
    "sense": "percent for a number, or for and, another order of a vector product",
    "suffix": "words after a number that change its value: 4 dozen, 4的平方",
    "text": r"the same within \text: 4 \text{ or 5}",
    "time": "times of day, which are no ratios: 6:00 for 5:00",
    "tower": "towers of powers",
    "unicode": "look-alikes, control characters and half surrogates",
    "unit": "another unit or quantity",
    "universal": "identities and wildcards that equal anything",
    "words": "the right answer with words that deny it",
    "zero": "equations that hold for other values too: 0 = 0, (x-4)(x-5) = 0",
}
"""Kinds of rows and their meaning; a control has the kind of the attacks that it accompanies."""


@dataclass(frozen=True)
class Attack:
    """A row of the corpus.

    Args:
        id: Unique and stable: the kind and a number.
        kind: A key of `KINDS`.
        reference: The right answer.
        response: Text, or its pieces, as in the files.
        options: Texts of a multiple choice.
        is_right: True for a control, whose answer is right.
    """

    id: str
    kind: str
    reference: str
    response: str | list[str | list[Any]]
    options: tuple[str, ...] = ()
    is_right: bool = False

    def job(self, canary: Path) -> tuple[str, str, tuple[str, ...]]:
        """Arguments of a grader; code in the response that runs would create `canary`."""
        pieces = [self.response] if isinstance(self.response, str) else self.response
        texts = ["".join(map(_copies, pieces)), self.reference, *self.options]
        response, reference, *options = (text.replace("{canary}", str(canary)) for text in texts)
        return response, reference, tuple(options)


def corpus(kinds: Collection[str] = (), files: Collection[str] = FILES) -> Iterator[Attack]:
    """The rows of the files one by one, of some kinds or of all.

    Raises:
        UsageError: There is no such kind.
    """
    if unknown := sorted(set(kinds) - KINDS.keys()):
        raise UsageError(f"no kind {unknown[0]!r} of attacks: give some of {', '.join(KINDS)}")
    return (row for file in files for row in _rows(file) if not kinds or row.kind in kinds)


def _rows(file: str) -> Iterator[Attack]:
    with Path(__file__).with_name(file).open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            options, is_right = tuple(row.pop("options", ())), row.pop("expected") == "right"
            yield Attack(**row, options=options, is_right=is_right)


def _copies(piece: str | list[Any]) -> str:
    if isinstance(piece, str):
        return piece
    text, count = piece
    if "#" in text:
        return "".join(text.replace("#", str(number)) for number in range(count))
    return text * count
