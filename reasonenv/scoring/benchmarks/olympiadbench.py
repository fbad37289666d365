r"""OlympiadBench: the rules of its automatic judge.

The last "So the final answer is ..." of a response counts, else all of it; there the contents of
all boxes, else the formulas of its last line. Items are split at commas and paired in any order,
each within its own precision: column `error`, else 1e-8. Units stand outside of the box and are
ignored.

An item is equal to another as a text, an interval, a number, an expression or an equation,
whichever comes first.

Sources: OpenBMB/OlympiadBench, inference/judge.py, inference/code/math_judger.py,
eval/auto_scoring_judge.py, which leaves out a response without an answer; here it is wrong.
"""

import math
import re
from collections.abc import Callable, Sequence
from contextlib import closing, redirect_stdout
from functools import lru_cache, partial
from typing import Any

from reasonenv.grading import Grade
from reasonenv.scoring.responses import LabeledResponse, Row, verdict
from reasonenv.workers import Judgement, WorkerPool

PRECISION = 1e-8
NEEDED = ("final_answer",)
POOLED = True
_COLUMNS = ("part", "subject", "subfield", "answer_type", "modality", "is_multiple_answer")
TABLES = {name: name for name in _COLUMNS}

# In English with a space behind, so that an announcement has its answer on the same line.
_PHRASES = {"English": "So the final answer is (.*)", "Chinese": "所以最终答案是(.*)"}
# CPU seconds; the official judge has no limit.
_TIMEOUT_S = 20.0
# Characters for sympy; characters of an answer in a grade; boxes in one text.
_LONGEST = 5_000
_SHOWN = 200
_MOST_BOXES = 100
# The judge's own bounds: on differences of numbers, on those of formulas, on exponents.
_SLACK = 1.01
_SAME_FORMULA = 1e-3
_LARGEST_EXPONENT = 1000
# Replacements, in this order.
_REPLACED = {
    "\\left": "",
    "\\right": "",
    "∶": ":",
    "，": ",",
    "$": "",
    "\\approx": "=",
    "\\simeq": "=",
    "\\sim": "=",
    "^\\prime": "'",
    "^{\\prime}": "'",
    "^\\circ": "",
    "%": "",
}
_DECORATION = "\n$,.:;^_=+`!@#$%^&*~，。"
_FONT = re.compile(r"\\(?:mathrm|mathbf)\{~?([^}]{0,300})\}")
_CHINESE = re.compile("[\u4e00-\u9fff]+")
_BRACE = re.compile(r"\\boxed\{|[{}]")


def grades(cases: Sequence[LabeledResponse]) -> list[Grade]:
    """The official verdicts; sympy runs in workers with a time limit."""
    with closing(WorkerPool(None, _TIMEOUT_S, f"{__name__}:judge")) as pool:
        jobs = []
        for case in cases:
            language = str(case.label.get("language") or "English")
            text = case.answer(partial(final_statement, language=language)) or ""
            if text.strip():
                finish = partial(_graded, text[-_SHOWN:])
                jobs.append(pool.submit(text, *reference_items(case.label), finish=finish).result)
            else:
                jobs.append(partial(verdict, False, None))
        return [result() for result in jobs]


def _graded(answer: str, judgement: Judgement) -> Grade:
    return Grade(judgement.correct, answer, judgement.status)


def final_statement(response: str, language: str) -> str:
    """The text after the last announcement of the final answer, else the whole response."""
    matches = re.findall(_PHRASES.get(language, _PHRASES["English"]), response)
    return matches[-1].strip() if matches else response


def reference_items(label: Row) -> tuple[str, list[float]]:
    """The reference of a problem and the precision of each of its items, or one for all."""
    error = label.get("error")
    if not error or "Tuple" in str(label.get("answer_type")):
        precisions = [PRECISION]
    else:
        precisions = [float(part) if part.strip() else PRECISION for part in str(error).split(",")]
    answer = label["final_answer"]
    items = answer if isinstance(answer, list | tuple) else [answer]
    return str(items[0]) if items else "", precisions


def judge(first: str, second: str, precisions: Sequence[float] = (PRECISION,)) -> tuple[bool, str]:
    """True if two answers are equal by the official rules, and the status; the time has no bound.

    Only in a worker that can be killed: sympy compares formulas.

    Args:
        first: An answer, whose items are matched one by one.
        second: The other.
        precisions: Largest difference of numbers: one for all items, or one for each of `first`.
    """
    try:
        ours, theirs = normalise(first), normalise(second)
    except ValueError:
        return False, "ok"
    items, others = _items(ours), _items(theirs)
    if ours == theirs or len(items) != len(others):
        return ours == theirs, "ok"
    if len(ours) > _LONGEST:
        return False, "unparseable"
    try:
        count = len(items) if len(precisions) == 1 else 1
        return _paired(items, others, [*precisions] * count), "ok"
    except MemoryError:
        return False, "memory"


def _paired(ours: list[str], theirs: list[str], precisions: list[float]) -> bool:
    """True if the items match one to one, each with the first remaining equal one."""
    index = -1
    while ours:
        # As in the official judge: the place moves on although the list has become shorter.
        index = (index + 1) % len(ours)
        if index >= len(precisions):
            return False
        item, within = ours[index], precisions[index]
        match = next((other for other in theirs if equal_items(item, other, within)), None)
        if match is None:
            return False
        ours.remove(item)
        theirs.remove(match)
        precisions.remove(within)
    return True


def normalise(text: str) -> str:
    """The boxes or formulas of a text without decoration.

    Raises:
        ValueError: When a box does not close, or there are too many.
    """
    formulas = _boxes(text) or re.findall(r"\$(.*?)\$", text.strip().split("\n")[-1])
    text = "".join(f"{formula}," for formula in formulas) or text
    if "\\in " in text:
        text = text.split("\\in ")[1]
    for sign, replacement in _REPLACED.items():
        text = text.replace(sign, replacement)
    return _FONT.sub(r"\1", text.strip(_DECORATION))


def _boxes(text: str) -> list[str]:
    """The contents of all boxes in their order; one inside another counts as well."""
    starts: list[int | None] = []
    spans = []
    for brace in _BRACE.finditer(text):
        if brace[0] == "}":
            # One that closes nothing stands outside of every box.
            start = starts.pop() if starts else None
            spans += [] if start is None else [(start, brace.start())]
        elif starts or brace[0] != "{":
            starts.append(brace.end() if len(brace[0]) > 1 else None)
    if any(start is not None for start in starts) or len(spans) > _MOST_BOXES:
        raise ValueError("a box does not close, or there are too many")
    return [text[start:end] for start, end in sorted(spans)]


def _items(text: str) -> list[str]:
    r"""The parts between commas that stand outside of brackets; one with \pm is two."""
    text = _CHINESE.sub("", text)
    parts, start, depth = [], 0, 0
    for place, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    if start < len(text):
        parts.append(text[start:].strip())
    return [
        part.replace("\\pm", sign) for part in parts for sign in ("+-" if "\\pm" in part else "+")
    ]


def equal_items(first: str, second: str, precision: float) -> bool:
    """True if two items are equal.

    Args:
        first: Of the pair; a hundredth of it and a hundred times it count as well.
        second: The other.
        precision: Largest difference of numbers.
    """
    if first == second and first:
        return True
    if _is_interval(first) and _is_interval(second):
        try:
            if _same_intervals(first, second, precision):
                return True
        # An interval with an unreadable end is wrong; the other rules do not apply.
        except Exception:
            return False
    return any(
        _holds(rule, first, second, precision)
        for rule in (_same_number, _same_value, _same_equation)
    )


def _holds(rule: Callable[[str, str, float], bool], *arguments: Any) -> bool:
    """True if a rule applies; sympy raises exceptions of many types on items it cannot parse."""
    try:
        return rule(*arguments)
    except MemoryError:
        raise
    except Exception:
        return False


def _is_interval(item: str) -> bool:
    return item.startswith(("(", "[")) and item.endswith((")", "]"))


def _same_intervals(first: str, second: str, precision: float) -> bool:
    """Brackets and ends, union by union, in order; tuples are compared by the same rule."""
    if first == second:
        return True
    ours, theirs = first.split("\\cup"), second.split("\\cup")
    if len(ours) != len(theirs):
        return False
    for a, b in zip(ours, theirs, strict=True):
        if a[0] != b[0] or a[-1] != b[-1]:
            return False
        # As in the official judge: of tuples of different length the common part counts.
        ends = zip(a.strip("[]()").split(","), b.strip("[]()").split(","), strict=False)
        if not all(_same_expression(x, y, precision) for x, y in ends):
            return False
    return True


def _same_number(first: str, second: str, precision: float) -> bool:
    number, other = float(first), float(second)
    scaled = (number / 100, number, number * 100)
    return any(abs(each - other) <= precision * _SLACK for each in scaled)


def _same_value(first: str, second: str, precision: float) -> bool:
    return not ("=" in first and "=" in second) and _same_expression(first, second, precision)


def _same_expression(first: str, second: str, precision: float) -> bool:
    """True if the parts after the first equality sign of each are equal."""
    from sympy import Symbol, simplify

    sides = (item.split("=")[1] if "=" in item else item for item in (first, second))
    ours, theirs = map(parse_latex, sides)
    if ours == theirs:
        return True
    pi = Symbol("pi")
    ours, theirs = ours.subs(pi, math.pi), theirs.subs(pi, math.pi)
    if ours.has(Symbol) != theirs.has(Symbol):
        return False
    if ours.has(Symbol):
        return bool(abs(simplify(ours - theirs).evalf()) < _SAME_FORMULA)
    is_affordable = _is_affordable(ours) and _is_affordable(theirs)
    return is_affordable and bool(abs(ours.evalf() - theirs.evalf()) <= precision * _SLACK)


def _is_affordable(expression: Any) -> bool:
    """True if it is no power, or one with a small exponent."""
    if not expression.is_Pow:
        return True
    base, exponent = expression.as_base_exp()
    is_number = base.is_number and exponent.is_number
    return is_number and bool(abs(exponent.evalf()) <= _LARGEST_EXPONENT)


def _same_equation(first: str, second: str, _: float) -> bool:
    """True if the difference of sides of one is a whole multiple of the other's."""
    from sympy import simplify

    ours, theirs = _difference(first), _difference(second)
    quotients = simplify(ours / theirs), simplify(theirs / ours)
    return any(quotient.is_Integer and quotient != 0 for quotient in quotients)


def _difference(equation: str) -> Any:
    from sympy import simplify

    left, right = equation.split("=")
    return simplify(parse_latex(left) - parse_latex(right))


@lru_cache(maxsize=2000)
def parse_latex(text: str) -> Any:
    """The expression that `sympy.parsing.latex.parse_latex` returns for a text.

    sympy asks for ANTLR 4.11, which generated its grammar; math-verify needs 4.13, which reads the
    same tables.

    Raises:
        Exception: Of many types, when the text does not begin with an expression.
    """
    from sympy.parsing.latex import _parse_latex_antlr

    grammar: Any = _parse_latex_antlr
    grammar.version = lambda package: "4.11"
    with redirect_stdout(None):  # where each lexer prints that its version differs
        return grammar.parse_latex(text)
