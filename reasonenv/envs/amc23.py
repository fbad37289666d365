r"""AMC23-v0: forty problems of the American Mathematics Competition (AMC 12) 2023.

Description:
    Competition mathematics in words. The choices of the original are left out; every answer is a
    whole number.

Action Space: text whose final answer is a number.
Observation Space: a dict of `system`, `question`, and `images`, which is empty.
Prompts: "boxed" (default, also "official"), "dapo", "cpgd"; see `reasonenv.prompts`.
Rewards: accuracy (weight 1), 1 when the answer equals the reference, else 0. Papers report the mean
    of 32 samples.

Splits:
    The split test has 40 rows: AMC 12A and 12B, those whose answer is a whole number.

Source and licence:
    https://huggingface.co/datasets/math-ai/amc23; the problems are the Mathematical Association
    of America's.
    The revision is not pinned: `python -m reasonenv.datasets.hub math-ai/amc23` prints it.

    Local files: `test*.parquet`, `.jsonl` or `.json` with the columns question (or problem),
    answer (a number or a text) and, if there is one, id.

    Loading is tested on synthetic rows with the columns of the data set, not on its own.

    Further copy: evaluation/data/amc23 of github.com/QwenLM/Qwen2.5-Math.

Version History:
    v0: Initial version.
"""

from reasonenv import datasets
from reasonenv.problem import Problem, answer_text
from reasonenv.rewards import accuracy

SPLITS = ("test",)
PROMPT = OFFICIAL = "boxed"
REWARDS = {"accuracy": (1.0, accuracy)}

SCHEMA = datasets.Schema(
    name="amc23",
    hub="math-ai/amc23",
    splits={"test": datasets.Split("test")},
    texts=("question",),
    values=("answer",),
    kinds={"answer": datasets.ANSWER},
    aliases={"question": ("problem",)},
)


def _problem(row: datasets.Row) -> Problem:
    return Problem(
        id=str(row.get("id", row["row"])),
        question=row["question"],
        answer=answer_text(row["answer"]),
    )


problems = datasets.loader(SCHEMA, _problem, "test")
