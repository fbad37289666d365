r"""MathVision (MATH-V): its extraction by rules, and answers that are equal to two decimals.

Right is the letter or the text of the right option. `exact` in the scores is the stricter way of
MM-EUREKA's and VLMEvalKit's evaluations: the letter that a response names, and values that
differ by less than 1e-6; their extraction by a judge model is that of the rules here.

Sources: mathllm/MATH-V, evaluation/evaluate.py and utils.py; open-compass/VLMEvalKit,
vlmeval/dataset/utils/mathv.py and vlmeval/utils/matching_util.py.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from reasonenv.datasets.option_text import LETTERS
from reasonenv.grading import Grade
from reasonenv.scoring.responses import GradedResponses, LabeledResponse, verdict
from reasonenv.scoring.short_answers import inferred_letter, value
from reasonenv.scoring.statistics import over_problems

TABLES = {
    "level": "level",
    "subject": "subject",
    "level_subject": lambda row: f"level {row['level']}, {row['subject']}",
}
NEEDED = ("answer", "level", "subject")
TOLERANCE = 1e-6

_ANNOUNCED = ("final answer is", "answer is", "correct answer is", "answer should be")
# Replacements in an answer before its comparison, in this order.
_REPLACED = (
    (" ", ""),
    ("\\,", ""),
    ("∞", "\\infty"),
    ("+\\infty", "\\infty"),
    ("\\\\", "\\"),
    ("\n", ""),
    ("bmatrix", "pmatrix"),
    *((part, "") for part in ("\\text", "\\mbox", "\\left", "\\right", "^{\\circ}", "^\\circ")),
    *((unit, "") for unit in ("{m}^3", "m^3", "{units}", "units", "{km}", "km", "\\!")),
    ("\\\\", "\\"),
    ("tfrac", "frac"),
    ("dfrac", "frac"),
    *((part, "") for part in ("\\left", "\\right", "^{\\circ}", "^\\circ", "\\$", "$", "\\%")),
    ("{.", "{0."),
)


def grade(case: LabeledResponse) -> Grade:
    """The official verdict."""
    return _graded(case, extract_answer_text, equal_to_two_decimals)


def extras(graded: GradedResponses) -> dict[str, Any]:
    """The accuracy of the stricter way."""
    verdicts = [
        _graded(case, partial(_named, case.label.get("options") or []), _equal_exactly)
        for case in graded.cases
    ]
    means = list(replace(graded, grades=verdicts).means.values())
    accuracy, interval = sum(means) / len(means), over_problems(means)
    return {"exact": {"tolerance": TOLERANCE, "accuracy": accuracy, "interval": interval}}


def _graded(
    case: LabeledResponse, read: Callable[[str], str], equal: Callable[[str, str], bool]
) -> Grade:
    """The verdict where the answer may be the reference or the text that its letter stands for."""
    answer, key = case.answer(read) or "", str(case.label["answer"])
    letters = dict(zip(LETTERS, case.label.get("options") or (), strict=False))
    return verdict(any(equal(right, answer) for right in (key, str(letters.get(key, key)))), answer)


def extract_answer_text(response: str) -> str:
    """The answer in a response, in lower case and without spaces."""
    text = response.strip()
    for letter in "ABCDE":
        ends = (f" {letter}.", f" ({letter}).")
        begins = (f"{letter}\n", f"({letter})\n", f"({letter}) {letter}\n")
        if text.endswith(ends) or text.startswith(begins):
            text = letter
    with suppress(ValueError):
        float(last := text.split("is ")[-1].rstrip("."))
        text = last
    boxes = text.count("oxed{")
    if boxes == 0:
        text = _announced(text)
    elif boxes > 1:
        text = "\\boxed{" + text.rpartition("oxed{")[2]
    text = _cleaned(_boxed(text.lower().replace("{}", "")))
    text = re.sub(r"\{([a-e])\}", r"\1", re.sub(r"\(([a-e])\)", r"\1", text))
    return text.rstrip(".").lstrip(":").strip()


def _announced(text: str) -> str:
    """The text after a phrase that announces an answer, up to the end of its sentence or line."""
    for phrase in (f"{article} {words}" for words in _ANNOUNCED for article in ("the", "The")):
        _, phrase_here, text = text.rpartition(phrase)
        text = text.strip()
        if phrase_here:
            text = text.split("\n")[0].split(". ")[0]
    return text


def _boxed(text: str) -> str:
    """The content of a box; of other text the part before a brace that closes nothing."""
    content, end, _ = text.partition("oxed{")[2].rpartition("}")
    text = content if end else text
    closing, opening = text.find("}"), text.find("{")
    return text[:closing] if closing >= 0 and not 0 <= opening < closing else text


def _cleaned(text: str) -> str:
    """The text after an equality sign, without units and decoration, in the notation of LaTeX."""
    text = text.rpartition("=")[2].rpartition("\\approx")[2]
    for part, replacement in _REPLACED:
        text = text.replace(part, replacement)
    text = f"0{text}" if text.startswith(".") else text
    if "sqrt" in text:
        text = re.sub(r"\\sqrt(?!\\sqrt)([^{])", r"\\sqrt{\1}", text)
        text = re.sub(r"\\frac([^{])([^{])", r"\\frac{\1}{\2}", text)
        text = re.sub(r"\\frac([^{])\{", r"\\frac{\1}{", text)
    text = "\\frac{1}{2}" if text == "0.5" else text
    whole = re.fullmatch(r"(-?[1-9]\d*|0)/(-?[1-9]\d*|0)", text)
    return f"\\frac{{{whole[1]}}}{{{whole[2]}}}" if whole else text


def equal_to_two_decimals(reference: str, answer: str) -> bool:
    """True for the same text, or the same number to two decimals; also within brackets."""
    reference, answer = (_evaluate(text.lower().strip()) for text in (reference, answer))
    return _equal(reference, answer, lambda a, b: round(a, 2) == round(b, 2))


def _equal_exactly(reference: str, answer: str) -> bool:
    reference, answer = (text.lower().strip() for text in (reference, answer))
    return _equal(reference, answer, lambda a, b: abs(a - b) < TOLERANCE)


def _equal(reference: str, answer: str, close: Callable[[float, float], bool]) -> bool:
    if reference == answer or not reference or not answer:
        return bool(reference and answer)
    numbers = value(reference), value(answer)
    return None not in numbers and close(*numbers)  # pyright: ignore[reportArgumentType]


def _evaluate(text: str) -> str:
    """A tuple or list of constants with their values to two decimals; other text unchanged.

    As in the official code, these are compared as texts: the 2.0 of 4/2 and of 2.001 is not 2.
    """
    members = text[1:-1].split(",")
    if len(members) < 2 or text[0] + text[-1] not in ("()", "[]"):
        return text
    values = [m if m in ("a", "-a") or "infty" in m else value(m) for m in members]
    if None in values:
        return text
    rounded = [each if isinstance(each, str) else str(round(each or 0, 2)) for each in values]
    return f"{text[0]}{','.join(rounded)}{text[-1]}"


def _named(options: Sequence[Any], text: str) -> str:
    """The letter of the option that a response names, where there are options; else its answer."""
    letter = inferred_letter(text, list(map(str, options))) if options else None
    return letter or extract_answer_text(text)
