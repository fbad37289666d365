r"""WeMath-v0: problems of two and three steps, and their single steps.

Description:
    525 composite problems of school mathematics with figures, 360 of two steps and 165 of three.
    Each step is a multiple-choice question of its own, and so is the whole: 1,740 questions, from
    which the official metric tells understanding from rote memorization. The
    options stand below the question; the last is "No correct answer".

Action Space: text whose final answer is the letter or the text of an option.
Observation Space: a dict of `system`, `question`, and `images`: one array [height, width, 3] of
    uint8, RGB.
Prompts: "cpgd" (default); "official", the benchmark's, without its optional text about the
    knowledge that is needed; "mm_eureka"; see `reasonenv.prompts`.
Rewards: accuracy (weight 1), 1 when the option is right, else 0. `python -m reasonenv.score`
    computes the four-dimensional metric.

Splits:
    The split testmini has 1,740 rows: 525 composite problems and their 1,215 steps.

    Metadata: ID (shared by the questions of a composite problem), key (which of them), knowledge.

Source and licence:
    https://huggingface.co/datasets/We-Math/We-Math, CC BY-NC 4.0: not for commercial use.
    The revision is not pinned: `python -m reasonenv.datasets.hub We-Math/We-Math` prints it.

    Local files: `testmini*.parquet` as on the hub; or `testmini*.json` as in the benchmark's
    repository, where `image_path` is the path of the image.

    Qiao et al., We-Math (arXiv:2407.01284); github.com/We-Math/We-Math.

Version History:
    v0: Initial version.
"""

import re

from reasonenv import datasets
from reasonenv.datasets.option_text import lettered_lines, option_texts
from reasonenv.environment import Environment
from reasonenv.problem import Problem


def _is_key(value: object) -> bool:
    return isinstance(value, str) and value[:1].isdecimal()


SCHEMA = datasets.Schema(
    name="wemath",
    hub="We-Math/We-Math",
    splits={"testmini": datasets.Split("testmini")},
    texts=("question", "answer", "option", "ID", "key"),
    values=("question number",),
    kinds={"key": datasets.Kind("'2steps_1', '3steps_multi' or the like", _is_key)},
    images=("image_path",),
    paths=("image_path",),
    key="question number",
)

_OFFICIAL = (
    "Now, we require you to solve a multiple-choice math question. Please briefly describe your "
    "thought process and provide the final answer(option).\nQuestion: {question}\n"
    "Option: {option}\nRegarding the format, please answer following the template below, and be "
    "sure to include two <> symbols:\n<Thought process>: <<your thought process>> "
    "<Answer>: <<your option>>"
)


def _problem(row: datasets.Row) -> Problem:
    # "A. 3; B. 4; C. No correct answer"; a text may have semicolons itself.
    parts = option_texts(re.split(r";\s*(?=[A-H]\s*[.．])", row["option"]))
    options = tuple(part.rstrip("; ") for part in parts)
    lines = lettered_lines(options) or row["option"]
    query = _OFFICIAL.replace("{option}", row["option"], 1)
    return Problem(
        id=str(row["question number"]),
        question=f"{row['question']}\n{lines}",
        answer=row["answer"].strip(),
        options=options,
        query=query.replace("{question}", row["question"], 1),
        metadata={"key": row["key"], "ID": row["ID"], "knowledge": row.get("knowledge concept")},
    )


ENVIRONMENT = Environment(
    id="WeMath-v0",
    schema=SCHEMA,
    convert=_problem,
    prompt="cpgd",
    official="official",
    cluster="ID",
    model="Qwen/Qwen2.5-VL-7B-Instruct",
    sizes={"testmini": 1_740},
    licence="CC BY-NC 4.0",
)
