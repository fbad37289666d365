# %% [markdown]
# # Your own data set as an environment
#
# Rows in a file, a module of twenty lines, and it can be checked, trained on and evaluated by
# name like every other environment. Here the rows are made first; yours lie somewhere already.

# %%
import json
import os
import sys
import tempfile
from pathlib import Path

os.chdir(tempfile.mkdtemp())
folder = Path("sums")
folder.mkdir()
for split, start in (("train", 10), ("test", 50)):
    rows = [
        {"id": f"{split}-{k}", "question": f"What is {k} + {k + 1}?", "answer": str(2 * k + 1)}
        for k in range(start, start + 32)
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / f"{split}.jsonl").write_text(lines)

# %% [markdown]
# ## The module
#
# A `Schema` describes the rows, `problem` makes a `Problem` of each. Parquet and JSON lines are
# read alike, images only when a problem is accessed, and an error in a row is reported in one line
# with its number and id. With figures, `images=("image",)` names the column: in
# Parquet the bytes, in JSON the name of a file in the folder, such as `"figures/1.png"`.

# %%
module = """
import reasonenv
from reasonenv import Environment, Problem, datasets
from reasonenv.rewards import accuracy, think_answer_format

SCHEMA = datasets.Schema(
    name="sums",
    hub="me/sums",  # where it would be on the hub
    splits={split: datasets.Split(split) for split in ("train", "test")},
    texts=("question", "answer", "id"),
)


def problem(row) -> Problem:
    return Problem(id=row["id"], question=row["question"], answer=row["answer"])


reasonenv.register(
    Environment(
        id="Sums-v0",
        schema=SCHEMA,
        convert=problem,
        rewards={"accuracy": (1.0, accuracy), "format": (0.5, think_answer_format)},
        prompt="cpgd",
    )
)
"""
Path("sums_env.py").write_text(module)
sys.path.insert(0, os.getcwd())

import sums_env  # noqa: F401 - registers the environment

import reasonenv

env = reasonenv.make("Sums-v0", data="sums")
observation, info = env.reset(seed=0)
print(observation["question"])
print(env.step(r"<think>easy</think><answer>\boxed{0}</answer>")[1:3])

# %% [markdown]
# ## Can it be trusted?
#
# A reference that fails itself pays nobody. `check` asks of each whether it grades as right
# against itself and as wrong against another's. One row loses its answer here, to see it found.

# %%
from reasonenv.check import main as check

print("status", check(["sums/train.jsonl"]))
rows = (folder / "train.jsonl").read_text().splitlines()
rows[3] = rows[3].replace('"27"', '""')
Path("spoiled.jsonl").write_text("\n".join(rows) + "\n")
print("status", check(["spoiled.jsonl"]))

# %% [markdown]
# ## Training on it
#
# Two steps with the tiny model, which knows figures alone, to see that the path is whole. On a
# command line it is `python -m agents.cpgd --env sums_env:Sums-v0 --data sums ...`: the module
# before the name is imported first, and every other command takes it so too.

# %%
from agents.cpgd import CPGD
from agents.run import main

words = "--env Sums-v0 --data sums --model tiny --num-steps 2 --num-prompts 4 --group-size 4"
words += " --minibatch-size 16 --max-response-length 12 --num-test-problems 0 --output-dir run"
main(CPGD, words.split())

# %%
for line in Path("run/metrics.jsonl").read_text().splitlines():
    row = json.loads(line)
    print({name: round(row[name], 3) for name in ("step", "reward/mean", "response/length_mean")})

# %% [markdown]
# It earns nothing: the model knows no words. Train one that can already solve some of your
# problems, or give it its first words with `python -m agents.sft`, from problems that
# have a `solution`.

# %%
env.close()
