"""A study's numbers as Markdown."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

RESULTS = (
    "algorithm",
    "seeds",
    "collapsed",
    "lasting",
    "steps before collapse",
    "accuracy at the end",
    "on new images",
)
SIGNS = (
    "algorithm",
    "into form / noise / numbers",
    "short",
    "ratio, smallest",
    "ratio, largest",
    "clipped",
    "KL to the old policy",
    "gradient norm, median / largest",
    "length, first / last",
    "entropy, last",
)
PAIRS = (
    "pair",
    "seeds",
    "accuracy",
    "p (corrected)",
    "collapses",
    "p (corrected)",
    "steps before collapse",
    "p (corrected)",
    "least p",
)


def markdown(found: Mapping[str, Any]) -> str:
    """The tables of a study, and where they come from."""
    machine = found["machines"][0]
    results = [_row((name, *_result(cell))) for name, cell in found["cells"].items()]
    signs = [_row((name, *_signs(cell))) for name, cell in found["cells"].items()]
    pairs = [_row(_pair(pair)) for pair in found["pairs"]]
    where = ", ".join(machine["gpus"]) or f"{machine['num_cores']} CPU cores"
    told = [
        f"# {found['question']}",
        f"`python -m benchmarks.grid {found['study']}`: {found['runs']} runs of "
        f"{found['num_steps']} steps, {found['hours']:g} hours of one process each, {where}, "
        f"{len(found['machines'])} kind(s) of machine, {len(found['commits'])} state(s) of the "
        "code.",
        "\n".join([*_head(RESULTS), *results]),
        "Collapse is defined in `benchmarks/grid/collapse.py`, and *lasting* where it is so at the "
        "end too; accuracy at the end is that of the last 10 rollouts. Brackets are 95 % "
        "intervals over seeds: Wilson's for rates; for means the same form with Student's t, or "
        "Wilson's where all seeds are at 0 or all at the last step; none where they are equal "
        "otherwise.",
        "\n".join([*_head(SIGNS), *signs]),
        "*short*: runs whose last responses have less than a third of their first length. The "
        "others are medians over seeds, of the mean over steps, or of the extreme of all steps for "
        "ratios.",
    ]
    if pairs:
        told += [
            "\n".join([*_head(PAIRS), *pairs]),
            "Differences are first minus second, paired by seed; intervals of collapses, and of "
            "steps where no run collapsed, are those of Bonett and Price; those of means are none "
            "where all seeds are equal. p of the exact sign-flip test, and in "
            f"brackets after Holm's correction over all {found['tests_of_page']} tests of the "
            "studies of this folder. *least p*: the smallest that so many seeds can give before "
            "it.",
        ]
    told += ["\n".join(f"- {name}: `{_short(c)}`" for name, c in found["commands"].items())]
    return "\n\n".join(told) + "\n"


def _result(cell: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        str(cell["num_seeds"]),
        f"{cell['collapses']} of {cell['num_seeds']} {_interval(cell['collapse_interval'])}",
        str(cell["lasting"]),
        f"{cell['steps_before_collapse']:.0f} {_interval(cell['steps_interval'], '.0f')}".strip(),
        f"{cell['accuracy']:.3f} {_interval(cell['accuracy_interval'], '.3f')}",
        "" if cell["test"] is None else f"{cell['test']:.3f}",
    )


def _signs(cell: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        " / ".join(str(count) for count in cell["kinds"].values()),
        str(cell["shrunk"]),
        f"{cell['ratio_min']:.2g}",
        f"{cell['ratio_max']:.3g}",
        f"{100 * cell['clip_fraction']:.2f} %",
        f"{cell['kl_old']:.2g}",
        f"{cell['grad_norm']:.2g} / {cell['grad_norm_max']:.2g}",
        f"{cell['length_start']:.1f} / {cell['length_end']:.1f}",
        f"{cell['entropy_end']:.3f}",
    )


def _pair(pair: Mapping[str, Any]) -> tuple[str, ...]:
    told = [f"{pair['first']} - {pair['second']}", str(pair["num_seeds"])]
    for name, form in (
        ("accuracy", "+.3f"),
        ("collapsed", "+.2f"),
        ("steps_before_collapse", "+.0f"),
    ):
        test = pair[name]
        difference = format(test["difference"], form)
        p_values = f"{test['p_value']:.3g} ({test['p_corrected']:.3g})"
        told += [f"{difference} {_interval(test['interval'], form)}".strip(), p_values]
    return (*told, f"{pair['least_p']:.3g}")


def _interval(ends: Sequence[float], form: str = ".2f") -> str:
    return f"[{format(ends[0], form)}, {format(ends[1], form)}]" if ends else ""


def _head(names: Sequence[str]) -> list[str]:
    return [_row(names), _row(["---"] * len(names))]


def _row(words: Sequence[str]) -> str:
    return "| " + " | ".join(words) + " |"


def _short(command: str) -> str:
    """A command without its seed, which varies."""
    words = shlex.split(command)
    place = words.index("--seed")
    return shlex.join(words[:place] + words[place + 2 :])
