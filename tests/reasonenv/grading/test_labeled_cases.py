"""Agreement with human labels, and of references with themselves and each other."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from helpers.verdicts import boxed

from reasonenv.grading import grade_by_rules
from reasonenv.workers import Grader

FLOORS = {"peer": 0.98, "handmade": 1.0, "probe": 0.95, "attack": 1.0}
# Right answers that a sentence of docs/grading.md refuses: the id and that sentence's reason.
LEFT_OUT = {
    row["id"]: row["reason"]
    for row in map(
        json.loads,
        Path(__file__).with_name("labels_left_out.jsonl").read_text(encoding="utf-8").splitlines(),
    )
}


@pytest.fixture(scope="module")
def grader():
    with Grader(num_workers=2, timeout=1) as grader:
        yield grader


def labelled(shared) -> list[dict]:
    """The undisputed cases, each once."""
    names = ("cases_open.jsonl", "handmade_open.jsonl")
    texts = [(shared / "verifier" / name).read_text(encoding="utf-8") for name in names]
    lines = [line for text in texts for line in text.splitlines()]
    cases = {case["id"]: case for case in map(json.loads, lines)}
    return [case for case in cases.values() if not case["disputed"]]


def test_verdicts_agree_with_human_labels(shared, grader, record_property):
    cases = [case for case in labelled(shared) if case["id"] not in LEFT_OUT]
    responses = [case["tagged"] or case["response"] for case in cases]
    grades = grader.grade(responses, [case["gold"] for case in cases])
    wrong: list[str] = []
    total, missed = Counter[str](), Counter[str]()
    false_positives = 0
    for case, given_grade in zip(cases, grades, strict=True):
        suite = case["source"] if case["source"] in FLOORS else "peer"
        total[suite] += 1
        if given_grade.correct != bool(case["expected"]):
            missed[suite] += 1
            false_positives += given_grade.correct
            wrong.append(f"{suite} {case['id']}: {given_grade} for {case['gold']!r}")
    agreement = {suite: 1 - missed[suite] / total[suite] for suite in FLOORS}
    record_property("agreement", agreement)
    story = "\n".join([f"{agreement}, {false_positives} false positives", *wrong])
    assert total["peer"] > 300, story
    assert all(agreement[suite] >= floor for suite, floor in FLOORS.items()), story
    assert false_positives <= 1, story


def test_the_cases_left_out_are_right_answers_that_are_refused(shared, grader):
    cases = [case for case in labelled(shared) if case["id"] in LEFT_OUT]
    responses = [case["tagged"] or case["response"] for case in cases]
    grades = grader.grade(responses, [case["gold"] for case in cases])
    assert len(cases) == len(LEFT_OUT)
    assert all(case["expected"] for case in cases)
    assert not [case["id"] for case, grade in zip(cases, grades, strict=True) if grade.correct]


# Cut out of a longer text: no box can hold it, and what a box of it holds is 36.
BROKEN = {"36}"}


@pytest.fixture(scope="module")
def references(shared) -> dict[str, list[str]]:
    text = (shared / "verifier" / "gold_answers.json").read_text(encoding="utf-8")
    return json.loads(text)


def test_every_reference_is_correct_against_itself(references, grader):
    golds = [gold for suite in references.values() for gold in suite if gold not in BROKEN]
    grades = grader.grade(list(map(boxed, golds)), golds)
    wrong = [(gold, grade) for gold, grade in zip(golds, grades, strict=True) if not grade.correct]
    assert not wrong, "\n".join(f"{gold!r}: {grade}" for gold, grade in wrong)
    assert len(golds) > 7000


def with_another_digit(text: str, rng: random.Random) -> str | None:
    """The text with one of its digits changed; None where there is none."""
    places = [place for place, sign in enumerate(text) if sign in "0123456789"]
    if not places:
        return None
    place = rng.choice(places)
    digit = (int(text[place]) + rng.randint(1, 9)) % 10
    return f"{text[:place]}{digit}{text[place + 1 :]}"


@pytest.mark.parametrize(
    "step", [pytest.param(1, marks=pytest.mark.slow(reason="10 s: each of 7,000 references")), 6]
)
def test_a_reference_with_another_digit_is_wrong(references, step):
    rng = random.Random(0)
    golds = [gold for suite in references.values() for gold in suite][::step]
    changed = [(with_another_digit(gold, rng), gold) for gold in golds]
    pairs = [(answer, gold) for answer, gold in changed if answer is not None]
    accepted = [pair for pair in pairs if (grade_by_rules(*pair)[0] or (False,))[0]]
    # A few are equal all the same, such as 16^0 and 10^0.
    assert len(accepted) <= 0.002 * len(pairs), "\n".join(map(str, accepted))
    assert len(pairs) > 6000 / step


@pytest.mark.parametrize(
    "count",
    [pytest.param(4000, marks=pytest.mark.slow(reason="5 s: math-verify for each fiftieth")), 400],
)
def test_another_reference_is_wrong(references, grader, count):
    rng = random.Random(0)
    pairs: list[tuple[str, str]] = []
    for suite in references.values():
        shuffled = rng.sample(suite, len(suite))
        pairs += [(a, b) for a, b in zip(shuffled, suite, strict=True) if a != b]
    # Half of them: one in fifty needs a worker and takes as long as hundreds of others.
    pairs = rng.sample(pairs, count)
    grades = grader.grade([boxed(answer) for answer, _ in pairs], [gold for _, gold in pairs])
    accepted = [pair for pair, grade in zip(pairs, grades, strict=True) if grade.correct]
    assert len(accepted) <= 0.002 * len(pairs), "\n".join(map(str, accepted))
    print(f"{len(accepted)} of {len(pairs)} accepted: {accepted}")
