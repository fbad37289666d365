r"""GSM8K-v0: school mathematics in words, two to eight steps of arithmetic.

Description:
    A word problem whose answer is a number. `Problem.solution` is the data set's, without its
    calculator marks and with the answer in a box.

Action Space: text whose final answer is a number.
Observation Space: a dict of `system`, `question`, and `images`, which is empty.
Prompts: "boxed" (default, also "official"), "dapo", "cpgd"; see `reasonenv.prompts`.
Rewards: accuracy (weight 1), 1 when the answer equals the reference, else 0.

Splits:
    ===== ===== =====================
    split rows  content
    ===== ===== =====================
    train 7,473 with worked solutions
    test  1,319 with worked solutions
    ===== ===== =====================

Source and licence:
    https://huggingface.co/datasets/openai/gsm8k, configuration main, MIT.
    The revision is not pinned: `python -m reasonenv.datasets.hub openai/gsm8k` prints it.

    Local files: `train*` and `test*`, `.parquet`, `.jsonl` or `.json`, with the columns question
    and answer. There are no ids: the row's number in the split is the id.

    Cobbe et al., Training Verifiers to Solve Math Word Problems (arXiv:2110.14168);
    github.com/openai/grade-school-math.

Version History:
    v0: Initial version.
"""

import re

from reasonenv import datasets
from reasonenv.errors import DataError
from reasonenv.problem import Problem
from reasonenv.rewards import accuracy

SPLITS = ("train", "test")
PROMPT = OFFICIAL = "boxed"
REWARDS = {"accuracy": (1.0, accuracy)}

SCHEMA = datasets.Schema(
    name="gsm8k",
    hub="openai/gsm8k",
    splits={split: datasets.Split(split, config="main") for split in SPLITS},
    texts=("question", "answer"),
    key="row",
)

_ANSWER = re.compile(r"#### *(-?[0-9.,]+)")
_MARKS = re.compile(r"<<[^<>]*>>")


def _problem(row: datasets.Row) -> Problem:
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


problems = datasets.loader(SCHEMA, _problem, "train")
