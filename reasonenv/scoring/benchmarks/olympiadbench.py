r"""OlympiadBench: the rules of its automatic judge.

The last "So the final answer is ..." of a response counts, else all of it; there the contents of
all boxes, else the formulas of its last line. Items are split at commas and paired in any order,
each within its own precision: column `error`, else 1e-8. Units stand outside of the box and are
ignored.

Sources: OpenBMB/OlympiadBench, inference/judge.py, inference/code/math_judger.py,
eval/auto_scoring_judge.py, which leaves out a response without an answer; here it is wrong.
"""

import json
import os
import re
from collections.abc import Sequence
from concurrent.futures import Future

from reasonenv.grading import Grade
from reasonenv.grading.reading import answer_section
from reasonenv.scoring.benchmarks.olympiad_items import equal_items
from reasonenv.scoring.final_answers import LabeledResponse, Row
from reasonenv.workers import WorkerPool

PRECISION = 1e-8
NEEDED = ("final_answer",)
POOLED = True
_COLUMNS = ("part", "subject", "subfield", "answer_type", "modality", "is_multiple_answer")
TABLES = {name: lambda row, name=name: row.get(name) for name in _COLUMNS}

# In English with a space behind, so that an announcement has its answer on the same line.
_PHRASES = {"English": "So the final answer is (.*)", "Chinese": "所以最终答案是(.*)"}
# CPU seconds; the official judge has no limit.
_TIMEOUT_S = 20.0
# Characters for sympy; characters of an answer in a grade; boxes in one text.
_LONGEST = 5_000
_SHOWN = 200
_MOST_BOXES = 100
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
    pool = WorkerPool(
        min(8, os.cpu_count() or 1),
        _TIMEOUT_S,
        "reasonenv.scoring.benchmarks.olympiadbench:judge_request",
    )
    try:
        jobs = [_submit(case, pool) for case in cases]
        return [job if isinstance(job, Grade) else job.result() for job in jobs]
    finally:
        pool.close()


def _submit(case: LabeledResponse, pool: WorkerPool) -> Grade | Future[Grade]:
    text = case.extraction
    if text is None:
        text = final_statement(
            answer_section(case.response)[0], str(case.label.get("language") or "English")
        )
    if not text.strip():
        return Grade(False, None, "no_answer")
    reference, precisions = reference_items(case.label)
    verdict = verdict_of_texts(text, reference)
    if verdict is not None:
        return Grade(verdict, text[-_SHOWN:], "ok")
    if len(normalise(text)) > _LONGEST:
        return Grade(False, text[-_SHOWN:], "unparseable")
    return pool.submit(text, json.dumps([reference, precisions]))


def final_statement(response: str, language: str = "English") -> str:
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


def verdict_of_texts(first: str, second: str) -> bool | None:
    """The verdict where the texts alone decide, else None."""
    try:
        a, b = normalise(first), normalise(second)
    except ValueError:
        return False
    if a == b:
        return True
    return None if len(_items(a)) == len(_items(b)) else False


def judge_request(text: str, request: str) -> tuple[bool, str]:
    """`equal_answers` as a judge for `Pool`: an answer, and reference and precisions as JSON."""
    try:
        reference, precisions = json.loads(request)
    except (ValueError, TypeError):
        # The pairs of a worker's warm-up are no JSON.
        reference, precisions = request, [PRECISION]
    try:
        return equal_answers(text, reference, precisions), "ok"
    except MemoryError:
        return False, "memory"


def equal_answers(first: str, second: str, precision: float | Sequence[float] = PRECISION) -> bool:
    """True if two answers are equal by the official rules; the time has no bound.

    Args:
        first: An answer, whose items are matched one by one.
        second: The other.
        precision: Largest difference of numbers: one for all items, or one for each of `first`.
    """
    verdict = verdict_of_texts(first, second)
    if verdict is not None:
        return verdict
    ours, theirs = _items(normalise(first)), _items(normalise(second))
    precisions: list[float] = [precision] if isinstance(precision, int | float) else [*precision]
    if len(precisions) == 1:
        precisions *= len(ours)
    return _paired(ours, theirs, precisions)


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
    text = _formulas(text)
    if "\\in " in text:
        text = text.split("\\in ")[1]
    for sign, replacement in _REPLACED.items():
        text = text.replace(sign, replacement)
    return _FONT.sub(r"\1", text.strip(_DECORATION))


def _formulas(text: str) -> str:
    boxes = _boxes(text)
    if not boxes:
        boxes = re.findall(r"\$(.*?)\$", text.strip().split("\n")[-1])
    return "".join(f"{box}," for box in boxes) or text


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
    signed = [
        [p.replace("\\pm", "+"), p.replace("\\pm", "-")] if "\\pm" in p else [p] for p in parts
    ]
    return [item for items in signed for item in items]
