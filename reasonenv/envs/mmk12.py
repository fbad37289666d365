r"""MMK12-v0: school mathematics with figures, and a multiple-choice test of four subjects.

Description:
    A question of school mathematics and its one figure. The training problems are fill-in
    questions whose answers were verified: numbers, expressions, short words. The test problems
    are multiple choice in mathematics, physics, chemistry and biology; their options stand inside
    the question, each on a line that begins with its letter.

Action Space: text whose final answer stands in `\boxed{}` inside `<answer>`; for a test problem the
    letter of an option.
Observation Space: a dict of `system`, `question`, and `images`: one array [height, width, 3] of
    uint8, RGB.
Prompts: "cpgd" (default); "official" is "mm_eureka", which asks for no think block; see
    `reasonenv.prompts`.
Rewards: accuracy (weight 1), 1 when the answer equals the reference, else 0; format (weight 0.5), 1
    for `<think>...</think><answer>...</answer>`, else 0.

Splits:
    ===== ====== ===================================================================
    split rows   content
    ===== ====== ===================================================================
    train 15,616 fill-in, mathematics: elementary, middle and high school
    test  2,000  multiple choice: 500 each of mathematics, physics, chemistry, biology
    ===== ====== ===================================================================

Source and licence:
    https://huggingface.co/datasets/FanqingM/MMK12 at revision 372a609, Apache-2.0, about 1.4 GB.
    Local files: `train-*.parquet` and `test-*.parquet` with the columns id, question, answer,
    subject (strings) and image (a struct of bytes and path).

Version History:
    v0: Initial version.
"""

from reasonenv import datasets
from reasonenv.environment import Environment
from reasonenv.problem import Problem
from reasonenv.rewards import accuracy, think_answer_format

SCHEMA = datasets.Schema(
    name="mmk12",
    hub="FanqingM/MMK12",
    revision="372a609268ea79b5e78d90ab173e02c37b486163",
    splits={split: datasets.Split(split) for split in ("train", "test")},
    texts=("question", "answer", "id", "subject"),
    images=("image",),
    paths=("image", "image_path"),
)


def _problem(row: datasets.Row) -> Problem:
    return Problem(row["id"], row["question"], row["answer"], metadata={"subject": row["subject"]})


ENVIRONMENT = Environment(
    id="MMK12-v0",
    schema=SCHEMA,
    convert=_problem,
    rewards={"accuracy": (1.0, accuracy), "format": (0.5, think_answer_format)},
    prompt="cpgd",
    official="mm_eureka",
    model="Qwen/Qwen2.5-VL-7B-Instruct",
    sizes={"train": 15_616, "test": 2_000},
    licence="Apache-2.0",
)
