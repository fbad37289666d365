"""Parsing: the text of an answer to a tree of nodes. No text is ever evaluated as code.

    notation    one notation for Unicode, LaTeX and plain text
    units       units of measurement, and words after a number
    tokens      tokenizer, and the cursor of the parser
    grammar     recursive-descent parser of whole answers, over quantities and expressions
    nodes       the tree

A text has 1024 characters and 400 tokens at most (`grammar`) and 24 levels of brackets (`tokens`);
anything beyond is rejected.
"""

from collections.abc import Sequence
from pathlib import Path


def rows(name: str, beside: str = __file__) -> Sequence[Sequence[str]]:
    """The rows of a table beside a file, tabs between columns, without comments at its start."""
    lines = Path(beside).with_name(name).read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("# ")]
