r"""Benchmarks with images, each a row of this module.

Description:
    MMMUPro-v0: questions of university courses in 30 subjects, up to twelve options, up to seven
    images; in the split "vision" question and options stand in a screenshot alone.

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
    ============= ============= ====== ===========================================================

    Local files have the names and columns of the hub, `<config>/test*.parquet` for MMMU-Pro.

Version History:
    v0: Initial version.
"""

from functools import partial

from reasonenv import datasets
from reasonenv.datasets.option_text import lettered_lines, printed_texts
from reasonenv.environment import Environment
from reasonenv.problem import Problem

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
MMMU_PRO = _benchmark(
    id="MMMUPro-v0",
    schema=datasets.Schema(
        name="mmmu_pro",
        hub="MMMU/MMMU_Pro",
        splits={
            "standard": datasets.Split("test", ("test",), config="standard (10 options)"),
            "standard_4": datasets.Split("test", ("test",), config="standard (4 options)"),
            "vision": datasets.Split("test", ("test",), config="vision"),
        },
        texts=("options", "answer", "id", "subject"),
        kinds={"question": datasets.TEXT},
        more_images=("image", *(f"image_{number}" for number in range(1, 8))),
    ),
    convert=_mmmu_pro,
    official="official",
    sizes=dict.fromkeys(("standard", "standard_4", "vision"), 1_730),
    licence="Apache-2.0",
)
