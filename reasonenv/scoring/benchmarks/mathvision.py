r"""MathVision (MATH-V): its extraction by rules, and answers that are equal to two decimals.

Right is the letter or the text of the right option. `exact` in the scores is the stricter way of
MM-EUREKA's and VLMEvalKit's evaluations: the letter that a response names, and values that
differ by less than 1e-6; their extraction by a judge model is that of the rules here.

Sources: mathllm/MATH-V, evaluation/evaluate.py and utils.py; open-compass/VLMEvalKit,
vlmeval/dataset/utils/mathv.py and vlmeval/utils/matching_util.py.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from reasonenv.grading import Grade
from reasonenv.grading.reading import answer_section
from reasonenv.scoring.responses import GradedResponses, LabeledResponse, Row
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
_LETTERS = "ABCDE"
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


def grades(cases: Sequence[LabeledResponse]) -> list[Grade]:
    """The official verdicts."""
    return [_grade(case, equal_to_two_decimals) for case in cases]


def extras(graded: GradedResponses) -> dict[str, Any]:
    """The accuracy of the stricter way."""
    verdicts = [_grade(_with_option(case), _equal_exactly) for case in graded.cases]
    means = list(replace(graded, grades=verdicts).means.values())
    accuracy, interval = sum(means) / len(means), over_problems(means)
    return {"exact": {"tolerance": TOLERANCE, "accuracy": accuracy, "interval": interval}}


def _grade(case: LabeledResponse, equal: Callable[[str, str], bool]) -> Grade:
    answer = case.extraction
    if answer is None:
        answer = extract_answer_text(answer_section(case.response)[0])
    right = any(equal(reference, answer) for reference in right_answers(case.label))
    return Grade(right, answer or None, "ok" if answer else "no_answer")


def right_answers(label: Row) -> tuple[str, ...]:
    """The reference and, of a multiple choice, the text that its letter stands for."""
    answer = str(label["answer"])
    options = list(label.get("options") or [])
    place = ord(answer) - ord("A") if options and len(answer) == 1 else -1
    return (answer, str(options[place])) if 0 <= place < len(options) else (answer,)


def extract_answer_text(response: str) -> str:
    """The answer in a response, in lower case and without spaces."""
    text = response.strip()
    for letter in _LETTERS:
        ends = (f" {letter}.", f" ({letter}).")
        begins = (f"{letter}\n", f"({letter})\n", f"({letter}) {letter}\n")
        if text.endswith(ends) or text.startswith(begins):
            text = letter
    last = text.split("is ")[-1].rstrip(".")
    text = last if _is_number(last) else text
    boxes = text.count("oxed{")
    if boxes == 0:
        text = _announced(text)
    elif boxes > 1:
        text = "\\boxed{" + text.rpartition("oxed{")[2]
    text = _cleaned(_boxed(text.lower().replace("{}", "")))
    text = re.sub(r"\{([a-e])\}", r"\1", re.sub(r"\(([a-e])\)", r"\1", text))
    return text.rstrip(".").lstrip(":").strip()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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
    return _as_fraction(text)


def _as_fraction(text: str) -> str:
    """The text with roots in braces, 0.5 and a/b as fractions, and 0 before a leading point."""
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
    is_symbol = [member in ("a", "-a") or "infty" in member for member in members]
    values = [
        member if symbol else value(member)
        for member, symbol in zip(members, is_symbol, strict=True)
    ]
    if None in values:
        return text
    rounded = [each if isinstance(each, str) else str(round(each or 0, 2)) for each in values]
    return f"{text[0]}{','.join(rounded)}{text[-1]}"


def _with_option(case: LabeledResponse) -> LabeledResponse:
    """The case with the option that its response names, where there are options."""
    options: Any = case.label.get("options") or []
    if case.extraction is not None or not options:
        return case
    letter = inferred_letter(answer_section(case.response)[0], [str(option) for option in options])
    answer = letter if letter else extract_answer_text(answer_section(case.response)[0])
    return replace(case, extraction=answer)
