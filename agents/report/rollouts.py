"""Sampled rollouts in compact form: compressed groups of responses, images, and highlights."""

import base64
import hashlib
import io
import json
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from PIL import Image

from agents.monitoring.traces import contrast
from agents.report.runs import Row, RunFolder
from reasonenv.console import printable

_LONGEST_SIDE = 448
"""Pixels of an image; larger ones are downscaled."""
LIMIT = 14 * 2**20
"""Bytes of all groups and images as text; above it groups are thinned evenly over the run."""
_NUM_HIGHLIGHTS = (4, 3, 3)
"""Groups from the first, middle and last third of the steps."""


@dataclass
class Rollouts:
    """Rollouts of a page."""

    index: list[dict[str, Any]] = field(default_factory=list)
    """For lists and filters, one entry a group."""
    bodies: list[str] = field(default_factory=list)
    """Texts and tokens of each group: JSON, deflated, in base64."""
    images: dict[str, tuple[int, str]] = field(default_factory=dict)
    """By digest: place, and content as a data URI."""
    num_left_out: int = 0
    """Groups without room."""


def collect(runs: Sequence[RunFolder], limit: int = LIMIT) -> Rollouts:
    """The groups of all runs, or as many as fit, evenly spaced and with the last."""
    groups = [
        (number, step, list(group))
        for number, run in enumerate(runs)
        for step, rows in run.rollouts.items()
        for _, group in groupby(rows, itemgetter("group"))
    ]
    subset, rollouts = groups, _pack(runs, groups)
    while (size := _size(rollouts)) > limit and len(subset) > 1:
        stride = max(2, math.ceil(size / limit))
        subset = subset[::-1][::stride][::-1]
        rollouts = _pack(runs, subset)
    rollouts.num_left_out = len(groups) - len(subset)
    return rollouts


def _size(rollouts: Rollouts) -> int:
    return sum(map(len, rollouts.bodies)) + sum(len(uri) for _, uri in rollouts.images.values())


def _pack(runs: Sequence[RunFolder], groups: Sequence[tuple[int, int, list[Row]]]) -> Rollouts:
    rollouts = Rollouts()
    for number, step, rows in groups:
        folder = runs[number].folder
        entry = {
            "run": number,
            "step": step,
            "problem": rows[0].get("problem_id") or "",
            "images": _images(rows[0]["images"], folder, rollouts),
            "reward": [_rounded(row.get("reward")) for row in rows],
            "advantage": [_rounded(row.get("advantage")) for row in rows],
            "right": [_rounded(row.get("accuracy")) for row in rows],
            "status": [printable(row.get("status") or "") for row in rows],
            "length": [len(row["tokens"]) if row.get("tokens") else None for row in rows],
            "finished": [row.get("finished") for row in rows],
        }
        rollouts.index.append(entry)
        body = {name: rows[0].get(name) or "" for name in ("system", "question", "reference")}
        responses = [_response(row) | _replies(row, folder, rollouts) for row in rows]
        content = json.dumps({**body, "responses": responses})
        rollouts.bodies.append(base64.b64encode(zlib.compress(content.encode())).decode())
    return rollouts


def _response(row: Row) -> dict[str, Any]:
    """Text and answer; with tokens, their lengths in UTF-16 units and log-ratios in 1/1000."""
    content: dict[str, Any] = {"text": row["response"], "answer": row.get("answer")}
    tokens = row.get("tokens")
    if tokens is None:
        return content
    content["text"] = "".join(tokens)
    content["cuts"] = [len(token.encode("utf-16-le", "surrogatepass")) // 2 for token in tokens]
    ratios = row.get("log_ratio")
    if ratios and None not in ratios:
        content["ratios"] = [round(1000 * ratio) for ratio in ratios]
        content["clipped"] = row.get("clipped", [])
    return content


def _replies(row: Row, folder: Path, rollouts: Rollouts) -> dict[str, Any]:
    """First token, end and images of each reply in an episode of several turns."""
    replies = [
        [reply["start"], reply["stop"], _images(reply["images"], folder, rollouts)]
        for reply in row.get("replies") or ()
    ]
    return {"replies": replies} if replies else {}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 5)


def _images(names: Sequence[str], folder: Path, rollouts: Rollouts) -> list[int]:
    """Indices of images among those of the page; equal ones are stored once, lost ones not."""
    paths, indices = [folder / "rollouts" / Path(name).name for name in names], []
    for content in (path.read_bytes() for path in paths if path.exists()):
        digest = hashlib.sha256(content).hexdigest()
        if digest not in rollouts.images:
            rollouts.images[digest] = (len(rollouts.images), _data_uri(content))
        indices.append(rollouts.images[digest][0])
    return indices


def _data_uri(content: bytes) -> str:
    """A picture no larger than `_LONGEST_SIDE`, in the smaller of two formats."""
    with Image.open(io.BytesIO(content), formats=("PNG",)) as image:
        picture = image.convert("RGBA" if "A" in image.getbands() else "RGB")
    picture.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
    formats = [("png", {"optimize": True}), ("jpeg", {"quality": 85})]
    encodings = []
    for kind, options in formats[: 1 if picture.mode == "RGBA" else 2]:
        buffer = io.BytesIO()
        picture.save(buffer, kind, **options)
        encodings.append((len(buffer.getvalue()), kind, buffer.getvalue()))
    _, kind, smallest = min(encodings)
    return f"data:image/{kind};base64,{base64.b64encode(smallest).decode()}"


def highlights(groups: Sequence[dict[str, Any]], last_steps: Sequence[int]) -> list[list[int]]:
    """Positions of the highlights of each third of the steps, in their order.

    Highlights are groups with mixed outcomes and the largest advantages.

    Args:
        groups: Entries of `Rollouts.index`.
        last_steps: Of each run.
    """
    order = [contrast(group["right"], group["advantage"]) for group in groups]
    thirds: list[list[int]] = [[], [], []]
    for place, group in enumerate(groups):
        if order[place][0]:
            third = 3 * max(0, group["step"] - 1) // max(1, last_steps[group["run"]])
            thirds[min(2, third)].append(place)
    best = [
        sorted(places, key=order.__getitem__, reverse=True)[:count]
        for places, count in zip(thirds, _NUM_HIGHLIGHTS, strict=True)
    ]
    return [sorted(places, key=lambda place: groups[place]["step"]) for places in best]
