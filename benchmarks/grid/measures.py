"""What a study's runs show, in numbers: of each run, of each cell, and of pairs of cells."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from benchmarks.grid.collapse import WINDOW, collapse, shrunk, window_mean
from benchmarks.grid.statistics import holm, restricted_mean
from benchmarks.grid.study import Study
from reasonenv.scoring.statistics import over_problems, paired_comparison, wilson

Record = Mapping[str, Any]
Runs = Mapping[str, Mapping[int, Record]]
"""Records by cell and seed."""
COMPARED = ("accuracy", "collapsed", "steps_before_collapse")
"""What pairs are tested on."""


def of_run(record: Record) -> dict[str, Any]:
    """The numbers of one run; `accuracy` is that of the last 10 rollouts."""
    steps, horizon = record["steps"], record["settings"]["run"]["num_steps"]
    found = collapse(steps, horizon)
    last = len(steps["reward/accuracy"])

    def known(name: str) -> list[float]:
        return [value for value in steps.get(name, ()) if value is not None] or [0.0]

    return {
        "seed": record["seed"],
        "collapsed": found is not None,
        "kind": found.kind if found else None,
        "lasting": bool(found and found.lasting),
        "steps_before_collapse": found.step if found else horizon,
        "shrunk": shrunk(steps),
        "accuracy": window_mean(known("reward/accuracy"), last),
        "test": _evaluated(record, "test"),
        "heldout": _evaluated(record, "heldout"),
        "format": window_mean(known("reward/format"), last),
        "ratio_max": max(known("policy/ratio_max")),
        "ratio_min": min(known("policy/ratio_min")),
        "clip_fraction": fmean(known("policy/clip_fraction")),
        "kl_old": fmean(known("policy/kl_old")),
        "grad_norm": median(known("train/grad_norm")),
        "grad_norm_max": max(known("train/grad_norm")),
        "length_start": window_mean(known("response/length_mean"), WINDOW),
        "length_end": window_mean(known("response/length_mean"), last),
        "entropy_end": window_mean(known("policy/entropy"), last),
    }


def of_cell(runs: Sequence[Mapping[str, Any]], horizon: int) -> dict[str, Any]:
    """What the runs of a cell come to: rates, means with intervals over seeds, medians."""
    times = [run["steps_before_collapse"] for run in runs]
    ended = [run["collapsed"] for run in runs]
    count = sum(ended)
    tests = [run["test"] for run in runs if run["test"] is not None]
    accuracy = [run["accuracy"] for run in runs]
    medians = ("ratio_max", "ratio_min", "clip_fraction", "kl_old", "grad_norm", "grad_norm_max")
    medians += ("length_start", "length_end", "entropy_end", "format")
    return {
        "num_seeds": len(runs),
        "collapses": count,
        "collapse_interval": wilson(count, len(runs)),
        "kinds": {kind: [run["kind"] for run in runs].count(kind) for kind in KINDS},
        "lasting": sum(run["lasting"] for run in runs),
        "shrunk": sum(run["shrunk"] for run in runs),
        "steps_before_collapse": restricted_mean(times, ended, horizon),
        "steps_interval": [horizon * end for end in over_problems([t / horizon for t in times])],
        "accuracy": fmean(accuracy),
        "accuracy_interval": over_problems(accuracy),
        "test": fmean(tests) if tests else None,
        **{name: median(run[name] for run in runs) for name in medians},
        "runs": list(runs),
    }


KINDS = ("form", "noise", "numbers")


def of_study(study: Study, runs: Runs) -> dict[str, Any]:
    """All that the records of a study say; cells without a run are left out."""
    by_cell = {
        cell.name: [of_run(runs[cell.name][seed]) for seed in sorted(runs[cell.name])]
        for cell in study.cells
        if runs.get(cell.name)
    }
    records = [record for cell in runs.values() for record in cell.values()]
    horizon = max(record["settings"]["run"]["num_steps"] for record in records)
    return {
        "study": study.name,
        "question": study.question,
        "num_steps": horizon,
        "seeds": sorted({record["seed"] for record in records}),
        "runs": len(records),
        "hours": round(sum(record["wall_s"] for record in records) / 3600, 2),
        "machines": _distinct(record["machine"] for record in records),
        "versions": _distinct(record["versions"] for record in records),
        "commits": _distinct(record["git"] for record in records),
        "cells": {name: of_cell(found, horizon) for name, found in by_cell.items()},
        "commands": {
            c.name: next(iter(runs[c.name].values()))["command"]
            for c in study.cells
            if runs.get(c.name)
        },
        "pairs": of_pairs(study.pairs, by_cell, horizon),
    }


def of_pairs(
    pairs: Sequence[tuple[str, str]],
    by_cell: Mapping[str, Sequence[Mapping[str, Any]]],
    horizon: int,
) -> list[dict[str, Any]]:
    """Paired tests over the seeds that both cells have, before any correction."""
    found = []
    for pair in pairs:
        one, other = ({run["seed"]: run for run in by_cell.get(name, ())} for name in pair)
        seeds = sorted(one.keys() & other.keys())
        if not seeds:
            continue
        row: dict[str, Any] = {"first": pair[0], "second": pair[1], "num_seeds": len(seeds)}
        # Fewer seeds cannot give a smaller p-value, whatever they show.
        row["least_p"] = min(1.0, 2.0 ** (1 - len(seeds)))
        for name in COMPARED:
            unit = horizon if name == "steps_before_collapse" else 1
            scores = ([cell[seed][name] / unit for seed in seeds] for cell in (one, other))
            test = paired_comparison(*scores)
            row[name] = {
                "difference": round(unit * test["difference"], 9),
                "interval": [unit * end for end in test["interval"]],
                "p_value": test["p_value"],
            }
        found.append(row)
    return found


def correct(page: Iterable[dict[str, Any]]) -> None:
    """Adds to each test of the studies of a page its p-value after Holm's correction over all.

    Args:
        page: What `of_study` gave, for each study of a folder.
    """
    studies = list(page)
    tests = [pair[name] for found in studies for pair in found["pairs"] for name in COMPARED]
    for test, p in zip(tests, holm([test["p_value"] for test in tests]), strict=True):
        test["p_corrected"] = p
    for found in studies:
        found["tests_of_page"] = len(tests)


def _evaluated(record: Record, split: str) -> float | None:
    """Accuracy on a split after the last step; None where the run did not come so far."""
    last = record["settings"]["run"]["num_steps"]
    rows = [e for e in record["evaluations"] if e["split"] == split and e["step"] == last]
    return rows[-1]["accuracy"] if rows else None


def _distinct(values: Any) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found
