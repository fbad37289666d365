r"""The data sets of the CPGD paper: MMK12-v0 to train on, and four benchmarks with images.

Description:
    MMK12-v0: school mathematics with one figure. To train on, fill-in questions whose answers were
    verified: numbers, expressions, short words. To test on, multiple choices in mathematics,
    physics, chemistry and biology, whose options stand inside the question, each on a line that
    begins with its letter.

    MathVista-v0: a question and one image, of geometry, function graphs, charts, tables, puzzles,
    photographs. 540 of the 1,000 problems of testmini are multiple choices of two to eight texts,
    the others ask for an integer, a number with one or two decimals, or a list. The choices stand
    below the question, and so does the unit where there is one. The 5,141 rows of `test` have no
    public answers, so they cannot be graded here.

    MathVerse-v0: 788 problems of plane geometry, solid geometry and functions, each in six versions
    between text and diagram. In "Text Dominant" the text states nearly everything; in "Text Lite",
    "Vision Intensive" and "Vision Dominant" more and more must be read in the diagram; in "Vision
    Only" the question itself is in the image, and the words only refer to it; "Text Only", a split
    of its own, has no image. `filter={"problem_version": "Vision Only"}` poses a version.

    MathVision-v0: problems of the Math Kangaroo, AMC, AIME, UK and other competitions, for grades 1
    to 12, in 16 subjects and five levels. Half are choices of five, whose texts stand below the
    question unless they are parts of the figure, which are then named A to E. Where the question
    speaks of several images, one shows them all, each below its name, "<image1>" and so on.

    WeMath-v0: 525 composite problems of school mathematics with figures, 360 of two steps and 165
    of three. Each step is a multiple-choice question of its own, and so is the whole: 1,740
    questions, from which the official metric tells understanding from rote memorization. The
    options stand below the question; the last is "No correct answer". Metadata: ID (shared by the
    questions of a composite problem), key (which of them), knowledge.

Action Space: text whose final answer stands in `\boxed{}` inside `<answer>`: a value, or the letter
    or the text of an option.
Observation Space: a dict of `system`, `question`, and `images`: one array [height, width, 3] of
    uint8, RGB; none for "Text Only" of MathVerse-v0.
Prompts: "cpgd" (default); "mm_eureka"; "official", the benchmark's own: of MMK12-v0 "mm_eureka",
    which asks for no think block, of MathVista-v0 its `query`, with a hint on the kind of answer,
    of MathVerse-v0 its `query_cot`, of MathVision-v0 that of its script models/GPT4V.py, which asks
    for a box, of WeMath-v0 without its optional text about the knowledge that is needed.
Rewards: accuracy (weight 1), 1 when the answer equals the reference, else 0; of MMK12-v0 format too
    (weight 0.5), 1 for `<think>...</think><answer>...</answer>`, else 0. Official scores, such as
    MathVista's nearest choice and WeMath's four dimensions: `python -m reasonenv.score`.

Splits: in docs/environments.md, Data sets, with sources, licences, rules and overlaps. Local files
    are Parquet as on the hub, `testmini*.parquet`, or `.json` and `.jsonl` as in the benchmarks'
    repositories, with the images in `images/`; of MathVerse-v0 rows of its visualizer as well,
    `visualizer*.jsonl`. Where the revision is not pinned, `python -m reasonenv.datasets.hub
    AI4Math/MathVerse` prints the present one.

    Lu et al., MathVista (arXiv:2310.02255); Zhang et al., MathVerse (arXiv:2403.14624); Wang et
    al., MATH-Vision (arXiv:2402.14804); Qiao et al., We-Math (arXiv:2407.01284).

Version History:
    v0: Initial version.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from reasonenv import datasets
from reasonenv.datasets.option_text import LETTERS, lettered_lines, option_texts
from reasonenv.environment import Environment
from reasonenv.errors import DataError
from reasonenv.problem import Problem
from reasonenv.rewards import accuracy, think_answer_format

_benchmark = partial(
    Environment, prompt="cpgd", official="official", model="Qwen/Qwen2.5-VL-7B-Instruct"
)


def _mmk12(row: datasets.Row) -> Problem:
    return Problem(row["id"], row["question"], row["answer"], metadata={"subject": row["subject"]})


MMK12 = _benchmark(
    id="MMK12-v0",
    schema=datasets.Schema(
        name="mmk12",
        hub="FanqingM/MMK12",
        revision="372a609268ea79b5e78d90ab173e02c37b486163",
        splits={split: datasets.Split(split) for split in ("train", "test")},
        texts=("question", "answer", "id", "subject"),
        images=("image",),
        paths=("image", "image_path"),
    ),
    convert=_mmk12,
    rewards={"accuracy": (1.0, accuracy), "format": (0.5, think_answer_format)},
    official="mm_eureka",
    sizes={"train": 15_616, "test": 2_000},
    licence="Apache-2.0",
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


def _mathvista(row: datasets.Row) -> Problem:
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


MATH_VISTA = _benchmark(
    id="MathVista-v0",
    schema=datasets.Schema(
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
    ),
    convert=_mathvista,
    sizes={"testmini": 1_000},
    licence="CC BY-SA 4.0",
)

_TEXT_ONLY = "testmini_text_only"


def _mathverse_image(row: datasets.Row) -> list[str]:
    return [row["image"]] if row.get("image") else []


_MATH_VERSE = datasets.Schema(
    name="mathverse",
    hub="AI4Math/MathVerse",
    splits={
        "testmini": datasets.Split("testmini", ("testmini", "visualizer"), config="testmini"),
        _TEXT_ONLY: datasets.Split(_TEXT_ONLY, config=_TEXT_ONLY),
    },
    texts=("question", "answer", "sample_index", "question_type"),
    values=("metadata",),
    kinds={
        "metadata": datasets.OBJECT,
        "choices": datasets.TEXTS,
        **dict.fromkeys(("image", "query_cot"), datasets.TEXT),
    },
    images=("image",),
    paths=_mathverse_image,
    aliases={"sample_index": ("pid",), "problem_index": ("group",)},
    key="sample_index",
)


def _mathverse_problems(split: str, data: str | None = None) -> Sequence[Problem]:
    schema = replace(_MATH_VERSE, images=()) if split == _TEXT_ONLY else _MATH_VERSE
    return datasets.load(schema, split, data, _mathverse)


def _mathverse(row: datasets.Row) -> Problem:
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
        query=row.get("query_cot") or _query_cot(question, is_choice),
        metadata={
            "problem_version": version,
            "subject": metadata.get("subject") or metadata.get("subjects"),
            "subfield": metadata.get("subfield") or metadata.get("subfields"),
            "question_type": "multi-choice" if is_choice else "free-form",
            "problem_index": row.get("problem_index"),
            "source": metadata.get("source"),
        },
    )


def _query_cot(question: str, is_choice: bool) -> str:
    """MathVerse's `query_cot`, for rows without it."""
    choice, value = "correct option letter, e.g., A, B, C, D", "final value, e.g., 1, 2.5, 300"
    please = "Please" if question else "According to the question shown in the image, please"
    request = (
        f"{please} first conduct reasoning, and then answer the question and provide the "
        f"{choice if is_choice else value}, at the end."
    )
    return f"{request}\nQuestion: {question}" if question else request


MATH_VERSE = _benchmark(
    id="MathVerse-v0",
    schema=_MATH_VERSE,
    problems=_mathverse_problems,
    cluster="problem_index",
    sizes={"testmini": 3_940, _TEXT_ONLY: 788},
    licence="MIT",
)

_MATH_VISION_PROMPT = (
    'Please solve the problem and put your answer in one "\\boxed{}". If it is a multiple choice '
    'question, only one letter is allowed in the "\\boxed{}".\n'
)
_MARK = re.compile(r"<image\d+>")


def _mathvision(row: datasets.Row) -> Problem:
    options = tuple(row["options"])
    # Options named A to E are parts of the figure.
    options = () if "".join(options) == LETTERS[: len(options)] else options
    # A single mark is replaced. Several marks name parts of the image and stay.
    mark = "<image 1>" if len(set(_MARK.findall(row["question"]))) == 1 else r"<image 1>\n\g<0>"
    question = _MARK.sub(mark, row["question"], count=1)
    question += f"\n{lettered_lines(options)}" if options else ""
    return Problem(
        id=row["id"],
        question=question,
        answer=row["answer"],
        options=options,
        query=_MATH_VISION_PROMPT + question,
        solution=row.get("solution") or None,
        metadata={"subject": row["subject"], "level": int(row["level"])},
    )


MATH_VISION = _benchmark(
    id="MathVision-v0",
    schema=datasets.Schema(
        name="mathvision",
        hub="MathLLMs/MathVision",
        splits={split: datasets.Split(split) for split in ("test", "testmini")},
        texts=("question", "answer", "id", "subject"),
        values=("options", "level"),
        kinds={"options": datasets.TEXTS, "level": datasets.NUMBER, "solution": datasets.TEXT},
        images=("decoded_image",),
        paths=("image",),
    ),
    convert=_mathvision,
    sizes={"test": 3_040, "testmini": 304},
    licence="MIT",
)

_WE_MATH_PROMPT = (
    "Now, we require you to solve a multiple-choice math question. Please briefly describe your "
    "thought process and provide the final answer(option).\nQuestion: {question}\n"
    "Option: {option}\nRegarding the format, please answer following the template below, and be "
    "sure to include two <> symbols:\n<Thought process>: <<your thought process>> "
    "<Answer>: <<your option>>"
)


def _wemath(row: datasets.Row) -> Problem:
    # "A. 3; B. 4; C. No correct answer"; a text may have semicolons itself.
    parts = option_texts(re.split(r";\s*(?=[A-H]\s*[.．])", row["option"]))
    options = tuple(part.rstrip("; ") for part in parts)
    lines = lettered_lines(options) or row["option"]
    query = _WE_MATH_PROMPT.replace("{option}", row["option"], 1)
    return Problem(
        id=str(row["question number"]),
        question=f"{row['question']}\n{lines}",
        answer=row["answer"].strip(),
        options=options,
        query=query.replace("{question}", row["question"], 1),
        metadata={"key": row["key"], "ID": row["ID"], "knowledge": row.get("knowledge concept")},
    )


def _is_key(value: object) -> bool:
    return isinstance(value, str) and value[:1].isdecimal()


WE_MATH = _benchmark(
    id="WeMath-v0",
    schema=datasets.Schema(
        name="wemath",
        hub="We-Math/We-Math",
        splits={"testmini": datasets.Split("testmini")},
        texts=("question", "answer", "option", "ID", "key"),
        values=("question number",),
        kinds={"key": datasets.Kind("'2steps_1', '3steps_multi' or the like", _is_key)},
        images=("image_path",),
        paths=("image_path",),
        key="question number",
    ),
    convert=_wemath,
    cluster="ID",
    sizes={"testmini": 1_740},
    licence="CC BY-NC 4.0",
)
