"""Scores as tables."""

from collections.abc import Iterator, Mapping
from typing import Any

from reasonenv.scoring.tables import Table, interval_text

_MAX_ROWS = 40
"""Rows of a table by kind that is shown; longer ones are in the JSON."""
_HEADER = ("", "problems", "accuracy", "95 % interval")


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
