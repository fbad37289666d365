"""Sampled rollouts in compact form: compressed groups of responses, and their images."""

import base64
import hashlib
import io
import json
import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from PIL import Image

from agents.reporting.records import Row
from agents.reporting.runs import RunFolder
from agents.storage.json_files import read_regular
from reasonenv.console import printable

LONGEST_SIDE = 448
"""Pixels of an image; larger ones are downscaled."""
MAX_PIXELS = 50_000_000
"""Largest image in pixels; a small file may declare more pixels than memory holds."""
MAX_BYTES = 2**28
"""Largest file of an image."""
LIMIT = 14 * 2**20
"""Bytes of all groups and images as text; above it groups are thinned evenly over the run."""


@dataclass
class Rollouts:
    """Rollouts of a page."""

    index: list[dict[str, Any]] = field(default_factory=list)
    """For lists and filters, one entry a group."""
    bodies: list[str] = field(default_factory=list)
    """Texts and tokens of each group: JSON, deflated, in base64."""
    images: dict[str, tuple[int, str]] = field(default_factory=dict)
    """By digest: place, and content as a data URI."""
    faults: list[list[str]] = field(default_factory=list)
    """Of each run."""


def collect(runs: Sequence[RunFolder], limit: int = LIMIT) -> Rollouts:
    """The groups of all runs, or as many as fit, evenly spaced and with the last."""
    groups = [(number, *group) for number, run in enumerate(runs) for group in _groups(run)]
    subset, rollouts = groups, _pack(runs, groups)
    while _size(rollouts) > limit and len(subset) > 1:
        stride = max(2, math.ceil(_size(rollouts) / limit))
        subset = subset[::-1][::stride][::-1]
        rollouts = _pack(runs, subset)
    if len(subset) < len(groups):
        rollouts.faults[0].append(
            f"{len(groups) - len(subset)} of {len(groups)} groups of rollouts are left out to keep "
            "this file small; all are in the run directories"
        )
    return rollouts


def _size(rollouts: Rollouts) -> int:
    return sum(map(len, rollouts.bodies)) + sum(len(uri) for _, uri in rollouts.images.values())


def _groups(run: RunFolder) -> Iterator[tuple[int, list[Row]]]:
    """Step and responses of each group."""
    for step, rows in run.rollouts:
        for _, group in groupby(rows, itemgetter("group")):
            yield step, list(group)


def _pack(runs: Sequence[RunFolder], groups: Sequence[tuple[int, int, list[Row]]]) -> Rollouts:
    rollouts = Rollouts(faults=[[] for _ in runs])
    for number, step, rows in groups:
        folder = runs[number].folder / "rollouts"
        first = rows[0]
        images = [
            place
            for name in first["images"] or ()
            if (place := _image(folder / Path(name).name, rollouts, number)) is not None
        ]
        rollouts.index.append(
            {
                "run": number,
                "step": step,
                "problem": first["problem_id"] or "",
                "images": images,
                "reward": [_rounded(row["reward"]) for row in rows],
                "advantage": [_rounded(row["advantage"]) for row in rows],
                "right": [_rounded(row["accuracy"]) for row in rows],
                "status": [printable(row["status"] or "") for row in rows],
                "length": [len(row["tokens"]) if row["tokens"] else None for row in rows],
                "finished": [row["finished"] for row in rows],
            }
        )
        rollouts.bodies.append(_body(rows))
    return rollouts


def _body(rows: Sequence[Row]) -> str:
    first = rows[0]
    body = {name: first[name] or "" for name in ("system", "question", "reference")}
    content = json.dumps({**body, "responses": [_response(row) for row in rows]})
    return base64.b64encode(zlib.compress(content.encode())).decode()


def _response(row: Row) -> dict[str, Any]:
    """Text and answer; with tokens, their lengths in UTF-16 units and log-ratios in 1/1000."""
    content: dict[str, Any] = {"text": row["response"], "answer": row["answer"]}
    tokens, ratios = row["tokens"], row["log_ratio"]
    if tokens is None:
        return content
    content["text"] = "".join(tokens)
    content["cuts"] = [len(token.encode("utf-16-le", "surrogatepass")) // 2 for token in tokens]
    if ratios and len(ratios) == len(tokens) and None not in ratios:
        content["ratios"] = [round(1000 * u) for u in ratios]
        content["clipped"] = row["clipped"] or []
    return content


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 5)


def _image(path: Path, rollouts: Rollouts, number: int) -> int | None:
    """Index of an image among those of the page; equal ones are stored once."""
    try:
        content = read_regular(path, MAX_BYTES)
        digest = hashlib.sha256(content).hexdigest()
        if digest not in rollouts.images:
            rollouts.images[digest] = (len(rollouts.images), _shrunk(content))
        return rollouts.images[digest][0]
    # Pillow raises a dozen types, SyntaxError and struct.error among them, on broken files.
    except Exception as error:
        reason = "is missing" if isinstance(error, FileNotFoundError) else "cannot be read"
        rollouts.faults[number].append(f"rollouts/{path.name} {reason}: its image is not shown")
        return None


def _shrunk(content: bytes) -> str:
    """A data URI of a picture no larger than `LONGEST_SIDE`, in the smaller of two formats."""
    # Of other formats than the log's, EPS would be run by Ghostscript.
    with Image.open(io.BytesIO(content), formats=("PNG",)) as image:
        if image.width * image.height > MAX_PIXELS:
            raise ValueError(f"{image.width}x{image.height} pixels")
        picture = image.convert("RGBA" if "A" in image.getbands() else "RGB")
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    encodings = {}
    for kind, options in (("png", {"optimize": True}), ("jpeg", {"quality": 85})):
        if kind == "jpeg" and picture.mode == "RGBA":
            continue
        buffer = io.BytesIO()
        picture.save(buffer, kind, **options)
        encodings[kind] = buffer.getvalue()
    kind = min(encodings, key=lambda name: len(encodings[name]))
    return f"data:image/{kind};base64,{base64.b64encode(encodings[kind]).decode()}"
