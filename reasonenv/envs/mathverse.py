r"""MathVerse-v0: geometry and functions, each problem in six versions between text and diagram.

Description:
    788 problems of plane geometry, solid geometry and functions. In the version "Text Dominant"
    the text states nearly everything; in "Text Lite", "Vision Intensive" and "Vision Dominant" more
    and more must be read in the diagram; in "Vision Only" the question itself is in the image,
    and the words only refer to it; "Text Only" has no image.

Action Space: text whose final answer is the letter of a choice, or an expression.
Observation Space: a dict of `system`, `question`, and `images`: one array [height, width, 3] of
    uint8, RGB; none for "Text Only".
Prompts: "cpgd" (default); "official", the benchmark's `query_cot`; "mm_eureka"; see
    `reasonenv.prompts`.
Rewards: accuracy (weight 1), 1 when the answer equals the reference, else 0.

Splits:
    ================== ===== ==============================================
    split              rows  content
    ================== ===== ==============================================
    testmini           3,940 788 problems in the five versions with images
    testmini_text_only 788   the same problems in the version "Text Only"
    ================== ===== ==============================================

    The whole test set is not public. `filter={"problem_version": "Vision Only"}` poses a version.

Source and licence:
    https://huggingface.co/datasets/AI4Math/MathVerse, MIT.
    The revision is not pinned: `python -m reasonenv.datasets.hub AI4Math/MathVerse` prints it.

    Local files: `testmini*.parquet` as on the hub; or `testmini*.json` and `.jsonl` with the
    images in `images/`; or rows of the benchmark's visualizer, `visualizer*.jsonl`.

    Zhang et al., MathVerse (arXiv:2403.14624); github.com/ZrrSkywalker/MathVerse.

Version History:
    v0: Initial version.
"""

from collections.abc import Sequence
from dataclasses import replace

from reasonenv import datasets
from reasonenv.datasets.option_text import option_texts
from reasonenv.environment import Environment
from reasonenv.problem import Problem

_ONLY = "testmini_text_only"


def _image(row: datasets.Row) -> list[str]:
    return [row["image"]] if row.get("image") else []


SCHEMA = datasets.Schema(
    name="mathverse",
    hub="AI4Math/MathVerse",
    splits={
        "testmini": datasets.Split("testmini", ("testmini", "visualizer"), config="testmini"),
        _ONLY: datasets.Split(_ONLY, config=_ONLY),
    },
    texts=("question", "answer", "sample_index", "question_type"),
    values=("metadata",),
    kinds={
        "metadata": datasets.OBJECT,
        "choices": datasets.TEXTS,
        **dict.fromkeys(("image", "query_cot"), datasets.TEXT),
    },
    images=("image",),
    paths=_image,
    aliases={"sample_index": ("pid",), "problem_index": ("group",)},
    key="sample_index",
)


def _problems(split: str, data: str | None = None) -> Sequence[Problem]:
    schema = replace(SCHEMA, images=()) if split == _ONLY else SCHEMA
    return datasets.load(schema, split, data, _problem)


def _problem(row: datasets.Row) -> Problem:
    question, metadata = row["question"].strip(), row["metadata"]
    lines = row.get("choices") or question.partition("Choices:\n")[2].splitlines()
    if row.get("choices"):
        question = "\n".join([question, "Choices:", *lines]).strip()
    is_choice = row["question_type"].replace("_", "-").startswith("multi")
    version = row.get("problem_version") or metadata.get("problem_version")
    return Problem(
        id=row["sample_index"],
        question=question or "Answer the question that is shown in the image.",
        # A few have two right options, on two lines.
        answer=", ".join(row["answer"].split("\n")).strip(),
        options=option_texts(lines) if is_choice else (),
        query=row.get("query_cot") or _query(question, is_choice),
        metadata={
            "problem_version": version,
            "subject": metadata.get("subject") or metadata.get("subjects"),
            "subfield": metadata.get("subfield") or metadata.get("subfields"),
            "question_type": "multi-choice" if is_choice else "free-form",
            "problem_index": row.get("problem_index"),
            "source": metadata.get("source"),
        },
    )


def _query(question: str, is_choice: bool) -> str:
    """The benchmark's `query_cot`, for rows without it."""
    choice, value = "correct option letter, e.g., A, B, C, D", "final value, e.g., 1, 2.5, 300"
    please = "Please" if question else "According to the question shown in the image, please"
    request = (
        f"{please} first conduct reasoning, and then answer the question and provide the "
        f"{choice if is_choice else value}, at the end."
    )
    return f"{request}\nQuestion: {question}" if question else request


ENVIRONMENT = Environment(
    id="MathVerse-v0",
    schema=SCHEMA,
    problems=_problems,
    prompt="cpgd",
    official="official",
    cluster="problem_index",
    model="Qwen/Qwen2.5-VL-7B-Instruct",
    sizes={"testmini": 3_940, _ONLY: 788},
    licence="MIT",
)
