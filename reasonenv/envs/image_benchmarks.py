r"""Benchmarks with images, each a row of this module.

Description:
    Questions with one to seven images: of university courses in 30 subjects, with up to twelve
    options (MMMUPro-v0; in its split "vision" question and options stand in a screenshot alone);
    of tests of reasoning, with options in the image (LogicVista-v0); of mathematics, each drawn in
    ten variants with other numbers (DynaMath-v0), whose worst case a score reports too.

Action Space: text whose final answer stands in `\boxed{}`, or on a last line of its own.
Observation Space: a dict of `system`, `question`, and `images`: arrays [height, width, 3] of uint8,
    RGB, which stand at their marks in the question, "<image 1>", else before it.
Prompts: "cpgd" (default); "official", where a benchmark's rule needs one, asks for the answer in
    the form that its rule reads.
Rewards: accuracy (weight 1), 1 when the answer equals the reference, else 0. `python -m
    reasonenv.score` has the benchmark's own rule.

Splits, source and licence:
    The revision is not pinned: `python -m reasonenv.datasets.hub MMMU/MMMU_Pro` prints the present
    one of a data set. docs/environments.md has licences, overlaps and rules.

    ============= ============= ====== ===========================================================
    environment   split         rows   content
    ============= ============= ====== ===========================================================
    MMMUPro-v0    standard      1,730  https://huggingface.co/datasets/MMMU/MMMU_Pro, "standard (10
                                       options)"; Yue et al., MMMU-Pro (arXiv:2409.02813)
                  standard_4    1,730  the same questions with four options
                  vision        1,730  the same with ten options, in a screenshot
    LogicVista-v0 test          447    https://huggingface.co/datasets/lscpku/LogicVista; Xiao et
                                       al., LogicVista (arXiv:2407.04973)
    DynaMath-v0   test          5,010  https://huggingface.co/datasets/DynaMath/DynaMath_Sample: the
                                       ten below, 501 seeds; Zou et al., DynaMath (arXiv:2411.00836)
                  sample_variant1 to sample_variant10 have 501 each
    ============= ============= ====== ===========================================================

    Local files have the names and columns of the hub: `<config>/test*.parquet` for MMMU-Pro,
    `sample1*.parquet` to `sample10*.parquet` for DynaMath, of which "test" has those that exist.

Version History:
    v0: Initial version.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from reasonenv import datasets
from reasonenv.datasets.option_text import lettered_lines, printed_texts
from reasonenv.environment import Environment
from reasonenv.problem import Problem

_MARK = re.compile(r"<image_?([0-9]*)>")


def _problem(row: datasets.Row, metadata: Sequence[str] = ()) -> Problem:
    options = tuple(row.get("options") or ())
    question = _MARK.sub(lambda mark: f"<image {mark[1] or 1}>", row["question"])
    return Problem(
        id=str(row["id"]),
        question=f"{question}\n{lettered_lines(options)}" if options else question,
        answer=row["answer"],
        options=options,
        metadata={name: row.get(name) for name in metadata},
    )


def _schema(name: str, hub: str, **columns: Any) -> datasets.Schema:
    """The schema of a data set: by default of one split, "test", with one image."""
    usual: dict[str, Any] = {
        "splits": {"test": datasets.Split("test")},
        "texts": ("question", "answer", "id"),
        "images": ("image",),
        "paths": ("image",),
    }
    return datasets.Schema(name, hub, **usual | columns)


_benchmark = partial(Environment, prompt="cpgd", model="Qwen/Qwen2.5-VL-7B-Instruct")


def _mmmu_pro(row: datasets.Row) -> Problem:
    options = printed_texts(row["options"])
    question = row.get("question")
    text = f"{question}\n{lettered_lines(options)}" if question else _IN_IMAGE
    return Problem(
        id=row["id"],
        question=text,
        answer=row["answer"],
        options=options,
        query=f"{text}\n{_LAST_LINE}",
        metadata={"subject": row["subject"], "topic_difficulty": row.get("topic_difficulty")},
    )


_IN_IMAGE = "Answer the multiple-choice question that is shown in the image."
_LAST_LINE = (
    "Think step by step. The last line of your response has the form 'Answer: LETTER' (without "
    "quotes), where LETTER is that of one of the options."
)
_MMMU_PRO = {
    "standard": "standard (10 options)",
    "standard_4": "standard (4 options)",
    "vision": "vision",
}
MMMU_PRO = _benchmark(
    id="MMMUPro-v0",
    schema=_schema(
        "mmmu_pro",
        "MMMU/MMMU_Pro",
        splits={
            name: datasets.Split("test", ("test",), config) for name, config in _MMMU_PRO.items()
        },
        texts=("options", "answer", "id", "subject"),
        kinds={"question": datasets.TEXT},
        images=(),
        more_images=("image", *(f"image_{number}" for number in range(1, 8))),
    ),
    convert=_mmmu_pro,
    official="official",
    sizes=dict.fromkeys(_MMMU_PRO, 1_730),
    licence="Apache-2.0",
)
LOGIC_VISTA = _benchmark(
    id="LogicVista-v0",
    schema=_schema(
        "logicvista",
        "lscpku/LogicVista",
        left_out=("v1_382 has no answer", lambda row: row.get("id") == "v1_382"),
    ),
    convert=partial(_problem, metadata=("skill", "broad_capability")),
    sizes={"test": 447},
    licence="Apache-2.0; images: those of the publishers of the tests",
    judge="GPT-4",
)
_VARIANTS = {f"sample_variant{number}": f"sample{number}" for number in range(1, 11)}
_DYNAMATH = _schema(
    "dynamath",
    "DynaMath/DynaMath_Sample",
    splits={name: datasets.Split(name, (file,)) for name, file in _VARIANTS.items()},
    texts=("question", "answer", "id", "answer_type"),
    images=("decoded_image",),
    aliases={"answer": ("ground_truth",)},
)
_JSON = (
    'Give your response as JSON with two keys: "solution", the steps to the answer, and "short '
    'answer", the answer alone: a letter for a choice, else a number with three decimals or a text.'
)


def _dynamath(split: str, data: str | None = None) -> Sequence[Problem]:
    parts = tuple(_VARIANTS) if split == "test" else (split,)
    return datasets.load_parts(_DYNAMATH, parts, data, lambda part, _: partial(_variant, part=part))


def _variant(row: datasets.Row, part: str) -> Problem:
    problem = _problem(row, ("id", "subject", "knowledge_level", "answer_type"))
    return replace(problem, id=f"{part}/{problem.id}", query=f"{problem.question}\n{_JSON}")


DYNAMATH = _benchmark(
    id="DynaMath-v0",
    schema=_DYNAMATH,
    problems=_dynamath,
    splits=("test", *_VARIANTS),
    official="official",
    cluster="id",
    sizes={"test": 5_010, **dict.fromkeys(_VARIANTS, 501)},
    licence="Apache-2.0",
)
