r"""MathVista-v0: visual mathematics from 28 data sets and three new ones.

Description:
    A question and one image: figures of geometry, function graphs, charts, tables, puzzles,
    photographs. 540 of the 1,000 problems of testmini are multiple choices of two to eight texts,
    the others ask for an integer, a number with one or two decimals, or a list. The choices stand
    below the question, and so does the unit where there is one.

Action Space: text whose final answer is the letter or the text of a choice, or a number.
Observation Space: a dict of `system`, `question`, and `images`: one array [height, width, 3] of
    uint8, RGB.
Prompts: "cpgd" (default); "official", the benchmark's `query`, with a hint on the kind of answer;
    "mm_eureka"; see `reasonenv.prompts`.
Rewards: accuracy (weight 1), 1 when the answer equals the reference, else 0. The official score
    rounds answers and takes the nearest choice; `python -m reasonenv.score` computes it.

Splits:
    The split testmini has 1,000 rows: what papers report.

    The 5,141 rows of `test` have no public answers, so they cannot be graded here.

Source and licence:
    https://huggingface.co/datasets/AI4Math/MathVista at revision 2b6ad69, since answers were
    corrected; CC BY-SA 4.0 (images: those of the data sets that they come from).

    Local files: `testmini*.parquet` as on the hub; or `testmini*.json`, rows by pid as in the
    benchmark's repository, or `.jsonl`, with the images in `images/`.

    Lu et al., MathVista (arXiv:2310.02255); github.com/lupantech/MathVista.

Version History:
    v0: Initial version.
"""

from reasonenv import datasets
from reasonenv.datasets.option_text import LETTERS, lettered_lines
from reasonenv.environment import Environment
from reasonenv.errors import DataError
from reasonenv.problem import Problem

SCHEMA = datasets.Schema(
    name="mathvista",
    hub="AI4Math/MathVista",
    revision="2b6ad69445fbb5695c9b165475e8decdbeb97747",
    splits={"testmini": datasets.Split("testmini")},
    texts=("question", "answer", "pid", "question_type", "answer_type"),
    values=("metadata",),
    kinds={
        "metadata": datasets.OBJECT,
        "choices": datasets.TEXTS,
        "precision": datasets.NUMBER,
        **dict.fromkeys(("unit", "query"), datasets.TEXT),
    },
    images=("decoded_image",),
    paths=("image",),
    key="pid",
)

_HINTS = {
    "text": "and provide the correct option letter, e.g., A, B, C, D, at the end",
    "integer": "requiring an integer answer and provide the final value, e.g., 1, 2, 3, at the end",
    "float1": "requiring a floating-point number with one decimal place and provide the final "
    "value, e.g., 1.2, 1.3, 1.4, at the end",
    "float2": "requiring a floating-point number with two decimal places and provide the final "
    "value, e.g., 1.23, 1.34, 1.45, at the end",
    "list": "requiring a Python list as an answer and provide the final list, e.g., [1, 2, 3], "
    "[1.2, 1.3, 1.4], at the end",
}


def _problem(row: datasets.Row) -> Problem:
    options = tuple(row.get("choices") or ())
    unit = f" (Unit: {row['unit']})" if row.get("unit") else ""
    choices = f"\nChoices:\n{lettered_lines(options)}" if options else ""
    question = f"{row['question']}{unit}{choices}"
    kind = row["answer_type"]
    kind = f"float{row.get('precision')}".removesuffix(".0") if kind == "float" else kind
    if kind not in _HINTS:
        raise DataError(f"there is no 'answer_type' {kind!r}: {', '.join(_HINTS)}")
    answer = row["answer"]
    if options and answer not in options:
        raise DataError(f"the answer {answer!r} is none of the choices {list(options)}")
    hint = f"Hint: Please answer the question {_HINTS[kind]}."
    return Problem(
        id=row["pid"],
        question=question,
        answer=LETTERS[options.index(answer)] if options else answer,
        options=options,
        query=row.get("query") or f"{hint}\nQuestion: {question}",
        metadata={
            "task": row["metadata"].get("task"),
            **row["metadata"],
            "question_type": row["question_type"],
            "answer_type": row["answer_type"],
        },
    )


ENVIRONMENT = Environment(
    id="MathVista-v0",
    schema=SCHEMA,
    convert=_problem,
    prompt="cpgd",
    official="official",
    model="Qwen/Qwen2.5-VL-7B-Instruct",
    sizes={"testmini": 1_000},
    licence="CC BY-SA 4.0",
)
