"""Tables of results as text, Markdown or LaTeX, and those of scores."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FORMATS = ("text", "markdown", "latex", "json")
"""Formats of results on standard output; JSON has every number, the others have tables."""
NONE = "-"
"""Cell without a value."""
_MAX_ROWS = 40
"""Rows of a table by kind that is shown; longer ones are in the JSON."""
_HEADER = ("", "problems", "accuracy", "95 % interval")
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


def score_tables(scores: Mapping[str, Any]) -> Iterator[Table]:
    """The main table, those by kind of problem, and the comparison.

    Args:
        scores: Of `reasonenv.scoring.score`, with `compared` where there is a comparison.
    """
    rows = [_row(scores["env"], scores, scores["num_problems"]), *_sample_rows(scores)]
    yield Table(_HEADER, [*rows, *_extra_rows(scores)], notes=tuple(_notes(scores)))
    for title, table in scores["by"].items():
        if len(table) <= _MAX_ROWS:
            yield Table(
                (title, *_HEADER[1:]),
                [_row(name, line, line["num"]) for name, line in table.items()],
            )
    if "compared" in scores:
        yield _comparison(scores["compared"])


def _row(name: str, line: Mapping[str, Any], num: int | None = None) -> tuple[str, ...]:
    count = "" if num is None else f"{num:,}"
    return name, count, f"{line['accuracy']:.2%}", interval_text(line["interval"], ".2%")


def _sample_rows(scores: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Rows of pass@k and maj@k; mean@k is the accuracy."""
    for name, by_k in scores.get("intervals", {}).items():
        for k, ends in by_k.items():
            line = {"accuracy": scores[name][k], "interval": ends}
            yield _row(name.replace("k", k), line)


def _extra_rows(scores: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Rows of the extra scores of a benchmark."""
    if exact := scores.get("exact"):
        yield _row("to 1e-6", exact)
    if worst := scores.get("worst_case"):
        yield _row("worst case", worst, worst["num"])
    metric = scores.get("four_dimensional", {})
    for name in ("strict", "loose"):
        if name in metric:
            line = {**metric[name], "accuracy": metric[name]["score"]}
            yield _row(f"score ({name})", line, metric["num_composite_problems"])


def _notes(scores: Mapping[str, Any]) -> Iterator[str]:
    """Sentences on the rules, and on problems that are missing."""
    package, _, module = scores["rules"].rpartition(".")
    if package == "reasonenv.scoring.benchmarks":
        yield f"By the rules of the benchmark's own evaluation code ({scores['rules']})"
    elif module == "final_answers":
        yield f"Final answers by this package's grader, version {scores['grader_version']}"
    else:
        yield f"By the judge {scores['rules']}"
    if scores["num_samples"] > 1:
        yield f"Mean of {scores['num_samples']} samples a problem; intervals are over problems"
    if scores["num_clusters"] < scores["num_problems"]:
        yield f"Intervals are over {scores['num_clusters']:,} clusters of problems"
    if scores["num_missing"]:
        yield f"{scores['num_missing']:,} problems of the split have no response, and do not count"
    for name, metric in scores.get("four_dimensional", {}).items():
        if name in ("strict", "loose"):
            counts = ", ".join(f"{kind} {count}" for kind, count in metric["counts"].items())
            yield f"{name}: {counts}"


def _comparison(compared: Mapping[str, Any]) -> Table:
    """Both accuracies, their difference, and the paired test."""
    num = f"{compared['num_problems']:,}"
    both = zip(compared["accuracies"], compared["intervals"], strict=True)
    rows = [
        (name, num, f"{value:.2%}", interval_text(ends, ".2%"))
        for name, (value, ends) in zip((compared["responses"], compared["with"]), both, strict=True)
    ]
    ends = interval_text(compared["interval"], "+.2%")
    wins, losses, ties = (compared[name] for name in ("wins", "losses", "ties"))
    p_value = (
        f"{compared['test']}: p = {compared['p_value']:.3g}; the first is better on {wins} "
        f"problems, worse on {losses}, equal on {ties}"
    )
    difference = ("difference", num, f"{compared['difference']:+.2%}", ends)
    return Table(("compared", *_HEADER[1:]), [*rows, difference], notes=(p_value,))
