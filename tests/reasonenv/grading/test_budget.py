"""Operations of a grading: counted, equal in every run, limited in the caller's process."""

import math
import sys
import threading

import pytest
from helpers.constructs import clear_caches

from reasonenv import grading
from reasonenv.grading import OverBudget, grade, grade_by_rules
from reasonenv.grading.budget import MAX_OPERATIONS, budgeted, counted_cache, spend
from reasonenv.grading.parsing.grammar import read
from reasonenv.grading.parsing.nodes import Node, children
from reasonenv.grading.parsing.tokens import MAX_DEPTH
from reasonenv.workers import Grader


def permuted(count: int) -> tuple[str, str]:
    """Two equal lists; every pair of elements may have to be compared to find out."""
    first, second = r"\sin x+\ln y+#", r"#+\ln y+\sin x"
    numbers = list(map(str, range(count)))
    return (
        ",".join(first.replace("#", number) for number in numbers),
        ",".join(second.replace("#", number) for number in reversed(numbers)),
    )


OVER, LONG = permuted(40), permuted(8)


def cost(answer: str, reference: str) -> int:
    """Operations of one grading without a limit."""
    with budgeted(math.inf) as budget:
        grading._unbudgeted(answer, reference, (), None)
    return budget.spent


def depth(node: Node) -> int:
    return 1 + max(map(depth, children(node)), default=0)


@pytest.mark.parametrize(
    "answer",
    [
        "5{}",
        "x{}",
        r"\sqrt{{5{}}}",
        r"\frac{{1}}{{5{}}}",
        r"\sqrt[3]{{\frac{{5{}}}{{2}}}}",
        r"\sin(5{})",
        r"\log_{{2}}(5{})",
        "(5+x){}",
        "2^{{5{}}}",
        "|5{}|",
        "(5{}, 1)",
        r"\binom{{5{}}}{{2}}",
        r"\begin{{pmatrix}}5{}\\1\end{{pmatrix}}",
    ],
)
def test_each_prime_costs_as_much_as_the_one_before(answer):
    costs = [cost(answer.format("'" * number), "7") for number in (4, 8, 12)]
    assert costs[2] < 3 * costs[0]
    assert cost(answer.format("'" * 50), "7") < 10_000


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("f(", ")"), ("g(1,", ")"), ("(", ")'"), (r"(x \bmod ", ")"), (r"\lfloor ", r"'\rfloor ")],
)
def test_each_level_of_an_unknown_function_costs_as_much_as_the_one_before(opening, closing):
    costs = [cost(opening * number + "x" + closing * number, "7") for number in (3, 6, 9)]
    assert costs[2] < 4 * costs[0]


@pytest.mark.parametrize(
    "text",
    [
        "5{}", "0{}1", "x{}", r"100{}", "5 {}", "5 {} cm", "x{}y",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "sign", ["'", "!", "^2", "%^2", "^{\\prime}", r"\bmod 7", "million ", "万", "^{\\circ}", "'!"]
)
def test_signs_after_an_atom_make_no_deep_tree(text, sign):
    node = read(text.format(sign * 190)[:1000]).node
    assert node is None or depth(node) <= 4 * MAX_DEPTH
    few = read(text.format(sign * 3).replace("million  cm", "million cm")).node
    assert few is None or depth(few) < 12


@pytest.mark.parametrize(
    "unit", ["eV^99 ", r"\text{lb}^{99}", r"\cdot eV^99", " per eV^99", "/oz^99"]
)
def test_a_unit_of_many_digits_is_not_computed(unit):
    assert read("5 kg " + unit * 40, units=True).node is None
    assert grade(rf"\boxed{{5 kg {unit * 40}}}", "5 kg").correct is False


def test_over_the_budget_is_unparseable():
    answer, reference = OVER
    assert grade(rf"\boxed{{{answer}}}", reference) == grading.Grade(False, answer, "unparseable")
    with pytest.raises(OverBudget):
        grade_by_rules(answer, reference)


@pytest.mark.parametrize(("timeout", "status"), [(0.005, "timeout"), (20, "ok")])
def test_a_pair_over_the_budget_goes_to_a_worker_with_a_deadline(timeout, status):
    answer, reference = OVER
    with Grader(num_workers=1, timeout=timeout) as grader:
        (result,) = grader.grade([rf"\boxed{{{answer}}}"], [reference])
    assert (result.status, result.correct) == (status, status == "ok")


@pytest.mark.parametrize("relation", ["<", ">", r"\le ", r"\ne "])
def test_each_bar_costs_as_much_as_the_one_before(relation):
    costs = [cost("|" * n + "x" + "|" * n + relation + "5", "x<5") for n in (3, 6, 9)]
    assert costs[2] < 4 * costs[0]
    assert grade(rf"\boxed{{|||x|||{relation}5}}", f"|x|{relation}5").correct


def test_two_sets_may_be_removed_from_one():
    assert grade(
        r"\boxed{\mathbb{R}\setminus\{1\}\setminus\{2\}}", r"\mathbb{R}\setminus\{1,2\}"
    ).correct
    assert not grade(
        r"\boxed{\mathbb{R}\setminus\{1\}\setminus\{3\}}", r"\mathbb{R}\setminus\{1,2\}"
    ).correct
    assert not grade(r"\boxed{x\setminus x\setminus x}", "7").correct


def test_a_worker_grades_a_pair_over_the_budget_as_the_caller_would(monkeypatch):
    responses = [r"\boxed{2 \sqrt{3}}", r"\boxed{\sqrt{3}}", "B", r"\boxed{\sqrt{12} cm}", ""]
    references = [r"\sqrt{12}", r"\sqrt{12}", "A", "A", "A"]
    options = [(), (), ("1", "2"), (r"2\sqrt{3}", "2"), ()]
    expected = [grade(*case) for case in zip(responses, references, options, strict=True)]
    assert [g.correct for g in expected] == [True, False, False, True, False]
    monkeypatch.setattr(grading, "MAX_OPERATIONS", 1)
    with Grader(num_workers=1) as grader:
        assert grader.grade(responses, references, options) == expected


def test_no_budget_is_left_after_a_grading():
    for pair in (OVER, ("1", "2"), OVER):
        grade(rf"\boxed{{{pair[0]}}}", pair[1])
    spend(MAX_OPERATIONS + 1)
    with budgeted(10), pytest.raises(OverBudget):
        spend(11)
    spend(MAX_OPERATIONS + 1)


def test_a_budget_is_of_one_thread():
    spent = []

    def work():
        with budgeted(math.inf) as budget:
            spend(3)
        spend(MAX_OPERATIONS)
        spent.append(budget.spent)

    with budgeted(5) as budget:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert spent == [3] * 4
    assert budget.spent == 0


@pytest.mark.parametrize(
    "pair", [LONG, ("5'''", "x"), (r"\frac{1}{3}", "0.333333"), ("|||x|||<5", "x<5")]
)
def test_the_cost_of_a_pair_depends_on_no_earlier_one(pair):
    clear_caches()
    first = cost(*pair)
    assert [cost(*pair), cost(*pair)] == [first, first]
    clear_caches()
    cost(pair[1], pair[0])
    assert cost(*pair) == first


def test_a_cached_result_costs_what_its_computation_did():
    calls = []

    @counted_cache(maxsize=4)
    def square(number: int) -> int:
        calls.append(number)
        spend(7)
        return number * number

    @counted_cache(maxsize=4)
    def twice(number: int) -> int:
        spend(1)
        return square(number) + square(number)

    with budgeted(math.inf) as budget:
        assert [twice(3), twice(3), square(3)] == [18, 18, 9]
    assert (calls, budget.spent) == ([3], 15 + 15 + 7)
    with budgeted(14), pytest.raises(OverBudget):
        twice(3)
    with budgeted(14), pytest.raises(OverBudget):
        twice(4)
    assert twice(4) == 32


def test_long_honest_answers_stay_within_a_tenth_of_the_budget():
    matrix = r"\begin{%s}1&2&3\\4&5&6\\7&8&9\end{%s}"
    family = r"x=\frac{\pi}{6}+2%s\pi \text{ or } x=\frac{5\pi}{6}+2%s\pi, %s\in\mathbb{Z}"
    pairs = [
        (r"x^{10}+" + "+".join(f"{k}x^{k}" for k in range(2, 10)), "10"),
        (r"\sqrt{2}+\sqrt{3}-\frac{1}{\sqrt{7}}", r"\sqrt{3}+\sqrt{2}-\frac{\sqrt{7}}{7}"),
        (",".join(map(str, range(1, 20))), ",".join(map(str, range(19, 0, -1)))),
        (r"(-\infty,-2)\cup(-1,0)\cup[3,\infty)", r"x<-2 \text{ or } -1<x<0 \text{ or } x\ge 3"),
        (matrix % ("pmatrix", "pmatrix"), matrix % ("bmatrix", "bmatrix")),
        (family % ("k", "k", "k"), family % ("n", "n", "n")),
    ]
    assert max(cost(*pair) for pair in pairs) < MAX_OPERATIONS / 10


def test_the_deepest_tree_leaves_room_in_the_stack():
    used = len(list(sys._current_frames()))
    answer = "(" * 11 + "x" + ")'^2+1" * 11
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(600 + used)
        grade_by_rules(answer, answer + "+x")
    finally:
        sys.setrecursionlimit(limit)
