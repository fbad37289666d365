"""The split that a checkpoint was trained on, by the record of its run."""

import importlib
from pathlib import Path

from agents.cli.settings import environment_options
from agents.errors import AgentsError
from agents.evaluation.evaluator import EvaluationTask
from agents.storage.provenance import read_run
from agents.storage.resumed_settings import of_this_release
from reasonenv.datasets import schema_of
from reasonenv.entry_points import HELD_OUT, resolve_split
from reasonenv.errors import ReasonEnvError
from reasonenv.registration import find


def trained_line(model: str, task: EvaluationTask, split: str) -> str:
    """A line where an evaluation poses problems that the model was trained on, else "".

    Args:
        model: Checkpoint of a run, which may begin with that of another; else nothing is known.
        task: The evaluation.
        split: Its split.
    """
    folder = Path(model).resolve().parent.parent
    if not Path(model).is_dir() or not (folder / "run.json").is_file():
        return ""
    try:
        run = of_this_release(read_run(folder), folder)["settings"]["run"]
        own, env = environment_options(run["env_options"], run["data"]), find(run["env"]).id
        if task.env in own.get("envs", ()):  # of a mixture
            own, env = {**own, **(own.get("options") or {}).get(task.env, {})}, task.env
        env_module = importlib.import_module(find(task.env).module)
        # Questions of another file may be in a split of the same name.
        if env == task.env and (schema_of(env_module) or run["data"] == task.data):
            fraction = environment_options(task.env_options, task.data).get("holdout", 0)
            has_others = split == HELD_OUT and fraction > (own.get("holdout") or 0)
            if has_others or split == (own.get("split") or resolve_split(env_module, None, own)):
                return f"{task.env}: {folder} was trained on problems of the split {split!r}"
    except (AgentsError, ReasonEnvError, KeyError, TypeError) as error:
        return f"the problems that {folder} was trained on are not known: {error}"
    return trained_line(str(run["model"]), task, split)
