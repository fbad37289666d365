r"""Benchmarks in words, each a row of this module, and two data sets to train on.

Description:
    Competition, school and undergraduate mathematics without images: AIME24-v0, AIME25-v0,
    AMC23-v0, MATH500-v0, MinervaMath-v0, GSM8K-v0 and DAPOMath17k-v0.

Action Space: text whose final answer stands in `\boxed{}`, or on a last line of its own.
Observation Space: a dict of `system`, `question`, and `images`, which is empty.
Prompts: "boxed" (default, also "official"), "dapo", "cpgd"; of DAPOMath17k-v0 "dapo" (default, also
    "official"), the prompt in the data set. See `reasonenv.prompts`.
Rewards: accuracy (weight 1), 1 when the answer equals the reference, else 0. Papers report the mean
    of 32 samples of AIME and AMC.

Splits:
    ============== ===== ====== ===================================================================
    environment    split rows   problems
    ============== ===== ====== ===================================================================
    AIME24-v0      test  30     American Invitational Mathematics Examination 2024, the papers I and
                                II; answers are whole numbers from 0 to 999
    AIME25-v0      test  30     that of 2025
    AMC23-v0       test  40     American Mathematics Competition 2023: those of AMC 12A and 12B
                                whose answer is a whole number, without their choices
    MATH500-v0     test  500    the part of MATH that PRM800K keeps for testing: seven subjects,
                                five levels; numbers, expressions, intervals, matrices, short texts
    MinervaMath-v0 test  272    astronomy, chemistry, differential equations, economics and physics
                                of MIT courses: numbers with units, expressions
    GSM8K-v0       train 7,473  school mathematics of two to eight steps; solutions are the data
                                set's, without calculator marks and with the answer in a box
                   test  1,319  the same to test on
    DAPOMath17k-v0 train 17,398 competition problems, mostly of the Art of Problem Solving, whose
                                answer is an integer: different prompts, of 1,791,700 rows. Most are
                                in English, others in Chinese; `filter={"language": "en"}` poses the
                                part on which RPG trains, 13.9k by its paper
                   test  30     AIME 2024 in the same words, of 960 rows
    ============== ===== ====== ===================================================================

Source and licence:
    The revision is not pinned: `python -m reasonenv.datasets.hub HuggingFaceH4/MATH-500` prints the
    present one of a data set. Licences stand in the rows of this module.

    ============== ================================================================================
    AIME24-v0      https://huggingface.co/datasets/HuggingFaceH4/aime_2024; a further copy is
                   Maxwell-Jia/AIME_2024
    AIME25-v0      https://huggingface.co/datasets/math-ai/aime25; further copies are
                   opencompass/AIME2025 and MathArena/aime_2025 (CC BY-NC-SA 4.0)
    AMC23-v0       https://huggingface.co/datasets/math-ai/amc23; a further copy is
                   evaluation/data/amc23 of github.com/QwenLM/Qwen2.5-Math
    MATH500-v0     https://huggingface.co/datasets/HuggingFaceH4/MATH-500; Lightman et al., Let's
                   Verify Step by Step (arXiv:2305.20050); github.com/openai/prm800k
    MinervaMath-v0 https://huggingface.co/datasets/math-ai/minervamath; Lewkowycz et al., Solving
                   Quantitative Reasoning Problems with Language Models (arXiv:2206.14858),
                   "OCWCourses"
    GSM8K-v0       https://huggingface.co/datasets/openai/gsm8k, configuration main; Cobbe et al.,
                   Training Verifiers to Solve Math Word Problems (arXiv:2110.14168)
    DAPOMath17k-v0 https://huggingface.co/datasets/BytedTsinghua-SIA/DAPO-Math-17k, and for "test"
                   https://huggingface.co/datasets/BytedTsinghua-SIA/AIME-2024; of equal prompts the
                   first row counts. Yu et al., DAPO (arXiv:2503.14476)
    ============== ================================================================================

    Local files: `train*` and `test*`, `.jsonl`, `.json` or `.parquet`, with the columns of the
    rows below; of DAPOMath17k-v0 `dapo-math-17k*` or `dapo_math_17k*`, and `aime-2024*`. Where
    there are no ids the row's number in the split is the id. AMC23 and MinervaMath are tested on
    synthetic rows with the columns of the data sets, not on their own.

Version History:
    v0: Initial version.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from reasonenv import datasets
from reasonenv.environment import Environment
from reasonenv.errors import DataError
from reasonenv.grading.reading import final_answer
from reasonenv.problem import Problem, answer_text
from reasonenv.prompts import PROMPTS

_MAA = "the Mathematical Association of America's"
_ANSWER = re.compile(r"#### *(-?[0-9.,]+)")
_MARKS = re.compile(r"<<[^<>]*>>")
_BEFORE, _AFTER = PROMPTS["dapo"].template.split("{question}")
_HAN = re.compile(r"[\u4e00-\u9fff]")


def _competition(row: datasets.Row, question: str, metadata: tuple[str, ...] = ()) -> Problem:
    return Problem(
        id=str(row.get("id", row["row"])),
        question=row[question],
        answer=answer_text(row["answer"]),
        solution=row.get("solution") or None,
        metadata={name: row.get(name) for name in metadata},
    )


def _math(row: datasets.Row) -> Problem:
    return Problem(
        id=row["unique_id"],
        question=row["problem"],
        answer=row["answer"],
        solution=row.get("solution") or None,
        metadata={"subject": row["subject"], "level": int(row["level"])},
    )


def _minerva(row: datasets.Row) -> Problem:
    answer = row["answer"]
    # Where the column is a worked solution, its answer stands in a box.
    answer = final_answer(answer) or "" if "\\boxed" in answer else answer
    return Problem(id=str(row["row"]), question=row["question"], answer=answer)


def _gsm8k(row: datasets.Row) -> Problem:
    match = _ANSWER.search(row["answer"])
    if match is None:
        raise DataError("the answer has no line '#### number'")
    answer = match[1].replace(",", "")
    steps = _MARKS.sub("", row["answer"][: match.start()]).strip()
    return Problem(
        id=str(row["row"]),
        question=row["question"],
        answer=answer,
        solution=f"{steps}\nThe answer is $\\boxed{{{answer}}}$.",
    )


def _dapo(row: datasets.Row) -> Problem:
    query = row["prompt"][0]["content"]
    question = query.strip().removeprefix(_BEFORE).removesuffix(_AFTER.rstrip()).strip()
    return Problem(
        id=str(row["extra_info"]["index"]),
        question=question,
        answer=str(row["reward_model"]["ground_truth"]).strip(),
        query=query,
        metadata={"language": "cn" if _HAN.search(question) else "en"},
    )


def _is_message(value: Any) -> bool:
    message = value[0] if isinstance(value, list | tuple) and len(value) == 1 else None
    return isinstance(message, Mapping) and isinstance(message.get("content"), str)


def _object_with(name: str) -> datasets.Kind:
    return datasets.Kind(
        f"an object with {name!r}",
        lambda value: isinstance(value, Mapping) and isinstance(value.get(name), str | int),
    )


def _benchmark(
    id: str,
    convert: Callable[[datasets.Row], Problem],
    licence: str,
    sizes: Mapping[str, int],
    **columns: Any,
) -> Environment:
    """A row of this module: by default of one split, with the box as its prompt.

    Args:
        id: Of the environment.
        convert: Function of a row to its problem.
        licence: Of the data.
        sizes: Problems of each split.
        **columns: Further arguments of `datasets.Schema`.
    """
    schema = datasets.Schema(**{"splits": {"test": datasets.Split("test")}, **columns})
    own = {"schema": schema, "convert": convert, "licence": licence, "sizes": sizes}
    return Environment(id=id, prompt="boxed", official="boxed", model="Qwen/Qwen3-4B", **own)


_AIME: dict[str, Any] = {
    "texts": ("problem",),
    "values": ("answer", "id"),
    "kinds": {"answer": datasets.ANSWER, "solution": datasets.TEXT},
    "aliases": {"problem": ("question", "Problem"), "answer": ("Answer",), "id": ("ID",)},
}
AIME24 = _benchmark(
    "AIME24-v0",
    partial(_competition, question="problem", metadata=("url",)),
    licence=_MAA,
    sizes={"test": 30},
    name="aime24",
    hub="HuggingFaceH4/aime_2024",
    splits={"test": datasets.Split("train", ("test", "train"))},
    **_AIME,
)
AIME25 = _benchmark(
    "AIME25-v0",
    partial(_competition, question="problem"),
    licence=_MAA,
    sizes={"test": 30},
    name="aime25",
    hub="math-ai/aime25",
    **_AIME,
)
AMC23 = _benchmark(
    "AMC23-v0",
    partial(_competition, question="question"),
    licence=_MAA,
    sizes={"test": 40},
    name="amc23",
    hub="math-ai/amc23",
    texts=("question",),
    values=("answer",),
    kinds={"answer": datasets.ANSWER, "solution": datasets.TEXT},
    aliases={"question": ("problem",)},
)
MATH500 = _benchmark(
    "MATH500-v0",
    _math,
    licence="MIT",
    sizes={"test": 500},
    name="math500",
    hub="HuggingFaceH4/MATH-500",
    texts=("problem", "answer", "unique_id", "subject"),
    values=("level",),
    kinds={"level": datasets.NUMBER, "solution": datasets.TEXT},
    key="unique_id",
)
MINERVA_MATH = _benchmark(
    "MinervaMath-v0",
    _minerva,
    licence="MIT OpenCourseWare's, CC BY-NC-SA 4.0",
    sizes={"test": 272},
    name="minerva_math",
    hub="math-ai/minervamath",
    texts=("question", "answer"),
    aliases={"question": ("problem",), "answer": ("solution",)},
    key="row",
)
GSM8K = _benchmark(
    "GSM8K-v0",
    _gsm8k,
    licence="MIT",
    sizes={"train": 7_473, "test": 1_319},
    name="gsm8k",
    hub="openai/gsm8k",
    splits={split: datasets.Split(split, config="main") for split in ("train", "test")},
    texts=("question", "answer"),
    key="row",
)
_DAPO = _benchmark(
    "DAPOMath17k-v0",
    _dapo,
    licence="Apache-2.0",
    sizes={"train": 17_398, "test": 30},
    name="dapo_math_17k",
    hub="BytedTsinghua-SIA/DAPO-Math-17k",
    splits={
        "train": datasets.Split("train", ("dapo-math-17k", "dapo_math_17k", "train")),
        "test": datasets.Split(
            "train", ("aime-2024", "test"), repository="BytedTsinghua-SIA/AIME-2024"
        ),
    },
    texts=(),
    values=("prompt", "reward_model", "extra_info"),
    kinds={
        "prompt": datasets.Kind("a list of one message", _is_message),
        "reward_model": _object_with("ground_truth"),
        "extra_info": _object_with("index"),
    },
    answer="reward_model",
    unique=("prompt", "content"),
)
DAPO_MATH = replace(_DAPO, prompt="dapo", official="official")
