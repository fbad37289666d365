"""Rows in the formats of data sets, and files of them."""

import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image


def cell(value=0, size=(4, 3)):
    buffer = io.BytesIO()
    Image.new("RGB", size, (value, 0, 0)).save(buffer, "PNG")
    return {"bytes": buffer.getvalue(), "path": f"{value}.png"}


def hub(folder, name, rows):
    """Rows as the hub has them."""
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}-00000-of-00001.parquet")
    return str(folder)


def lines(folder, name, rows):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(folder)


def mathvision(**changes):
    row = {
        "id": "9",
        "question": "Which part\n<image1>\nis it?",
        "options": ["A", "B", "C", "D", "E"],
        "image": "images/9.jpg",
        "decoded_image": cell(9),
        "answer": "C",
        "solution": None,
        "level": 3,
        "subject": "topology",
    }
    return {**row, **changes}
