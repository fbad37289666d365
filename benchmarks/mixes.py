"""The answers that the benchmark of grading grades: honest ones, groups of a rollout, hostile ones.

A mix is a JSON file, a list of [reference, response, whether it is right], whose responses end in
`</think><answer> ... </answer>`. Every draw has a fixed seed.
"""

import json
import random
from dataclasses import dataclass
from pathlib import Path

GROUP = 8
COSTLY = (
    "literal", "tower", "factorial", "binomial", "calculus", "matrix", "power-of-sum", "nesting",
    "regex", "length", "members",
)  # fmt: skip
"""The kinds of hostile responses that are meant to cost time or memory, not to be paid."""


@dataclass(frozen=True)
class Item:
    """A response to grade; `right` is what the mix says of it, None for a hostile one."""

    response: str
    reference: str
    right: bool | None


def honest(path: str, num_answers: int) -> list[Item]:
    """The mix as it is, in a fixed random order, without two equal pairs.

    When more are wanted than there are, responses meet references of other problems.
    """
    items = [Item(response, reference, right) for reference, response, right in _rows(path)]
    draw = random.Random(0)
    draw.shuffle(items)
    seen = {(_answer(item.response), item.reference): item for item in items}
    items = list(seen.values())
    while len(items) < num_answers:
        one, other = draw.sample(list(seen.values()), 2)
        items.append(Item(one.response, other.reference, None))
    return items[:num_answers]


def groups(path: str, num_answers: int, diverse: bool = False) -> list[Item]:
    """Groups of eight responses to one problem, as a rollout brings them.

    Most problems are nearly always solved or nearly never, and one wrong answer prevails, so that
    four answers of five were given before; in groups of a real model five of six were. Every
    response has a reasoning of its own.

    Args:
        path: The mix, of which the answers are.
        num_answers: Responses in all.
        diverse: Instead, half of each group is right in whichever form the mix has, and three
            wrong answers share the rest.
    """
    rows = _rows(path)
    draw = random.Random(1)
    right: dict[str, list[str]] = {}
    for reference, response, is_right in rows:
        if is_right:
            right.setdefault(reference, []).append(_answer(response))
    answers = [_answer(response) for _, response, _ in rows]
    reasonings = [response.rpartition("</think>")[0] for _, response, _ in rows]
    references = sorted(right)
    draw.shuffle(references)
    items = []
    for number in range(num_answers // GROUP):
        reference = references[number % len(references)]
        forms, wrong = right[reference], draw.sample(answers, 3)
        given = _diverse(draw, forms, wrong) if diverse else _alike(draw, forms, wrong)
        for answer, is_right in given:
            # A wrong answer out of another problem may be right by chance.
            response = f"{draw.choice(reasonings)}</think>{answer}"
            items.append(Item(response, reference, True if is_right else None))
    return items


def _alike(draw: random.Random, forms: list[str], wrong: list[str]) -> list[tuple[str, bool]]:
    rate = draw.betavariate(0.15, 0.15)
    return [
        (forms[0], True)
        if draw.random() < rate
        else (draw.choice([*wrong[:1] * 18, *wrong]), False)
        for _ in range(GROUP)
    ]


def _diverse(draw: random.Random, forms: list[str], wrong: list[str]) -> list[tuple[str, bool]]:
    return [
        (draw.choice(forms), True)
        if draw.random() < 0.5
        else (draw.choice([wrong[0], *wrong]), False)
        for _ in range(GROUP)
    ]


def hostile(path: str) -> list[Item]:
    """The hostile responses that are meant to cost time, in a fixed random order."""
    rows = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    items = [
        Item(_expanded(row["response"]), row["reference"], None)
        for row in rows
        if row["kind"] in COSTLY
    ]
    random.Random(2).shuffle(items)
    return items


def with_hostile(items: list[Item], enemies: list[Item]) -> list[Item]:
    """The items with every twentieth replaced by the next hostile response."""
    return [enemies[i // 20 % len(enemies)] if i % 20 == 19 else x for i, x in enumerate(items)]


def repeated(items: list[Item]) -> float:
    """The share of the items whose answer and reference were seen before."""
    return 1 - len({(_answer(item.response), item.reference) for item in items}) / len(items)


def _rows(path: str) -> list[tuple[str, str, bool]]:
    return [tuple(row) for row in json.loads(Path(path).read_text(encoding="utf-8"))]


def _answer(response: str) -> str:
    return response.rpartition("</think>")[2]


def _expanded(parts: str | list[str | list]) -> str:
    """A response whose long repetitions are written as [text, how often]."""
    if isinstance(parts, str):
        return parts
    return "".join(part if isinstance(part, str) else part[0] * part[1] for part in parts)
