"""Official benchmark scores from stored responses: extraction, verdicts, tables, intervals.

    from reasonenv.scoring import score
    score("MathVista-v0", [{"id": "1", "response": "The answer is 1.2."}], data="mathvista")

Rule-based, with the rules of each benchmark's own code (`benchmarks`: MathVista, MathVerse,
MathVision, OlympiadBench, We-Math, GSM8K); the others compare final answers (`final_answers`).
`python -m reasonenv.score` is the command line.
"""

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

from reasonenv.scoring.statistics import (
    over_problems,
    over_samples,
    paired_comparison,
    pass_at_k,
    sample_sizes,
    standard_error,
)
from reasonenv.scoring.tables import NONE, Table, interval_text, table_lines

__all__ = [
    "NONE",
    "Table",
    "interval_text",
    "over_problems",
    "over_samples",
    "paired_comparison",
    "pass_at_k",
    "sample_sizes",
    "score",
    "standard_error",
    "table_lines",
]


def score(
    env_id: str,
    rows: Iterable[Mapping[str, Any]],
    data: str | PathLike[str] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """The official scores of a benchmark as JSON-able values; every rate lies in [0, 1].

    Args:
        env_id: A registered environment, such as "MathVista-v0".
        rows: `{"id": ..., "response": ...}`; several rows with one id are samples of one problem.
        data: Folder with the labels; None for `REASONENV_DATA`, then the environment itself.
        **options: Of `reasonenv.scoring.scoreboard.grade_responses`: `split`, `judge`, `guess`,
            `skipped`; and `seed` of the draws of maj@k (0).

    Returns:
        `env`, `num_problems`, `num_samples`, `accuracy`, `interval`, `by` (tables) and the extra
        scores of the benchmark.

    Raises:
        ValueError: When no row can be scored, or an argument does not fit.
        MissingDataError: When there are no labels.
    """
    # Lazily: the workers that judge import this package too.
    from reasonenv.scoring.scoreboard import grade_responses, summarize

    seed = options.pop("seed", 0)
    return summarize(grade_responses(env_id, rows, data, **options), seed)
