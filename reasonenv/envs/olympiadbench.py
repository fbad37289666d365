r"""OlympiadBench-v0: olympiad mathematics and physics in English, open-ended, some with figures.

Description:
    Problems of international and Chinese olympiads that ask for a number, an expression, an
    equation, an interval, a tuple, or several of these. The context that a problem of physics
    shares with others stands before its question. A problem may have several figures.

Action Space: text whose final answer stands in `\boxed{}`; several answers are joined by commas.
Observation Space: a dict of `system`, `question`, and `images`: none to nine arrays [height, width,
    3] of uint8, RGB, which stand at "<image 1>", "<image 2>", ... in the question.
Prompts: "cpgd" (default); "official", the benchmark's, with the type of the answer; "mm_eureka";
    see `reasonenv.prompts`.
Rewards: accuracy (weight 1), 1 when the answer equals the reference, else 0. The official judge
    allows each problem its own error (metadata "error"); so does `python -m reasonenv.score`.

Splits:
    ====================== ===== ==========================================================
    split                  rows  content
    ====================== ===== ==========================================================
    test                   1,516 the four below: "EN-OE", what papers on images report
    OE_TO_maths_en_COMP    674   words only, mathematics: what papers on words report
    OE_MM_maths_en_COMP    150   with figures, mathematics
    OE_TO_physics_en_COMP  236   words only, physics
    OE_MM_physics_en_COMP  456   with figures, physics
    ====================== ===== ==========================================================

    An id of two of the four parts is, in "test", "<part>/<id>" in the later one.

Source and licence:
    https://huggingface.co/datasets/Hothan/OlympiadBench, Apache-2.0 (MIT on GitHub).
    The revision is not pinned: `python -m reasonenv.datasets.hub Hothan/OlympiadBench` prints it.

    Local files: `<part>*.parquet` as on the hub, or `<part>*.json` as in the benchmark's archive,
    with the figures in `images/img_<number>.jpg`. "test" has the parts that exist.

    He et al., OlympiadBench (arXiv:2402.14008); github.com/OpenBMB/OlympiadBench,
    inference/code/evaluators/evaluator.py for the prompt.

Version History:
    v0: Initial version.
"""

import re
import zlib
from collections.abc import Collection, Sequence
from functools import partial

from reasonenv import datasets
from reasonenv.console import warn
from reasonenv.environment import Environment
from reasonenv.files import parse_json
from reasonenv.problem import Problem

PARTS = (
    "OE_TO_maths_en_COMP",
    "OE_MM_maths_en_COMP",
    "OE_TO_physics_en_COMP",
    "OE_MM_physics_en_COMP",
)

_ANSWER = "final_answer"
_MARK = re.compile(r"<(img|image)_(\d+)>")


def _text(row: datasets.Row) -> str:
    return "\n".join(filter(None, (row.get("context"), row["question"])))


def _figures(row: datasets.Row) -> list[str]:
    return [f"img_{number}.jpg" for _, number in dict.fromkeys(_MARK.findall(_text(row)))]


SCHEMA = datasets.Schema(
    name="olympiadbench",
    hub="Hothan/OlympiadBench",
    splits={part: datasets.Split("train", config=part) for part in PARTS},
    texts=("question", "answer_type"),
    values=(_ANSWER, "id", "is_multiple_answer"),
    kinds={_ANSWER: datasets.ANSWERS, "context": datasets.TEXT},
    more_images=tuple(f"image_{number}" for number in range(1, 10)),
    paths=_figures,
    answer=_ANSWER,
)

_TYPES = {
    "Numerical": "a numerical value",
    "Expression": "an expression",
    "Equation": "an equation",
    "Interval": "an interval",
}


def _problems(split: str, data: str | None = None) -> Sequence[Problem]:
    if split != "test":
        return datasets.load(SCHEMA, split, data, partial(_problem, part=split))
    parts: list[datasets.Rows] = []
    missing: dict[str, FileNotFoundError] = {}
    ids: set[str] = set()
    for part in PARTS:
        convert = partial(_problem, part=part, earlier_ids=frozenset(ids))
        try:
            parts.append(datasets.load(SCHEMA, part, data, convert))
        except FileNotFoundError as error:
            missing[part] = error
        else:
            ids.update(parts[-1].keys())
    if not parts:
        raise missing[PARTS[0]]
    if missing:
        names = ", ".join(missing)
        warn(f"olympiadbench test: there are no files of {names}, so it is not whole")
    return datasets.ConcatRows(parts)


def _problem(row: datasets.Row, part: str, earlier_ids: Collection[str] = ()) -> Problem:
    name = str(row["id"])
    subject = "Math" if "maths" in part else "Physics"
    question, context, answers = _with_image_marks(_text(row)), row.get("context"), row[_ANSWER]
    answers = answers if isinstance(answers, list | tuple) else [answers]
    return Problem(
        id=f"{part}/{name}" if name in earlier_ids else name,
        question=question,
        answer=", ".join(str(answer).strip() for answer in answers),
        query=f"{_instruction(row, subject)}\n{question}",
        solution=_solution(row.get("solution")),
        metadata={
            "subject": subject,
            "part": part,
            "subfield": row.get("subfield"),
            "answer_type": row["answer_type"],
            "unit": row.get("unit"),
            "error": row.get("error"),
            "context": context and f"{zlib.crc32(context.encode()):08x}",
        },
    )


def _with_image_marks(text: str) -> str:
    """The text with its marks as `<image 1>`, `<image 2>`, ...

    "<image_2>" is the hub's second image. "<img_71>" names a file; files are in order of marks.
    """
    for place, (kind, number) in enumerate(dict.fromkeys(_MARK.findall(text)), 1):
        image = number if kind == "image" else place
        text = text.replace(f"<{kind}_{number}>", f"<image {image}>")
    return text


def _solution(solution: object) -> str | None:
    """The first of the solutions: a list, or a list as JSON in the benchmark's archive."""
    if isinstance(solution, str) and solution.startswith("["):
        solution = parse_json(solution, "column 'solution'")
    first = next(iter(solution), None) if isinstance(solution, list | tuple) else solution
    return None if first is None else str(first)


def _instruction(row: datasets.Row, subject: str) -> str:
    box = "multiple answers connected with commas" if row["is_multiple_answer"] else "answer"
    unit = "(unit)" if row.get("unit") else ""
    note = ", note that the unit of the answer should not be included in \\boxed{}" if unit else ""
    return (
        f"The following is an open-ended problem from an International {subject} competition. "
        f"{_answer_type(row)}Please calculate the answer according to the given requirements and "
        "the information provided. Please use LaTeX format to represent the variables and formulas "
        'used in the solution process and results. Please end your solution with "So the final '
        f'answer is \\boxed{{{box}}}{unit}." and give the result explicitly{note}.'
    )


def _answer_type(row: datasets.Row) -> str:
    """A sentence on the type of the answer; none for tuples, as in the official prompt."""
    kind = row["answer_type"]
    if "Need_human_evaluate" in kind or "Tuple" in kind:
        return ""
    types = [words for part in kind.split(",") for name, words in _TYPES.items() if name in part]
    if not row["is_multiple_answer"]:
        return f"The answer of The problem should be {types[0]}. " if types else ""
    start = "The problem has multiple answers"
    if len(set(types)) == 1:
        return f"{start}, each of them should be {types[0]}. "
    return f"{start}, with the answers in order being {', '.join(types)}. "


ENVIRONMENT = Environment(
    id="OlympiadBench-v0",
    schema=SCHEMA,
    problems=_problems,
    splits=("test", *PARTS),
    prompt="cpgd",
    official="official",
    cluster="context",
    model="Qwen/Qwen2.5-VL-7B-Instruct",
    sizes={"test": 1_516, **dict(zip(PARTS, (674, 150, 236, 456), strict=True))},
    licence="Apache-2.0",
)
