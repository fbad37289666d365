r"""file: your own questions, from a file, a folder or an object in Python.

    python -m agents.cpgd --env file --data questions.jsonl --env-options '{"holdout": 0.1}'
    reasonenv.make("file", data=[{"question": "What is 2 + 3?", "answer": 5}])

Description:
    `data` is a file of JSON lines, JSON, CSV or Parquet; a folder with such files, with a data set
    of `Dataset.save_to_disk`, or with images and their metadata (`imagefolder`); or a list of
    dicts, a `datasets.Dataset` or `DatasetDict`, or a pandas DataFrame. No hub is contacted.

    Columns are found by usual names: see `reasonenv.datasets.column_names.USUAL`. Other names, of
    the fields question, answer, images, options, id, split, solution and metadata, are given as
    columns={"question": "frage", "metadata": ["fach", "stufe"]}; a dot leads into an object,
    "reward_model.ground_truth", and None means no column.

    Images are the paths of files, relative to the file of questions and within its folder, or
    bytes, data URLs, or lists; "<image 1>" or "<image>" in the question marks their places. Options
    are a list of texts, and the answer is the letter or the text of one. Rows without an id have
    their number, from 1, as their id.

Action Space: text with a final answer.
Observation Space: a dict of `system`, `question`, and `images`, a tuple of RGB arrays.
Prompts: "boxed" (default), "cpgd", "dapo", "plain"; see `reasonenv.prompts`.
Rewards: accuracy (weight 1), 1 when the answer equals the reference, else 0.

Splits:
    Those of a column called split, else of words such as train, test or validation in the names of
    files and folders, or of a `DatasetDict`; else all rows are "train". `holdout=0.1` takes about a
    tenth out of the training split, as the split "heldout", by a checksum of the question.

Rows that make no problem are listed, with what to do about each: training ends with the list, an
evaluation leaves them out. `without=["7"]` leaves out rows by id, `without="invalid"` all of these.

Version History:
    Unversioned: the problems are yours.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from reasonenv.datasets.questions import Question, Questions, load_questions
from reasonenv.datasets.selection import has_images, held_out
from reasonenv.environment import HELD_OUT, Environment
from reasonenv.errors import ReasonEnvError, UsageError


def splits(
    data: Any = None, columns: Mapping[str, Any] | None = None, holdout: float | None = None
) -> tuple[str, ...]:
    """The splits of the rows, the training split first, and the one that is held out last."""
    names = _splits(_load(data, columns))
    return names if holdout is None else (*names, HELD_OUT)


def problems(
    split: str | None = None,
    data: Any = None,
    columns: Mapping[str, Any] | None = None,
    holdout: float | None = None,
) -> Questions:
    """The problems of a split, by default that to train on; see the module.

    Raises:
        UsageError: There are no data, or no such split or column.
        DataError: The data cannot be read.
    """
    questions = _load(data, columns)
    names = _splits(questions)
    is_held_out = split == HELD_OUT and holdout is not None
    part = names[0] if split is None or is_held_out else split
    if part not in names:
        raise UsageError(
            f"the questions have no split {split!r}: there are {', '.join(names)}, and "
            f"holdout=0.1 takes out a part as {HELD_OUT!r}"
        )
    rows = [row for row in questions if row.split in (None, part)]
    if holdout is not None and part == names[0]:
        is_selected = held_out(holdout, is_held_out)
        rows = [row for row in rows if is_selected(row.text)]
    if not rows:
        texts = len({question.text for question in questions})
        raise UsageError(
            f"holdout={holdout} of {len(questions)} questions, of {texts} different texts, leaves "
            f"none for {split!r}: choose another fraction, or give the rows a column 'split'"
        )
    return Questions(rows)


def default_model(data: Any = None, columns: Mapping[str, Any] | None = None) -> str:
    """A model that reads images where one of the first rows has one, else one for text."""
    try:
        is_visual = has_images(Questions(_load(data, columns)))
    except ReasonEnvError:  # making the environment reports it
        is_visual = False
    return "Qwen/Qwen2.5-VL-3B-Instruct" if is_visual else "HuggingFaceTB/SmolLM2-135M-Instruct"


def _load(data: Any, columns: Mapping[str, Any] | None) -> list[Question]:
    if data is None or (isinstance(data, str) and not data):
        raise UsageError(
            "file needs your questions: --data questions.jsonl, or in Python data=, a path, a "
            "list of dicts, a Dataset or a DataFrame"
        )
    return load_questions(data, columns)


def _splits(questions: Sequence[Question]) -> tuple[str, ...]:
    names = dict.fromkeys(row.split for row in questions if row.split is not None)
    return tuple(sorted(names, key=lambda name: name != "train")) or ("train",)


ENVIRONMENT = Environment(
    id="file",
    problems=problems,
    splits=splits,
    prompt="boxed",
    model=default_model,
)
