"""Results of an evaluation as tables."""

from collections.abc import Callable, Iterator, Mapping

from agents.evaluate.statistics import Result
from reasonenv.scoring import NONE, Table, interval_text

MAX_KINDS = 40
"""Rows of a table by kind that is shown; longer ones are in the JSON."""
_OFFICIAL = (
    "Official: by the rules of the benchmark's own evaluation code, as far as "
    "python -m reasonenv.score has them; accuracy: by the grader that rewards training"
)
_LEFT_OUT = "Left out: problems without a reference answer or with a broken image"


def evaluation_tables(results: Mapping[str, Result]) -> Iterator[Table]:
    """The results by environment, and the accuracy of each by kind of problem."""
    yield result_table(results)
    for env, result in results.items():
        rows = [[kind, f"{value:.3f}"] for kind, value in result["by"].items()]
        if 1 < len(rows) <= MAX_KINDS:
            yield Table([f"{env} by kind", "accuracy"], rows)


def result_table(results: Mapping[str, Result]) -> Table:
    """A row for each environment; columns only where there is something to tell."""
    columns = _columns(list(results.values()))
    titles = [title for title, _ in columns]
    notes = {"official": _OFFICIAL, "left out": _LEFT_OUT}
    return Table(
        ["environment", *titles],
        [[env, *(text(result) for _, text in columns)] for env, result in results.items()],
        notes=[notes[title] for title in titles if title in notes],
    )


def _columns(results: list[Result]) -> list[tuple[str, Callable[[Result], str]]]:
    """Title and content of each column."""
    samples = results[0]["num_samples"]
    has_several, has_official = samples > 1, any(result["official"] for result in results)
    has_left_out = any(result["num_left_out"] for result in results)
    columns: list[tuple[str, Callable[[Result], str], bool]] = [
        ("split", lambda r: r["split"], True),
        ("problems", _problems, True),
        ("left out", lambda r: f"{r['num_left_out']:,}", has_left_out),
        (f"mean@{samples}" if has_several else "accuracy", lambda r: f"{r['accuracy']:.3f}", True),
        ("95 %", lambda r: interval_text(r["interval"]), True),
        (f"pass@{samples}", lambda r: f"{r['pass@k'][str(samples)]:.3f}", has_several),
        ("official", lambda r: _number((r["official"] or {}).get("accuracy")), has_official),
        ("95 %", lambda r: interval_text((r["official"] or {}).get("interval")), has_official),
        ("temperature", lambda r: f"{r['temperature']:g}", True),
        ("cut", lambda r: f"{r['truncated']:.1%}", True),
        ("tokens", lambda r: f"{r['length_mean']:.1f}", True),
        ("responses/s", lambda r: _number(r["throughput/responses_per_s"], ".1f"), True),
    ]
    return [(title, text) for title, text, is_shown in columns if is_shown]


def _problems(result: Result) -> str:
    """Number of problems, such as "10 of 1,000" where the split has more."""
    count, size = result["num_problems"], result["split_size"]
    return f"{count:,}" if size in (None, count) else f"{count:,} of {size:,}"


def _number(value: float | None, form: str = ".3f") -> str:
    return NONE if value is None else format(value, form)
