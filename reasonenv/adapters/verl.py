"""Reward functions for verl, one response at a time or a batch, and its data files.

    python -c 'from reasonenv.adapters import verl; verl.write("MMK12-v0", "train.parquet")'

    reward.custom_reward_function.path=pkg://reasonenv.adapters.verl
    reward.custom_reward_function.name=compute_score
    +reward.custom_reward_function.reward_kwargs.rewards.accuracy=1.0
    +reward.custom_reward_function.reward_kwargs.rewards.format=0.1

The interface of a reward function in verl (verl 0.9.1, docs/preparation/reward_function.rst,
experimental/reward_loop/reward_manager/naive.py and workers/reward_manager/batch.py): the manager
"naive" calls it with the keywords `data_source`, `solution_str`, `ground_truth` and `extra_info`,
from many threads; the manager "batch" with their plurals. The configuration's `reward_kwargs` come
on top, and two keywords about a reward model where there is one. It returns a number, or a dict
whose "score" is the reward; the rest of the dict is logged, DAPO's filter of groups reads "acc",
and majority votes read "pred".
"""

import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from reasonenv.adapters import shared_grader
from reasonenv.adapters.env_prompts import EnvPrompts, ProblemPrompt
from reasonenv.datasets.images import png
from reasonenv.errors import DataError
from reasonenv.files import atomic_write
from reasonenv.messages import conversation
from reasonenv.problem import Problem
from reasonenv.registration import find
from reasonenv.rewards import by_name, totals
from reasonenv.workers import Grader

MARK = "<image>"
"""verl's mark of an image."""
_ROWS = 256
"""Rows of a row group."""


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """The reward of one response, with answer and status; see `compute_scores`."""
    batch = [data_source], [solution_str], [ground_truth], [extra_info]
    return compute_scores(*batch, **kwargs)[0]


def compute_scores(  # noqa: PLR0913 - verl's keywords
    data_sources: Sequence[str],
    solution_strs: Sequence[str],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Mapping[str, Any] | None] | None = None,
    *,
    rewards: Mapping[str, Any] = MappingProxyType({"accuracy": 1.0}),
    grader: Grader | None = None,
    reward_router_address: object = None,
    reward_model_tokenizer: object = None,
) -> list[dict[str, Any]]:
    """The reward of each response, with answer and status, in order; from any thread.

    Args:
        data_sources: For errors alone.
        solution_strs: Responses, without their prompts.
        ground_truths: The right answer to each: texts or numbers.
        extra_infos: Where one has "options", these are the texts of a multiple choice; "kind" is
            the kind of its answer, and its "id" names the problem in errors.
        rewards: Names and weights, as `reasonenv.rewards.by_name` takes them. The weight of
            "unjudged" is the reward of an answer without a verdict, by default 0.
        grader: A grader that the caller closes; None for the shared one of the process.
        reward_router_address: verl's, unused.
        reward_model_tokenizer: verl's, unused.

    Returns:
        For each a dict of "score", the weighted sum; "acc", 1.0 when the answer is right, else
        0.0; "pred", the answer; "status", see `reasonenv.Grade`; and every part of the sum, NaN
        where it does not apply.

    Raises:
        ValueError: For a reference that is neither text nor number, rewards that do not fit, or
            one that is no finite number.
    """
    functions = by_name(rewards)
    extras = [None] * len(solution_strs) if extra_infos is None else extra_infos
    rows = zip(data_sources, ground_truths, extras, strict=True)
    problems = [_problem(source, truth, extra or {}) for source, truth, extra in rows]
    grades = (grader or shared_grader()).grade(
        list(solution_strs),
        [problem.answer for problem in problems],
        [problem.options for problem in problems],
        [problem.kind for problem in problems],
    )
    answered = list(zip(problems, solution_strs, grades, strict=True))
    return [
        {
            "score": score,
            "acc": float(g.correct),
            "pred": g.answer or "",
            "status": g.status,
            **parts,
        }
        for g, (score, parts) in zip(grades, totals(functions, answered), strict=True)
    ]


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
    `data_source`, `prompt`, messages with "<image>" in place of an image, `images`, PNGs as
    {bytes, path}, `ability`, `reward_model` with the `ground_truth`, and `extra_info` with the
    `options` for `compute_score`.

    Args:
        id: A registered name, such as "MMK12-v0".
        path: File, replaced as a whole.
        split: Part of the data; None for the environment's own default.
        data: Folder with local files; None for `REASONENV_DATA`, then the hub.
        num_problems: The first ones of the split; None for all.
        **options: Further arguments of `reasonenv.make`, such as `prompt` and `filter`.

    Returns:
        The number of rows.

    Raises:
        ValueError: When an argument does not fit, or a question contains "<image>".
    """
    import pyarrow
    from pyarrow import parquet

    prompts = EnvPrompts(id, split=split, data=data, **options)
    source, indices = find(id).id, range(len(prompts.problems))[:num_problems]
    schema = _schema()
    with atomic_write(path) as file, parquet.ParquetWriter(file, schema) as writer:
        for start in range(0, len(indices), _ROWS):
            rows = [_row(source, i, prompts[i]) for i in indices[start : start + _ROWS]]
            writer.write_table(pyarrow.Table.from_pylist(rows, schema))
    return len(indices)


def _row(source: str, index: int, prompt: ProblemPrompt) -> dict[str, Any]:
    problem = prompt.problem
    if any(MARK in text for text in (prompt.system, *prompt.texts)):
        raise DataError(f"problem {problem.id!r} says {MARK!r}, which is verl's mark of an image")
    return {
        "data_source": source,
        "prompt": conversation(prompt.system, MARK.join(prompt.texts)),
        "images": [{"bytes": png(image), "path": None} for image in prompt.images],
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": problem.answer},
        "extra_info": {
            "index": index,
            "id": problem.id,
            "options": list(problem.options),
            "kind": problem.kind,
        },
    }


def _schema() -> Any:
    """The schema of all row groups, also where the first has empty columns."""
    import pyarrow as pa

    text = pa.string()
    return pa.schema(
        {
            "data_source": text,
            "prompt": pa.list_(pa.struct({"role": text, "content": text})),
            "images": pa.list_(pa.struct({"bytes": pa.binary(), "path": text})),
            "ability": text,
            "reward_model": pa.struct({"style": text, "ground_truth": text}),
            "extra_info": pa.struct(
                {"index": pa.int64(), "id": text, "options": pa.list_(text), "kind": text}
            ),
        }
    )


def _problem(source: str, truth: Any, extra: Mapping[str, Any]) -> Problem:
    if not isinstance(truth, str | int | float | np.number):
        raise DataError(f"a row of {source!r} has ground_truth {truth!r}: give a text or a number")
    options = extra.get("options")
    # verl turns a column of lists into arrays, which have no truth value.
    return Problem(
        id=str(extra.get("id", source)),
        question="",
        answer=str(truth),
        options=() if options is None else tuple(options),
        kind=extra.get("kind"),
    )
