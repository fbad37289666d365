r"""AIME25-v0: the thirty problems of the American Invitational Mathematics Examination 2025.

Description:
    Competition mathematics in words, the two papers of fifteen problems each. Every answer is a
    whole number from 0 to 999.

Action Space: text whose final answer is a whole number.
Observation Space: a dict of `system`, `question`, and `images`, which is empty.
Prompts: "boxed" (default, also "official"), "dapo", "cpgd"; see `reasonenv.prompts`.
Rewards: accuracy (weight 1), 1 when the answer equals the reference, else 0. Papers report the mean
    of 32 samples.

Splits:
    The split test has 30 rows: the papers I and II.

Source and licence:
    https://huggingface.co/datasets/math-ai/aime25; the problems are the Mathematical
    Association of America's.
    The revision is not pinned: `python -m reasonenv.datasets.hub math-ai/aime25` prints it.

    Local files: `test*.jsonl`, `.json` or `.parquet` with the columns problem, answer, id.

    Further copies: opencompass/AIME2025, MathArena/aime_2025 (CC BY-NC-SA 4.0).

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
    name="aime25",
    hub="math-ai/aime25",
    splits={"test": datasets.Split("test")},
    texts=("problem",),
    values=("answer", "id"),
    kinds={"answer": datasets.ANSWER, "solution": datasets.TEXT},
    aliases={"problem": ("question", "Problem"), "answer": ("Answer",), "id": ("ID",)},
)


def _problem(row: datasets.Row) -> Problem:
    return Problem(
        id=str(row["id"]),
        question=row["problem"],
        answer=answer_text(row["answer"]),
        solution=row.get("solution") or None,
    )


problems = datasets.loader(SCHEMA, _problem, "test")
