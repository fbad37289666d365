"""Reward functions and data sets for TRL's trainers.

    from reasonenv.adapters.trl import AccuracyReward, dataset, format_reward

    GRPOTrainer(
        train_dataset=dataset("MMK12-v0"),
        reward_funcs=[AccuracyReward(reference="answer", options="options"), format_reward],
        ...
    )

The interface of a reward function in GRPOTrainer and RLOOTrainer (TRL 1.16,
docs/source/grpo_trainer.md, "Using a custom reward function", and
GRPOTrainer._calculate_rewards): it is called with the keywords `prompts`, `completions`,
`completion_ids`, every other column of the data set, `trainer_state`, `log_extra` and
`log_metric`; completions are texts, or lists of messages when the prompts are
conversations; it returns a number for each, or None for no reward; and it has a `__name__`, under
which its mean is logged.

The functions here use no signals and no event loop, so any thread and any coroutine may call them,
and they can be pickled for a process of TRL.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from reasonenv.adapters import shared_grader
from reasonenv.adapters.env_prompts import EnvPrompts
from reasonenv.env import STATUSES
from reasonenv.errors import UsageError
from reasonenv.grading import Grade
from reasonenv.messages import content, conversation
from reasonenv.rewards import has_verdict, in_think_answer_format
from reasonenv.workers import Grader

if TYPE_CHECKING:
    from datasets import Dataset

Completion = str | Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class AccuracyReward:
    """1.0 when the final answer of a completion is right, 0.0 when it is wrong or absent.

    None without a verdict: the answer does not parse or ran out of time or memory, or the row has
    no reference. TRL then leaves this function out of the row's reward.

    Answers, statuses and the share of each status are logged if the trainer supports it.

    Args:
        reference: The column that holds the right answers.
        options: The column that holds the texts of each multiple choice; None without one.
        kind: The column that holds the kind of each answer; None for the grader to guess it.
        grader: A grader that the caller closes; None for the shared one of the process.
    """

    reference: str = "solution"
    options: str | None = None
    grader: Grader | None = None
    kind: str | None = None

    __name__ = "accuracy_reward"

    def __call__(
        self, prompts: Any = None, completions: Sequence[Completion] = (), **columns: Any
    ) -> list[float | None]:
        """A reward for each completion, in order."""
        count = len(completions)
        references = _column(columns, self.reference, count)
        choices, kinds = (_column(columns, name, count) for name in (self.options, self.kind))
        rows = zip(map(text, completions), references, choices, kinds, strict=True)
        labeled = [
            (words, str(ref), texts or (), kind)
            for words, ref, texts, kind in rows
            if ref is not None
        ]
        grader = self.grader or shared_grader()
        labels = iter(grader.grade(*map(list, zip(*labeled, strict=True))) if labeled else ())
        grades = [None if reference is None else next(labels) for reference in references]
        _log(columns, grades)
        return [float(each.correct) if each and has_verdict(each) else None for each in grades]


def format_reward(
    prompts: Any = None, completions: Sequence[Completion] = (), **columns: Any
) -> list[float]:
    """1.0 for one think block and then one answer block, else 0.0; for each completion.

    See `reasonenv.rewards.think_answer_format`.
    """
    return [float(in_think_answer_format(text(completion))) for completion in completions]


def dataset(
    id: str,
    split: str | None = None,
    data: Any = None,
    **options: Any,
) -> "Dataset":
    """The problems of an environment as a data set for GRPOTrainer and RLOOTrainer.

    A row is made on access, its images read or drawn then: `prompt`, a conversation; `images`, PIL
    images in their order in it; `answer`; `options`, the texts of a multiple choice; `kind`, of
    the answer where it is declared; and `problem_id`. `select`, `shuffle` and
    `train_test_split` work as usual.

    Args:
        id: A registered name, such as "MMK12-v0".
        split: Part of the data; None for the environment's own default.
        data: As in `reasonenv.make`: a folder with local files, or your questions.
        **options: Further arguments of `reasonenv.make`, such as `prompt` and `filter`.

    Raises:
        UsageError: When an argument does not fit; the line says which.
    """
    from datasets import Dataset

    prompts = EnvPrompts(id, split=split, data=data, **options)
    rows = Dataset.from_dict({"index": range(len(prompts.problems))})
    return rows.with_transform(partial(_rows, prompts))


def _rows(prompts: EnvPrompts, batch: Mapping[str, Sequence[int]]) -> dict[str, list[Any]]:
    """The columns of the rows at some indices."""
    rows = [prompts[index] for index in batch["index"]]
    return {
        "prompt": [
            conversation(row.system, content(row.texts, [{"type": "image"}] * len(row.images)))
            for row in rows
        ],
        "images": [row.images for row in rows],
        "answer": [row.problem.answer for row in rows],
        "options": [list(row.problem.options) for row in rows],
        "kind": [row.problem.kind for row in rows],
        "problem_id": [row.problem.id for row in rows],
    }


def text(completion: Completion) -> str:
    """The text of a completion: of its last assistant message, if it is a list of messages.

    Tool calls and images have no text.
    """
    if isinstance(completion, str):
        return completion
    replies = [each for each in completion if each.get("role", "assistant") == "assistant"]
    content = replies[-1].get("content") if replies else None
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part.get("text") or "" for part in content)


def _column(columns: Mapping[str, Any], name: str | None, length: int) -> Sequence[Any]:
    if name is None:
        return [None] * length
    if name not in columns:
        names = ", ".join(sorted(columns)) or "none"
        raise UsageError(f"no column {name!r} came with the completions: there are {names}")
    if len(columns[name]) != length:
        raise UsageError(f"{length} completions, but {len(columns[name])} values of {name!r}")
    return columns[name]


def _log(columns: Mapping[str, Any], grades: Sequence[Grade | None]) -> None:
    if log_extra := columns.get("log_extra"):
        log_extra("answer", [(grade and grade.answer) or "" for grade in grades])
        log_extra("status", [grade.status if grade else "" for grade in grades])
    if log_metric := columns.get("log_metric"):
        statuses = [grade.status for grade in grades if grade]
        # Every status, as TRL gathers the values of all ranks by name.
        for status in STATUSES:
            log_metric(f"grade/{status}", statuses.count(status) / max(1, len(grades)))
