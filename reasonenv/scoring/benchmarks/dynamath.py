"""DynaMath: accuracy over all variants, and the worst case, seeds that are right in all variants.

A number may differ by .001, of a choice the letter counts, and a text is right where it holds the
key. The answer is the value of "short answer" in a response of JSON, else the final answer.

Source: DynaMath/DynaMath, evaluate.py.
"""

import re
from typing import Any

from reasonenv.grading import Grade, final_answer
from reasonenv.scoring.responses import GradedResponses, LabeledResponse, verdict
from reasonenv.scoring.short_answers import value
from reasonenv.scoring.statistics import over_problems

TABLES = {name: name for name in ("subject", "knowledge_level", "answer_type", "part")}
NEEDED = ("answer", "answer_type")
POOLED = True
NUM_VARIANTS = 10
_TOLERANCE = 1e-3
_SHORT = re.compile(r"[\"']short answer[\"']\s*:\s*(\"(?:[^\"\\]|\\.)*\"|[^\n,}]*)", re.IGNORECASE)
_LETTER = re.compile(r"\W*([A-F])(?![A-Za-z])")


def grade(case: LabeledResponse) -> Grade:
    """The official verdict on the short answer."""
    answer = case.answer(short_answer) or ""
    key = str(case.label["answer"]).strip()
    kind = case.label["answer_type"]
    if kind == "float":
        numbers = [number for number in (value(answer), value(key)) if number is not None]
        is_right = len(numbers) == 2 and abs(numbers[0] - numbers[1]) <= _TOLERANCE
    elif kind == "multiple choice":
        letter = _LETTER.match(answer)
        is_right = letter is not None and letter[1] == key.upper()
    else:
        is_right = key.lower() in answer.lower()
    return verdict(is_right and answer != "", answer)


def short_answer(text: str) -> str | None:
    """The short answer of a response in JSON, else its final answer."""
    values = _SHORT.findall(text)
    return values[-1].strip().strip("\"'").strip() if values else final_answer(text)


def extras(graded: GradedResponses) -> dict[str, Any]:
    """The worst case, over the seeds all of whose variants have a response."""
    seeds: dict[Any, list[float]] = {}
    for name, mean in graded.means.items():
        seeds.setdefault(graded.clusters[name], []).append(mean)
    worst = [min(means) for means in seeds.values() if len(means) == NUM_VARIANTS]
    if not worst:
        return {}
    accuracy, interval = sum(worst) / len(worst), over_problems(worst)
    return {"worst_case": {"accuracy": accuracy, "num": len(worst), "interval": interval}}
