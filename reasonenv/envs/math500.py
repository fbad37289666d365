r"""MATH500-v0: 500 problems of the MATH data set, for evaluation.

Description:
    Competition mathematics in words, seven subjects and five levels; answers are numbers,
    expressions, intervals, matrices, short texts.

Action Space: text whose final answer stands in `\boxed{}`.
Observation Space: a dict of `system`, `question`, and `images`, which is empty.
Prompts: "boxed" (default, also "official"), "dapo", "cpgd"; see `reasonenv.prompts`.
Rewards: accuracy (weight 1), 1 when the answer equals the reference, else 0.

Splits:
    The split test has 500 rows: the part of MATH that PRM800K keeps for testing.

Source and licence:
    https://huggingface.co/datasets/HuggingFaceH4/MATH-500, MIT.
    The revision is not pinned: `python -m reasonenv.datasets.hub HuggingFaceH4/MATH-500` prints it.

    Local files: `test*.jsonl`, `.json` or `.parquet` with the columns problem, solution, answer,
    subject, level, unique_id.

    Lightman et al., Let's Verify Step by Step (arXiv:2305.20050); github.com/openai/prm800k.

Version History:
    v0: Initial version.
"""

from reasonenv import datasets
from reasonenv.problem import Problem
from reasonenv.rewards import accuracy

SPLITS = ("test",)
PROMPT = OFFICIAL = "boxed"
REWARDS = {"accuracy": (1.0, accuracy)}

SCHEMA = datasets.Schema(
    name="math500",
    hub="HuggingFaceH4/MATH-500",
    splits={"test": datasets.Split("test")},
    texts=("problem", "answer", "unique_id", "subject"),
    values=("level",),
    kinds={"level": datasets.NUMBER, "solution": datasets.TEXT},
    key="unique_id",
)


def _problem(row: datasets.Row) -> Problem:
    return Problem(
        id=row["unique_id"],
        question=row["problem"],
        answer=row["answer"],
        solution=row.get("solution") or None,
        metadata={"subject": row["subject"], "level": int(row["level"])},
    )


problems = datasets.loader(SCHEMA, _problem, "test")
