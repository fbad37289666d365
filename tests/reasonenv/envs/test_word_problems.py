import random
import re
import zlib
from collections import defaultdict
from dataclasses import replace
from functools import cache, partial
from math import prod

import pytest

import reasonenv
from reasonenv.envs.word_problems import FAMILIES, SPLITS, problems
from reasonenv.envs.word_problems.__main__ import main
from reasonenv.envs.word_problems.family import Step, draw_operands, is_heldout
from reasonenv.envs.word_problems.scene import BOXES, GOODS, MEN, THINGS, WOMEN, plural
from reasonenv.grading import grade
from reasonenv.rewards import accuracy, maximum, total
from reasonenv.testing import check_env

LEVELS = (1, 2, 3, 4)
PARTS = [(split, level) for split in SPLITS for level in LEVELS]


def word(nouns):
    return "(?:" + "|".join(sorted(nouns, key=len, reverse=True)) + r")\b"


BOX = "(?:" + "|".join(map(plural, BOXES)) + ")"


@cache
def drawn(split, level):
    return problems(split, level)[:300]


# Numbers of groups and of things in each.
GROUPS = (
    rf"(\d+) (?:full )?{BOX} (?:of|with) (\d+)|(\d+) rows of (\d+)|Each of (\d+) children has (\d+)"
)


def read(question, *patterns):
    """The numbers of a question: those where patterns match, then the others, largest first."""
    numbers, others = [], [int(text) for text in re.findall(r"\d+", question)]
    for pattern in patterns:
        match, *more = re.finditer(pattern, question)
        assert pattern is GROUPS or not more, question
        numbers += [int(text) for text in match.groups() if text]
    for value in numbers:
        others.remove(value)
    return *numbers, *sorted(others, reverse=True)


def exact_quotient(a, b):
    assert a % b == 0
    return a // b


def read_two_goods(question):
    lines = re.findall(r"(\d+) ([a-z ]+?)(?: at| for|,) (\d+) dollars each", question)
    prices = dict(re.findall(rf"[Aa]n? ({word(GOODS)}) (?:costs )?(\d+) dollars", question))
    counts = {name: re.search(rf"(\d+) {plural(name)}\b", question)[1] for name in prices}
    lines += [(counts[name], name, price) for name, price in prices.items()]
    (first, _, first_price), (second, _, second_price) = lines
    spent = int(first) * int(first_price) + int(second) * int(second_price)
    return read(question)[0] - spent


# Of each family the patterns of its question, and the answer from the numbers in their order.
READERS = {
    **dict.fromkeys(("sum", "gain", "together"), ((), lambda *all: sum(all))),
    **dict.fromkeys(
        ("difference", "missing", "loss", "compare", "before"), ((), lambda a, b: a - b)
    ),
    **dict.fromkeys(("product", "groups", "price", "days"), ((), lambda a, b: a * b)),
    **dict.fromkeys(("quotient", "share", "pack"), ((), exact_quotient)),
    **dict.fromkeys(("change", "goal"), ((), lambda whole, *rest: whole - prod(rest))),
    "product_sum": (
        (r"\+ (\d+)|[Aa]dd (\d+)|is (\d+) more|sum of (\d+) and the",),
        lambda addend, a, b: addend + a * b,
    ),
    "sum_product": (
        (r"\* (\d+)|by (\d+)|is (\d+) times|product of (\d+) and the",),
        lambda factor, a, b: factor * (a + b),
    ),
    "gain_loss": ((r"(?:gives|takes|loses|sold) (\d+)",), lambda loss, *rest: sum(rest) - loss),
    "loose": ((GROUPS,), lambda a, b, *rest: a * b + sum(rest)),
    "more_than": ((r"(\d+)(?: \w+)? (?:more|fewer)",), lambda more, base: 2 * base + more),
    "times_as_many": ((r"(\d+) times|owns (\d+)\.",), lambda times, base: base + times * base),
    "share_rest": (
        (rf"among (\d+)|(\d+) (?:{BOX}|children|equal rows)",),
        lambda divisor, whole, part: exact_quotient(whole - part, divisor),
    ),
    "two_sales": ((GROUPS,), lambda a, b, *rest: a * b - sum(rest)),
    "team_goal": ((r"(\d+) days",), lambda days, goal, *rest: goal - days * sum(rest)),
    "repack": (
        (rf"(?:new {BOX} of|sets of|child gets|groups of) (\d+)", GROUPS),
        lambda divisor, a, b, single: exact_quotient(a * b + single, divisor),
    ),
    "working_back": (
        (r"(?:sold|gave|selling|losing) (\d+)", GROUPS),
        lambda loss, a, b, now: now - a * b + loss,
    ),
    "three_people": (
        (r"(\d+) times", r"(\d+) fewer"),
        lambda times, fewer, base: base + 2 * base * times - fewer,
    ),
}


def answer_of(family, question):
    """The answer by the words and numbers of the question alone."""
    if family == "two_goods":
        return read_two_goods(question)
    patterns, formula = READERS[family]
    return formula(*read(question, *patterns))


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_the_answer_is_that_of_a_reader_of_the_question_in_each_phrasing(family):
    seen = set()
    for split in ("train", "heldout_phrasings"):
        for problem in problems(split, family.levels[-1], families=[family.name])[:120]:
            seen.add(problem.metadata["phrasing"])
            assert int(problem.answer) == answer_of(family.name, problem.question)
            assert int(problem.answer) > 0
    texts = (*family.phrasings, *family.heldout_phrasings)
    assert seen == {*range(len({*texts}))}
    others = [f for f in FAMILIES.values() if f is not family]
    assert not {text for f in others for text in (*f.phrasings, *f.heldout_phrasings)} & {*texts}
    assert len(family.phrasings) >= 3
    assert len(family.heldout_phrasings) >= 2


@pytest.mark.parametrize("level", LEVELS)
def test_no_question_occurs_in_two_splits(level):
    questions = {split: {p.question for p in drawn(split, level)} for split in SPLITS}
    questions["train"] |= {problem.question for problem in problems(level=level)[300:1500]}
    assert sum(map(len, questions.values())) == len(set.union(*questions.values()))


def facts(problem):
    steps = re.findall(r"(\d+) ([-+*/]) (\d+) = (\d+)", problem.solution)
    for a, sign, b, result in steps:
        whole, *parts = (result, a, b) if sign in "+*" else (a, b, result)
        assert int(whole) == (sum(map(int, parts)) if sign in "+-" else prod(map(int, parts)))
        yield sign in "+-", frozenset(map(int, parts))


def test_each_step_of_heldout_rests_on_a_fact_that_no_other_split_of_any_level_computes():
    known = defaultdict(set)
    for split, level in PARTS:
        known[split] |= {fact for problem in drawn(split, level) for fact in facts(problem)}
    assert not known["heldout"] & (known["train"] | known["test"] | known["heldout_phrasings"])
    assert known["train"] & known["test"] & known["heldout_phrasings"]


def test_at_level_1_nine_sums_and_seven_products_are_held_out():
    known = defaultdict(set)
    for split in SPLITS:
        for problem in problems(split)[:1200]:
            known[split] |= {*facts(problem)}
    assert sum(is_sum for is_sum, _ in known["heldout"]) == 9
    assert sum(not is_sum for is_sum, _ in known["heldout"]) == 7
    assert len(known["train"]) == len(known["heldout_phrasings"]) == 27 + 29
    for is_sum in (True, False):
        digits = set().union(*(parts for kind, parts in known["train"] if kind == is_sum))
        assert digits == {*range(2, 10)}


def test_a_fact_has_no_order_and_no_direction():
    sums = Step(7, "+", 8), Step(8, "+", 7), Step(15, "-", 7), Step(15, "-", 8)
    products = Step(6, "*", 7), Step(7, "*", 6), Step(42, "/", 6), Step(42, "/", 7)
    assert {step.fact for step in sums} == {("+", 7, 8)}
    assert {step.fact for step in products} == {("*", 6, 7)}
    assert [step.value for step in (*sums, *products)] == [15, 15, 8, 7, 42, 42, 7, 6]


def test_a_family_without_operands_of_a_split_is_an_error():
    family = FAMILIES["sum"]
    fact = next((a, b) for a in range(2, 9) for b in range(a, 9) if not is_heldout(("+", a, b)))
    single = replace(family, name="single", sample=lambda *_: fact)
    with pytest.raises(ValueError, match="family 'single' has too few operands for a split 'held"):
        draw_operands(single, "heldout", 1, random.Random(0))


ADJECTIVES = "(?:(?:more|fewer|large|small|single|new|full) )?"
SINGULAR, PLURAL = [*THINGS, *BOXES, *GOODS], [*map(plural, (*THINGS, *BOXES, *GOODS))]
SLIPS = {
    "a number of one": r"\b[01]\b",
    "a singular after a number": rf"\d {ADJECTIVES}{word(SINGULAR)}",
    "a singular that is many": rf"(?:many|more|fewer|of|the two|both) {word(SINGULAR)}",
    "a plural after one": rf"\b(?:an?|one|each|another|every) {word(PLURAL)}",
    "an article before the wrong sound": r"\b[Aa] [aeiou]|\b[Aa]n [^aeiou]",
    "a lower-case start": r"^[a-z]|[.?] [a-z]",
    "white space": r"  |^ | $|\n| [.,?](?! \+)",
    "a field": r"[{}]",
    "a negative number": r"-\d|\d\.\d",
}


@pytest.mark.parametrize(("split", "level"), PARTS)
def test_questions_are_grammatical_and_held_out_phrasings_are_in_their_split_alone(split, level):
    for problem in drawn(split, level):
        count = len(FAMILIES[problem.metadata["family"]].phrasings)
        assert (problem.metadata["phrasing"] >= count) == (split == "heldout_phrasings")
        question = problem.question
        assert question[-1] in ".?", question
        for slip, pattern in SLIPS.items():
            text = question.replace("? +", "_ +").replace("+ ?", "+ _").replace("= ?", "= _?")
            assert not re.search(pattern, text), (slip, question)


@pytest.mark.parametrize("level", LEVELS)
def test_pronouns_go_with_a_name_of_the_question_and_names_differ(level):
    for problem in drawn("train", level):
        words = re.findall(r"\b[A-Z][a-z]+", problem.question)
        people = {name for name in words if name in (*WOMEN, *MEN)}
        if re.search(r"\b(?:she|her|hers)\b", problem.question, re.I):
            assert people & {*WOMEN}, problem.question
        if re.search(r"\b(?:he|his|him)\b", problem.question, re.I):
            assert people & {*MEN}, problem.question
        assert not re.search(r"\b([A-Z]\w+) (?:and|gives|to) \1\b", problem.question)


@pytest.mark.parametrize(("split", "level"), PARTS)
def test_the_solution_earns_the_maximum_and_its_neighbours_nothing(split, level):
    for problem in drawn(split, level)[:30]:
        verdict = grade(problem.solution, problem.answer)
        rewards = {"accuracy": (1.0, accuracy)}
        assert total(rewards, problem.solution, problem, verdict)[0] == maximum(rewards)
        for distance in (-1, 1, 10):
            assert not grade(problem.solution, str(int(problem.answer) + distance)).correct


@pytest.mark.parametrize("level", LEVELS)
def test_a_solution_has_its_steps_in_words_and_then_the_answer(level):
    for problem in drawn("train", level)[:200]:
        steps = FAMILIES[problem.metadata["family"]].steps(problem.metadata["operands"])
        assert re.findall(r"\d[^.]* = \d+(?=\.)", problem.solution) == [*map(str, steps)]
        assert problem.solution.endswith(f" = {problem.answer}. The answer is {problem.answer}.")
        assert len(steps) == (1 if level <= 2 else 2) or (level == 4 and 3 <= len(steps) <= 4)


@pytest.mark.parametrize("split", SPLITS)
def test_the_environment_keeps_the_contract(split):
    check_env(partial(reasonenv.make, "WordProblems-v0", split=split, num_workers=1))


CHECKSUMS = (1782475275, 1947566393, 3665277010, 3082073154)


@pytest.mark.parametrize("level", LEVELS)
def test_a_version_means_these_problems(level):
    words = [
        (problem.question, problem.answer)
        for split in SPLITS
        for problem in drawn(split, level)[:100]
    ]
    checksum = zlib.crc32(repr(words).encode())
    assert checksum == CHECKSUMS[level - 1], "other problems need another version"


def test_the_command_prints_problems_with_their_solutions(capsys):
    assert main(["--level", "3", "--num-problems", "3", "--families", "goal"]) == 0
    lines = capsys.readouterr().out.splitlines()
    expected = problems(level=3, families=["goal"])[:3]
    assert lines[::2] == [f"goal: {problem.question}" for problem in expected]
    assert [line.strip() for line in lines[1::2]] == [problem.solution for problem in expected]
    assert main(["--level", "5"]) == 2
    assert capsys.readouterr().err.startswith("error: level 5 of WordProblems-v0 is unknown")
