"""Tables of results as text, Markdown or LaTeX."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

FORMATS = ("text", "markdown", "latex", "json")
"""Formats of results on standard output; JSON has every number, the others have tables."""
NONE = "-"
"""Cell without a value."""
_LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "\n": " "}
)


@dataclass(frozen=True)
class Table:
    """Cells below a header; the first column is left-aligned, the others right-aligned."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    notes: Sequence[str] = ()
    """Sentences below the table."""

    def text(self) -> Iterator[str]:
        """Lines for a terminal."""
        yield from [self.title] if self.title else ()
        cells = [self.header, *self.rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for first, *others in cells:
            padded = map(str.rjust, others, widths[1:])
            yield "  ".join([first.ljust(widths[0]), *padded]).rstrip()
        yield from (f"  {note}" for note in self.notes)

    def markdown(self) -> Iterator[str]:
        """Lines of a table as GitHub and pandoc read it."""
        yield from [_markdown(self.title), ""] if self.title else ()
        for number, row in enumerate([self.header, *self.rows]):
            yield f"| {' | '.join(map(_markdown, row))} |"
            if number == 0:
                yield "|---" + "|--:" * (len(row) - 1) + "|"
        yield from ["", *(f"- {_markdown(note)}" for note in self.notes)] if self.notes else ()

    def latex(self) -> Iterator[str]:
        """Lines of a table of the package booktabs, with title and notes as its caption."""
        yield from ("% needs \\usepackage{booktabs}", "\\begin{table}", "\\centering")
        if sentences := [text.rstrip(".") for text in (self.title, *self.notes) if text]:
            yield f"\\caption{{{_latex('. '.join(sentences))}.}}"
        yield f"\\begin{{tabular}}{{l{'r' * (len(self.header) - 1)}}}"
        header, *rows = (
            f"{' & '.join(map(_latex, row))} \\\\" for row in (self.header, *self.rows)
        )
        yield from ("\\toprule", header, "\\midrule", *rows, "\\bottomrule")
        yield from ("\\end{tabular}", "\\end{table}")


def table_lines(tables: Iterable[Table], form: str) -> Iterator[str]:
    """Lines of tables, with an empty line between two.

    Args:
        tables: In their order.
        form: Of `FORMATS`, but for JSON.
    """
    for number, table in enumerate(tables):
        yield from [""] if number else ()
        yield from getattr(table, form)()


def interval_text(ends: Sequence[float] | None, form: str = ".3f") -> str:
    """The ends of an interval, such as "0.012 to 0.345"; `NONE` where there is no interval."""
    return " to ".join(format(end, form) for end in ends) if ends else NONE


def _markdown(text: str) -> str:
    line = " ".join(text.split())
    return re.sub(r"([\\|*_<`])", r"\\\1", line)


def _latex(text: str) -> str:
    line = re.sub(r"(?<![\w-])-(?=\d)", "−", text.strip()).translate(_LATEX)
    indent = "\\quad " if text.startswith(" ") else ""
    return indent + line.replace("−", "$-$")
