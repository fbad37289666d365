"""Model card of a checkpoint, from the records of its run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from huggingface_hub import ModelCardData

from agents.storage.atomic_files import write_atomically
from agents.storage.json_files import read_steps
from agents.storage.provenance import commands, read_run
from reasonenv.scoring import Table, interval_text

_CARD = Template("""\
---
$header
---

# $algorithm on $env, step $step

Trained from `$model` on $env by $algorithm with verifiable rewards: $step of $num_steps steps, \
each of $num_prompts prompts with $group_size responses, seed $seed.

$usage$results## Repeat it

```bash
$commands
```

With $versions.$revision

## Limits

It was trained for the problems of $env, by rules that check final answers alone: its reasoning \
may be wrong where its answer is right, and nothing was done about what else it may say.
""")


def write_model_card(checkpoint: Path, folder: Path, step: int, usage: str = "") -> None:
    """Writes `README.md` beside the model.

    Args:
        checkpoint: Model folder.
        folder: Run directory.
        step: Training steps of the model.
        usage: Section on the use of the model, see `usage_section`.
    """
    card = model_card(read_run(folder), read_steps(folder / "evaluations.jsonl"), step, usage)
    write_atomically(checkpoint / "README.md", card.encode())


def model_card(
    record: Mapping[str, Any],
    evaluations: Sequence[Mapping[str, Any]],
    step: int,
    usage: str = "",
) -> str:
    """Markdown of a model card.

    Args:
        record: Content of `run.json`.
        evaluations: Of the run, each with its `step` and `split`.
        step: Training steps of the model.
        usage: Section on the use of the model.
    """
    run, algorithm = record["settings"]["run"], record["settings"]["algorithm"]
    tags = ["reinforcement-learning", "reasonenv", algorithm.lower(), run["env"]]
    # Names on the hub have an owner, unlike generated models.
    is_on_hub = "/" in run["model"] and not Path(run["model"]).exists()
    base = run["model"] if is_on_hub else None
    header = ModelCardData(library_name="transformers", tags=tags, base_model=base)
    revision = (record.get("git") or {}).get("revision")
    return _CARD.substitute(
        run,
        usage=f"{usage.strip()}\n\n" if usage else "",
        results=_results([row for row in evaluations if row["step"] <= step]),
        header=header.to_yaml(),
        algorithm=algorithm,
        step=step,
        commands="\n".join(commands(record)),
        versions=", ".join(f"{name} {version}" for name, version in record["versions"].items()),
        revision=f" Revision {revision}." if revision else "",
    )


def _results(evaluations: Sequence[Mapping[str, Any]]) -> str:
    if not evaluations:
        return ""
    header = ("split", "step", "accuracy", "95 % interval", "problems")
    rows = []
    for row in evaluations:
        numbers = f"{row['accuracy']:.3f}", interval_text(row.get("interval"))
        rows.append([row["split"], f"{row['step']}", *numbers, f"{row['num_problems']:,}"])
    note = "Sampled as in training, one response a problem; intervals are over problems."
    return "\n".join(["## Accuracy", "", *Table(header, rows).markdown(), "", note, "", ""])
