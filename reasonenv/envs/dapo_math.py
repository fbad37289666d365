r"""DAPOMath17k-v0: competition mathematics in words whose answers are whole numbers.

Description:
    17,398 problems, mostly of the Art of Problem Solving, rewritten so that every answer is an
    integer. Most are in English, the others in Chinese; `filter={"language": "en"}` poses the part
    on which RPG trains, 13.9k by its paper.

Action Space: text whose final answer is a whole number.
Observation Space: a dict of `system`, `question`, and `images`, which is empty.
Prompts: "dapo" (default, also "official"), the prompt in the data set; "boxed", "cpgd", ..., the
    question in another prompt.
Rewards: accuracy (weight 1), 1 when the answer equals the reference, else 0.

Splits:
    ===== ====== ========================================
    split rows   content
    ===== ====== ========================================
    train 17,398 different prompts, of 1,791,700 rows
    test  30     AIME 2024 in the same words, of 960 rows
    ===== ====== ========================================

Source and licence:
    https://huggingface.co/datasets/BytedTsinghua-SIA/DAPO-Math-17k, Apache-2.0, and for "test"
    https://huggingface.co/datasets/BytedTsinghua-SIA/AIME-2024, Apache-2.0.
    Of equal prompts the first row counts.
    The revision is not pinned:
    `python -m reasonenv.datasets.hub BytedTsinghua-SIA/DAPO-Math-17k` prints it.

    Local files: `dapo-math-17k*.parquet` or `dapo_math_17k*.jsonl`, and for "test" `aime-2024*`,
    with the columns prompt (a list of one message), reward_model and extra_info.

    Yu et al., DAPO (arXiv:2503.14476); github.com/BytedTsinghua-SIA/DAPO.

Version History:
    v0: Initial version.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from reasonenv import datasets
from reasonenv.problem import Problem
from reasonenv.prompts import PROMPTS
from reasonenv.rewards import accuracy

SPLITS = ("train", "test")
PROMPT = "dapo"
OFFICIAL = "official"
REWARDS = {"accuracy": (1.0, accuracy)}


def _is_message(value: Any) -> bool:
    message = value[0] if isinstance(value, list | tuple) and len(value) == 1 else None
    return isinstance(message, Mapping) and isinstance(message.get("content"), str)


def _has(name: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, Mapping) and isinstance(value.get(name), str | int)


SCHEMA = datasets.Schema(
    name="dapo_math_17k",
    hub="BytedTsinghua-SIA/DAPO-Math-17k",
    splits={
        "train": datasets.Split("train", ("dapo-math-17k", "dapo_math_17k", "train")),
        "test": datasets.Split(
            "train", ("aime-2024", "test"), repository="BytedTsinghua-SIA/AIME-2024"
        ),
    },
    texts=(),
    values=("prompt", "reward_model", "extra_info"),
    kinds={
        "prompt": datasets.Kind("a list of one message", _is_message),
        "reward_model": datasets.Kind("an object with 'ground_truth'", _has("ground_truth")),
        "extra_info": datasets.Kind("an object with 'index'", _has("index")),
    },
    answer="reward_model",
    unique=("prompt", "content"),
)

_BEFORE, _AFTER = PROMPTS["dapo"].template.split("{question}")
_HAN = re.compile(r"[\u4e00-\u9fff]")


def _problem(row: datasets.Row) -> Problem:
    query = row["prompt"][0]["content"]
    question = query.strip().removeprefix(_BEFORE).removesuffix(_AFTER.rstrip()).strip()
    return Problem(
        id=str(row["extra_info"]["index"]),
        question=question,
        answer=str(row["reward_model"]["ground_truth"]).strip(),
        query=query,
        metadata={"language": "cn" if _HAN.search(question) else "en"},
    )


problems = datasets.loader(SCHEMA, _problem, "train")
