"""Reward functions for verl, one response at a time or a batch, and its data files.

    python -c 'from reasonenv.adapters import verl; verl.write("MMK12-v0", "train.parquet")'

    reward.custom_reward_function.path=pkg://reasonenv.adapters.verl
    reward.custom_reward_function.name=compute_score
    +reward.custom_reward_function.reward_kwargs.rewards.accuracy=1.0
    +reward.custom_reward_function.reward_kwargs.rewards.format=0.1

What verl expects of one (verl 0.9.1, docs/preparation/reward_function.rst,
experimental/reward_loop/reward_manager/naive.py and workers/reward_manager/batch.py): the manager
"naive" calls it with the keywords `data_source`, `solution_str`, `ground_truth` and `extra_info`,
from many threads; the manager "batch" with their plurals. The configuration's `reward_kwargs` come
on top, and two keywords about a reward model where there is one. It gives a number, or a dict
whose "score" is the reward; the rest of the dict is logged, DAPO's filter of groups reads "acc"
there, and majority votes "pred".
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from reasonenv.adapters import shared_grader
from reasonenv.adapters.asked import Asked, Said
from reasonenv.atomic_write import atomic_write
from reasonenv.datasets.images import png
from reasonenv.errors import DataError
from reasonenv.problem import Problem
from reasonenv.rewards import by_name, total
from reasonenv.workers import Grader

MARK = "<image>"
"""Where an image stands, for verl."""
ROWS = 256
"""Of a row group."""
ACCURACY: Mapping[str, Any] = {"accuracy": 1.0}


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """The reward of one response and what explains it; see `compute_scores`."""
    one = [data_source], [solution_str], [ground_truth], [extra_info]
    return compute_scores(*one, **kwargs)[0]


def compute_scores(  # noqa: PLR0913 - verl's keywords
    data_sources: Sequence[str],
    solution_strs: Sequence[str],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Mapping[str, Any] | None] | None = None,
    *,
    rewards: Mapping[str, Any] = ACCURACY,
    grader: Grader | None = None,
    reward_router_address: object = None,
    reward_model_tokenizer: object = None,
) -> list[dict[str, Any]]:
    """The reward of each response and what explains it, in order; from any thread.

    Args:
        data_sources: Named when a row has no reference; otherwise unread.
        solution_strs: Responses, without their prompts.
        ground_truths: The right answer to each: texts or numbers.
        extra_infos: Where one has "options", those are the texts of a multiple choice.
        rewards: Names and weights, as `reasonenv.rewards.by_name` takes them. The weight of
            "unjudged" is what is paid for an answer that could not be judged; without it, 0.
        grader: Yours to close; None for one that the whole process shares.
        reward_router_address: verl's, unread.
        reward_model_tokenizer: verl's, unread.

    Returns:
        For each a dict of "score", the weighted sum; "acc", 1.0 when the answer is right, else
        0.0; "pred", the answer; "status", see `reasonenv.Grade`; and every part of the sum.

    Raises:
        ValueError: For a reference that is neither text nor number, or rewards that do not fit.
    """
    chosen = by_name(rewards)
    extras = [None] * len(solution_strs) if extra_infos is None else extra_infos
    rows = zip(data_sources, ground_truths, extras, strict=True)
    problems = [_problem(source, truth, extra or {}) for source, truth, extra in rows]
    grades = (grader or shared_grader()).grade(
        list(solution_strs),
        [problem.answer for problem in problems],
        [problem.options for problem in problems],
    )
    scores = []
    for response, problem, grade in zip(solution_strs, problems, grades, strict=True):
        score, parts = total(chosen, response, problem, grade)
        told = {"acc": float(grade.correct), "pred": grade.answer or "", "status": grade.status}
        scores.append({"score": score, **told, **parts})
    return scores


def write(
    id: str,
    path: str | os.PathLike[str],
    split: str | None = None,
    data: str | os.PathLike[str] | None = None,
    num_problems: int | None = None,
    **options: Any,
) -> int:
    """Writes the problems of an environment as a Parquet file that verl trains on.

    The columns are those of verl's own examples (verl 0.9.1, utils/dataset/rl_dataset.py):
    `data_source`, `prompt`, messages that say "<image>" where an image stands, `images`, PNGs as
    {bytes, path}, `ability`, `reward_model` with the `ground_truth`, and `extra_info` with the
    `options` that `compute_score` looks for.

    Args:
        id: A registered name, such as "MMK12-v0".
        path: Of the file; a kill leaves the old one or the new one.
        split: Part of the data; None for the environment's own default.
        data: Folder with local files; None for `REASONENV_DATA`, then the hub.
        num_problems: The first ones of the split; None for all.
        **options: Further arguments of `reasonenv.make`, such as `prompt` and `filter`.

    Returns:
        The number of rows.

    Raises:
        ValueError: When an argument does not fit, or a question says "<image>" itself.
    """
    from pyarrow import parquet

    asked = Asked(id, split, data, options)
    count = len(asked) if num_problems is None else min(num_problems, len(asked))
    with atomic_write(path) as file, parquet.ParquetWriter(file, _schema()) as writer:
        for table in _tables(asked, count):
            writer.write_table(table)
    return count


def _tables(asked: Asked, count: int) -> Iterator[Any]:
    """Parts of a file, none larger than memory likes."""
    import pyarrow

    for start in range(0, count, ROWS):
        numbers = range(start, min(start + ROWS, count))
        rows = [_row(asked.name, index, asked[index]) for index in numbers]
        yield pyarrow.Table.from_pylist(rows, _schema())


def _row(source: str, index: int, said: Said) -> dict[str, Any]:
    problem = said.problem
    if any(MARK in words for words in (said.system, *said.texts)):
        raise DataError(f"problem {problem.id!r} says {MARK!r}, which is verl's mark of an image")
    user = {"role": "user", "content": MARK.join(said.texts)}
    system = [{"role": "system", "content": said.system}] if said.system else []
    return {
        "data_source": source,
        "prompt": [*system, user],
        "images": [{"bytes": png(image), "path": None} for image in said.images],
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": problem.answer},
        "extra_info": {"index": index, "id": problem.id, "options": list(problem.options)},
    }


def _schema() -> Any:
    """One for all parts, whatever the first of them lacks."""
    import pyarrow as pa

    words = pa.string()
    return pa.schema(
        {
            "data_source": words,
            "prompt": pa.list_(pa.struct({"role": words, "content": words})),
            "images": pa.list_(pa.struct({"bytes": pa.binary(), "path": words})),
            "ability": words,
            "reward_model": pa.struct({"style": words, "ground_truth": words}),
            "extra_info": pa.struct({"index": pa.int64(), "id": words, "options": pa.list_(words)}),
        }
    )


def _problem(source: str, truth: Any, extra: Mapping[str, Any]) -> Problem:
    if not isinstance(truth, str | int | float | np.number):
        raise DataError(f"a row of {source!r} has ground_truth {truth!r}: give a text or a number")
    options = extra.get("options")
    # Of a column of lists verl makes arrays, whose truth is no one's to ask.
    return Problem(
        id=str(source),
        question="",
        answer=str(truth),
        options=() if options is None else tuple(options),
    )
