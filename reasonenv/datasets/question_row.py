"""One row of a user's own questions as a problem, or a `DataError` that says what to do."""

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import count
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from reasonenv.datasets.column_names import Columns, cell
from reasonenv.datasets.images import data_url
from reasonenv.datasets.option_text import LETTERS, lettered_lines, option_texts
from reasonenv.errors import DataError
from reasonenv.files import parse_json
from reasonenv.grading import KINDS, final_answer
from reasonenv.problem import Problem

_MARK = re.compile(r"<image(?: ([0-9]+))?>")
_LETTER = re.compile(r"\(?([A-Za-z])[).:]?")
_LARGEST_WHOLE = 2**53
"""Floats from here on have an exponent, and not all of their digits are known."""
_LONGEST_ANSWER = 60
"""Characters of an answer that a worked solution neither boxes nor states."""


@dataclass(frozen=True)
class QuestionRow:
    """A row of questions.

    Args:
        row: Its values; of images that are read on access, functions to read them.
        columns: Its columns by field.
        folders: Folders that the paths of its images are relative to, in order of preference; they
            do not leave the last one. Empty for any path, relative to the current folder.
    """

    row: Mapping[str, Any]
    columns: Columns
    folders: Sequence[Path] = ()

    def value(self, field: str) -> Any:
        """The value of a field; None where it has no column or is missing."""
        value = self._cell(self.columns[field][0]) if self.columns[field] else None
        return None if _is_missing(value) else value

    def _cell(self, name: str) -> Any:
        """The value of a column; a list, where pandas has an array of one axis."""
        value = cell(self.row, name)
        return value.tolist() if isinstance(value, np.ndarray) and value.ndim == 1 else value

    def problem(self, id: str) -> Problem:
        """The problem without its images.

        Raises:
            DataError: The row makes none.
        """
        question = self._question()[0]
        answer, solution = self._answer()
        options = self._options()
        if options:
            answer = _letter(answer, options)
            question = _with_options(question, options)
        values = {name: self._cell(name) for name in self.columns["metadata"]}
        kind = self.text("kind")  # other words in a column of that name are not one
        return Problem(
            id=id,
            question=with_numbered_marks(question),
            answer=answer,
            options=options,
            solution=solution,
            kind=kind if kind in KINDS else None,
            metadata={k: v for k, v in values.items() if isinstance(v, str | int | float)},
        )

    def _question(self) -> tuple[str, list[Any]]:
        """The question, and the images that its messages hold."""
        question = self._needed("question")
        is_chat = isinstance(question, list) and all(isinstance(m, Mapping) for m in question)
        if is_chat and question:
            try:
                return _of_messages(question)
            except DataError as error:
                raise DataError(f"column {self.columns['question'][0]!r}: {error}") from None
        if not isinstance(question, str):
            raise self._unfit("question", question, "a text or a list of messages")
        return question, []

    @property
    def is_read_on_access(self) -> bool:
        """True where some of its images are."""
        return any(callable(self._cell(name)) for name in self.columns["images"])

    def images(self, on_access: bool = True) -> list[tuple[str, Any]]:
        """The images before decoding, each with its place.

        Args:
            on_access: False to leave those out that are read on access.

        Raises:
            DataError: There is no such file.
        """
        pairs: list[tuple[str, Any]] = []
        own = {name: self._question()[1] for name in self.columns["question"]}
        for name in (*own, *self.columns["images"]):
            value = own[name] if name in own else self._cell(name)
            if callable(value):
                value = value() if on_access else None
            value = _listed(value) if isinstance(value, str) else value
            values = value if isinstance(value, list | tuple) else [value]
            try:
                images = [_located(v, self.folders) for v in values if not _is_missing(v)]
            except DataError as error:
                raise DataError(f"column {name!r}: {error}") from None
            pairs += [(f"column {name!r}", image) for image in images]
        return pairs

    def text(self, field: str) -> str | None:
        """The text or number of a field as text; None where it is missing.

        Raises:
            DataError: It is neither.
        """
        value = self.value(field)
        if (text := _plain_text(value)) is None and value is not None:
            raise self._unfit(field, value, "a text or a number")
        return text

    def empty(self, field: str) -> DataError:
        """The error of a field that must have a value."""
        (name,) = self.columns[field]
        there = self._cell(name)
        state = "is empty" if there is None or there == "" else f"holds {there!r:.40}"
        return DataError(f"column {name!r} {state}: give the {field}, or leave the row out")

    def _needed(self, field: str) -> Any:
        value = self.value(field)
        if value is None:
            raise self.empty(field)
        return value

    def _unfit(self, field: str, value: object, expected: str) -> DataError:
        name, part, hint = self.columns[field][0], value, ""
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            name, part = f"{name}.0", value[0]
        if isinstance(part, Mapping) and part:
            hint = f"; name a part of it, columns={{{field!r}: '{name}.{_text_part(part)}'}}"
        line = f"column {self.columns[field][0]!r} holds {value!r:.60}: {expected} was expected"
        return DataError(line + hint)

    def _answer(self) -> tuple[str, str | None]:
        """The answer, and the worked solution where there is one."""
        value = self._needed("answer")
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
        text = _plain_text(value)
        if text is None:
            raise self._unfit("answer", value, "one text or number")
        solution = self.text("solution")
        if "####" in text:
            steps, _, text = text.rpartition("####")
            text = text.strip()
            solution = solution or f"{steps.strip()}\nThe answer is $\\boxed{{{text}}}$."
        elif self.columns["answer"][0].lower() == "solution":
            steps, text = text, final_answer(text) or ""
            solution = solution or (steps if steps != text else None)
            if not text or (steps == text and len(text) > _LONGEST_ANSWER):
                raise self._unfit("answer", steps, "an answer in \\boxed{} or after ####")
        if not text:
            raise self._unfit("answer", value, "an answer after ####")
        return text, solution

    def _options(self) -> tuple[str, ...]:
        """The texts of a multiple choice without their letters; empty where there is none."""
        value = self.value("options")
        value = _listed(value) if isinstance(value, str) else value
        if isinstance(value, Mapping):  # letters and texts; Arrow fills missing letters with None
            items = value.items()
            value = [f"{str(k).upper()}. {_plain_text(v)}" for k, v in items if not _is_missing(v)]
        if value is None or (isinstance(value, list | tuple) and not value):
            return ()
        texts = [_plain_text(v) or "" for v in value] if isinstance(value, list | tuple) else []
        if not 2 <= len(texts) <= len(LETTERS) or "" in texts:
            raise self._unfit("options", value, "a list of 2 to 26 texts")
        return option_texts(texts) or tuple(texts)


def check_marks(question: str, num_images: int) -> None:
    """Raises DataError for a mark in the question, such as "<image 2>", without an image."""
    highest = max((int(mark[1]) for mark in _MARK.finditer(question)), default=0)
    if highest > num_images:
        raise DataError(
            f"the question marks image {highest}, and the row has {num_images}: add it, remove "
            "the mark, or name the columns of images"
        )


def _is_missing(value: Any) -> bool:
    """True for None, blank texts, NaN and the missing values of pandas."""
    if isinstance(value, str):
        return value.strip() == "" or value.strip().lower() == "nan"
    if isinstance(value, float | np.floating | Decimal):
        return math.isnan(value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _text_part(value: Mapping[str, Any]) -> str:
    """Name of the part that is likely the text, such as the content of a message."""
    names = ("content", "text", "value", "ground_truth")
    return next((name for name in names if name in value), next(iter(value)))


def _plain_text(value: Any) -> str | None:
    """A text, a number or a truth value as text; 27.0 is "27"; None for another value."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Integral | np.bool_):
        return str(value)
    if isinstance(value, float | np.floating | Decimal) and math.isfinite(value):
        is_whole = abs(value) < _LARGEST_WHOLE and int(value) == value
        return str(int(value)) if is_whole else str(value)
    return None


def _listed(text: str) -> Any:
    """The JSON list or object in a text, as in a CSV file; its lines; or the text itself."""
    if (text.strip()[:1] + text.strip()[-1:]) in ("[]", "{}"):
        return parse_json(text, f"{text!r:.40} is not JSON")
    return text.splitlines() if "\n" in text.strip() else text


def _letter(answer: str, options: Sequence[str]) -> str:
    """The letter of the option that an answer names by letter or by text."""
    letters = LETTERS[: len(options)]
    match = _LETTER.fullmatch(answer)
    matches = {match[1].upper()} & set(letters) if match else set()
    matches |= {letter for letter, text in zip(letters, options, strict=True) if text == answer}
    if len(matches) != 1:
        state = "names two of" if matches else "is none of"
        raise DataError(
            f"the answer {answer!r:.40} {state} the options {list(options)!r:.80}: give a letter, "
            f"A to {letters[-1]}, or the text of one"
        )
    return matches.pop()


def _with_options(question: str, options: Sequence[str]) -> str:
    """The question with its options, a letter and a line each, unless it has them."""
    pairs = zip(LETTERS, options, strict=False)
    if all(re.search(rf"\b{letter}\W{{1,3}}{re.escape(text)}", question) for letter, text in pairs):
        return question
    return f"{question}\n{lettered_lines(options)}"


def with_numbered_marks(question: str) -> str:
    """The question, in which marks "<image>" are numbered in order."""
    numbers = count(1)

    def numbered(mark: re.Match[str]) -> str:
        number = next(numbers)
        return mark[0] if mark[1] else f"<image {number}>"

    return _MARK.sub(numbered, question)


def _located(image: Any, folders: Sequence[Path]) -> Any:
    """An image before decoding: {bytes}, an image or array itself, or a file of its name."""
    if isinstance(image, Mapping):
        image = image.get("bytes") or image.get("path") or image
    if isinstance(image, bytes):
        return {"bytes": image}
    if isinstance(image, Image.Image | np.ndarray):
        return image
    if not isinstance(image, str | Path):
        raise DataError(f"the image is {image!r:.40}: a path or the bytes of a file were expected")
    text = str(image)
    return {"bytes": data_url(text)} if text.startswith("data:") else _file(text, folders)


def _file(name: str, folders: Sequence[Path]) -> Path:
    """The file of a name in one of some folders, not outside of the last one."""
    if "://" in name:
        raise DataError(f"the image {name!r:.60} is no file: download it, and give its path")
    root = os.path.abspath(folders[-1]) if folders else ""
    paths = [os.path.abspath(os.path.join(folder, name)) for folder in folders or (Path(),)]
    inside = [path for path in paths if not root or Path(path).is_relative_to(root)]
    if not inside:
        raise DataError(f"the image {name!r:.60} is outside of {root}: move it there")
    file = next((path for path in inside if os.path.isfile(path)), None)
    if file is None:
        raise DataError(f"there is no image {inside[0]}: give a path relative to the file")
    return Path(file)


def _of_messages(messages: list[Mapping[str, Any]]) -> tuple[str, list[Any]]:
    """The question of a user message, with a system message in front of it.

    Args:
        messages: With `role` and `content`, a text or a list of parts of text or image.

    Returns:
        The text, in which "<image>" stands for each image, and the images that the messages hold.

    Raises:
        DataError: There is no user message, or more than that, or a part is neither.
    """
    roles = [message.get("role") for message in messages]
    if roles not in (["user"], ["system", "user"]):
        raise DataError(
            f"the messages are of {', '.join(map(str, roles)):.60}: give one of the user, or one "
            "of the system and one of the user"
        )
    images: list[Any] = []
    texts = [_text_and_images(message.get("content"), images) for message in messages]
    return "\n\n".join(filter(None, texts)), images


def _text_and_images(content: Any, images: list[Any]) -> str:
    """The text of a message; appends its images."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise DataError(f"the content of a message is {content!r:.40}: give a text or parts")
    words = []
    for part in content:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind == "text":
            words.append(str(part["text"]))
        elif kind in ("image", "image_url"):
            image = part.get(kind)
            image = image.get("url", image) if isinstance(image, Mapping) else image
            images += [] if image is None else [image]
            words.append("<image>")
        else:
            raise DataError(f"a part of a message is {part!r:.60}: give a text or an image")
    return "".join(words)
