r"""MinervaMath-v0: 272 problems of undergraduate science and mathematics, from MIT courses.

Description:
    Questions on astronomy, chemistry, differential equations, economics and physics whose answers
    are numbers with units or expressions.

Action Space: text whose final answer is a number or an expression.
Observation Space: a dict of `system`, `question`, and `images`, which is empty.
Prompts: "boxed" (default, also "official"), "dapo", "cpgd"; see `reasonenv.prompts`.
Rewards: accuracy (weight 1), 1 when the answer equals the reference, else 0.

Splits:
    The split test has all 272 rows.

Source and licence:
    https://huggingface.co/datasets/math-ai/minervamath; the questions are from MIT
    OpenCourseWare (CC BY-NC-SA 4.0).
    The revision is not pinned: `python -m reasonenv.datasets.hub math-ai/minervamath` prints it.

    Local files: `test*.parquet`, `.jsonl` or `.json` with the columns question (or problem) and
    answer (or solution, of which the last box counts). There are no ids: the row's number in the
    split is the id.

    Loading is tested on synthetic rows with the columns of the data set, not on its own.

    Lewkowycz et al., Solving Quantitative Reasoning Problems with Language Models
    (arXiv:2206.14858), "OCWCourses".

Version History:
    v0: Initial version.
"""

from reasonenv import datasets
from reasonenv.grading.reading import final_answer
from reasonenv.problem import Problem
from reasonenv.rewards import accuracy

SPLITS = ("test",)
PROMPT = OFFICIAL = "boxed"
REWARDS = {"accuracy": (1.0, accuracy)}

SCHEMA = datasets.Schema(
    name="minerva_math",
    hub="math-ai/minervamath",
    splits={"test": datasets.Split("test")},
    texts=("question", "answer"),
    aliases={"question": ("problem",), "answer": ("solution",)},
    key="row",
)


def _problem(row: datasets.Row) -> Problem:
    answer = row["answer"]
    return Problem(
        id=str(row["row"]),
        question=row["question"],
        # Where the column is a worked solution, its answer stands in a box.
        answer=final_answer(answer) or "" if "\\boxed" in answer else answer,
    )


problems = datasets.loader(SCHEMA, _problem, "test")
