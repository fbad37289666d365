r"""MathVision-v0: competition mathematics with figures, 16 subjects, five levels of difficulty.

Description:
    Problems of the Math Kangaroo, AMC, AIME, UK and other competitions, for grades 1 to 12. Half
    are choices of five, whose texts stand below the question unless they are parts of the figure,
    which are then named A to E; the others ask for a value. There is one image; where the
    question speaks of several, it shows them all, each below its name, "<image1>" and so on.

Action Space: text whose final answer is the letter or the text of an option, or a value.
Observation Space: a dict of `system`, `question`, and `images`: one array [height, width, 3] of
    uint8, RGB, which stands at "<image 1>" in the question.
Prompts: "cpgd" (default); "official", of the benchmark's own script, which asks for the answer in a
    box; "mm_eureka"; see `reasonenv.prompts`.
Rewards: accuracy (weight 1), 1 when the answer equals the reference, else 0.

Splits:
    ======== ===== ===========================================
    split    rows  content
    ======== ===== ===========================================
    test     3,040 all: what papers report
    testmini 304   a part of them
    ======== ===== ===========================================

Source and licence:
    https://huggingface.co/datasets/MathLLMs/MathVision, MIT.
    The revision is not pinned: `python -m reasonenv.datasets.hub MathLLMs/MathVision` prints it.

    Local files: `test*.parquet` and `testmini*.parquet` as on the hub, or `test*.jsonl` as in the
    benchmark's repository, with the images in `images/`.

    Wang et al., Measuring Multimodal Mathematical Reasoning with MATH-Vision (arXiv:2402.14804);
    github.com/mathllm/MATH-V, models/GPT4V.py for the prompt.

Version History:
    v0: Initial version.
"""

import re

from reasonenv import datasets
from reasonenv.datasets.option_text import LETTERS, lettered_lines
from reasonenv.environment import Environment
from reasonenv.problem import Problem

SCHEMA = datasets.Schema(
    name="mathvision",
    hub="MathLLMs/MathVision",
    splits={split: datasets.Split(split) for split in ("test", "testmini")},
    texts=("question", "answer", "id", "subject"),
    values=("options", "level"),
    kinds={"options": datasets.TEXTS, "level": datasets.NUMBER, "solution": datasets.TEXT},
    images=("decoded_image",),
    paths=("image",),
)

_OFFICIAL = (
    'Please solve the problem and put your answer in one "\\boxed{}". If it is a multiple choice '
    'question, only one letter is allowed in the "\\boxed{}".\n'
)
_MARK = re.compile(r"<image\d+>")


def _problem(row: datasets.Row) -> Problem:
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
        query=_OFFICIAL + question,
        solution=row.get("solution") or None,
        metadata={"subject": row["subject"], "level": int(row["level"])},
    )


ENVIRONMENT = Environment(
    id="MathVision-v0",
    schema=SCHEMA,
    convert=_problem,
    prompt="cpgd",
    official="official",
    model="Qwen/Qwen2.5-VL-7B-Instruct",
    sizes={"test": 3_040, "testmini": 304},
    licence="MIT",
)
