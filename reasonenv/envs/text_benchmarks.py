r"""Benchmarks in words, each a row of this module, and two data sets to train on.

Description:
    Competition, school and undergraduate mathematics without images: AIME24-v0, AIME25-v0,
    AIME26-v0, HMMTFeb25-v0, HMMTNov25-v0, HMMTFeb26-v0, BeyondAIME-v0, AMC23-v0, MATH500-v0,
    MinervaMath-v0, GSM8K-v0 and DAPOMath17k-v0; PolyMath-v0 in 18 languages.

Action Space: text whose final answer stands in `\boxed{}`, or on a last line of its own.
Observation Space: a dict of `system`, `question`, and `images`, which is empty.
Prompts: "boxed" (default, also "official"), "dapo", "cpgd"; of DAPOMath17k-v0 "dapo" (default, also
    "official"), the prompt in the data set. See `reasonenv.prompts`.
Rewards: accuracy (weight 1), 1 when the answer equals the reference, else 0. Papers report the mean
    of 32 samples of AIME and AMC.

Splits: in docs/environments.md, Data sets, with sources, licences, rules and overlaps. Local files
    are `train*` and `test*`, `.jsonl`, `.json` or `.parquet`, with the columns of the rows below;
    of DAPOMath17k-v0 `dapo-math-17k*` or `dapo_math_17k*`, and `aime-2024*`. Where there are no
    ids the row's number in the split is the id.

Version History:
    v0: Initial version.
"""

import re
from collections.abc import Mapping
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


def _competition(row: datasets.Row) -> Problem:
    return Problem(
        id=str(row.get("id", row["row"])),
        question=row["problem"],
        answer=answer_text(row["answer"]),
        solution=row.get("solution") or None,
        metadata={"url": row["url"]} if "url" in row else {},
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


_benchmark = partial(Environment, prompt="boxed", official="boxed", model="Qwen/Qwen3-4B")


def _contest(name: str, id: str, hub: str, split: str, licence: str, size: int) -> Environment:
    """A contest whose columns are "problem" and "answer", and "id" where it has one."""
    schema = datasets.Schema(
        name=name,
        hub=hub,
        splits={"test": datasets.Split(split, ("test", "train"))},
        texts=("problem",),
        values=("answer",),
        kinds={"answer": datasets.ANSWER, "solution": datasets.TEXT},
        aliases={
            "problem": ("question", "Problem"),
            "answer": ("Answer",),
            "id": ("ID", "problem_idx"),
        },
    )
    return _benchmark(
        id=id, schema=schema, convert=_competition, licence=licence, sizes={"test": size}
    )


AIME24 = _contest("aime24", "AIME24-v0", "HuggingFaceH4/aime_2024", "train", _MAA, 30)
AIME25 = _contest("aime25", "AIME25-v0", "math-ai/aime25", "test", _MAA, 30)
AMC23 = _contest("amc23", "AMC23-v0", "math-ai/amc23", "test", _MAA, 40)
BEYOND_AIME = _contest(
    "beyond_aime", "BeyondAIME-v0", "ByteDance-Seed/BeyondAIME", "test", "CC0 1.0", 100
)
AIME26, HMMT_FEB25, HMMT_NOV25, HMMT_FEB26 = (
    _contest(name, id, f"MathArena/{name}", "train", "CC BY-NC-SA 4.0", size)
    for name, id, size in (
        ("aime_2026", "AIME26-v0", 30),
        ("hmmt_feb_2025", "HMMTFeb25-v0", 30),
        ("hmmt_nov_2025", "HMMTNov25-v0", 30),
        ("hmmt_feb_2026", "HMMTFeb26-v0", 33),
    )
)
_ONE_SPLIT = {"test": datasets.Split("test")}
MATH500 = _benchmark(
    id="MATH500-v0",
    schema=datasets.Schema(
        name="math500",
        hub="HuggingFaceH4/MATH-500",
        splits=_ONE_SPLIT,
        texts=("problem", "answer", "unique_id", "subject"),
        values=("level",),
        kinds={"level": datasets.NUMBER, "solution": datasets.TEXT},
        key="unique_id",
    ),
    convert=_math,
    licence="MIT",
    sizes={"test": 500},
)
_LANGUAGES = (
    *("en", "zh", "ar", "bn", "de", "es", "fr", "id", "it", "ja", "ko"),
    *("ms", "pt", "ru", "sw", "te", "th", "vi"),
)
_LEVELS = ("top", "high", "medium", "low")
_PARTS = {f"{language}-{level}": (language, level) for language in _LANGUAGES for level in _LEVELS}
POLY_MATH = _benchmark(
    id="PolyMath-v0",
    schema=datasets.Schema(
        name="polymath",
        hub="Qwen/PolyMath",
        splits={
            name: datasets.Split(level, (level,), config)
            for name, (config, level) in _PARTS.items()
        },
        texts=("problem", "answer", "id"),
        aliases={"problem": ("question",)},
    ),
    convert=_competition,
    licence="Apache-2.0",
    sizes=dict.fromkeys(_PARTS, 125),
)
MINERVA_MATH = _benchmark(
    id="MinervaMath-v0",
    schema=datasets.Schema(
        name="minerva_math",
        hub="math-ai/minervamath",
        splits=_ONE_SPLIT,
        texts=("question", "answer"),
        aliases={"question": ("problem",), "answer": ("solution",)},
        key="row",
    ),
    convert=_minerva,
    licence="MIT OpenCourseWare's, CC BY-NC-SA 4.0",
    sizes={"test": 272},
)
GSM8K = _benchmark(
    id="GSM8K-v0",
    schema=datasets.Schema(
        name="gsm8k",
        hub="openai/gsm8k",
        splits={split: datasets.Split(split, config="main") for split in ("train", "test")},
        texts=("question", "answer"),
        key="row",
    ),
    convert=_gsm8k,
    licence="MIT",
    sizes={"train": 7_473, "test": 1_319},
)
DAPO_MATH = _benchmark(
    id="DAPOMath17k-v0",
    schema=datasets.Schema(
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
    ),
    convert=_dapo,
    licence="Apache-2.0",
    sizes={"train": 17_398, "test": 30},
    prompt="dapo",
    official="official",
)
