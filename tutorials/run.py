# %% [markdown]
# # Reading a run
#
# A run leaves a folder. This one is ten steps of CPGD with the tiny model on an
# environment that pays for vowels, which even noise earns some of.

# %%
import json
import os
import sys
import tempfile
from pathlib import Path

from agents.cpgd import CPGD
from agents.run import main

os.chdir(tempfile.mkdtemp())
Path("vowels.py").write_text('''
import reasonenv
from reasonenv import Environment, Problem


def vowels(response, problem, grade):
    """Part of the response that is vowels."""
    return sum(letter in "aeiou" for letter in response) / max(1, len(response))


def problems(split="train"):
    """Questions without an answer that matters."""
    return [Problem(id=f"{split}/{k}", question=f"Sing, {k}!", answer="A", options=("la",))
            for k in range(20)]


reasonenv.register(
    Environment(
        id="Vowels-v0",
        problems=problems,
        splits=("train", "test"),
        rewards={"accuracy": (1.0, vowels)},
    )
)
''')
sys.path.insert(0, os.getcwd())
import vowels  # noqa: F401 - registers the environment

words = "--env Vowels-v0 --model tiny --num-steps 10 --num-prompts 4 --group-size 8"
words += " --minibatch-size 32 --max-response-length 12 --num-test-problems 8"
words += " --learning-rate 0.003 --output-dir run"
main(CPGD, words.split())

# %% [markdown]
# ## What is in it

# %%
for path in sorted(Path("run").rglob("*")):
    if path.is_file() and len(path.parts) < 4:
        print(path)

# %% [markdown]
# `run.json` repeats the run; `metrics.jsonl` has a line for each step, written as the step ends.

# %%
record = json.loads(Path("run/run.json").read_text())
print(sorted(record))
rows = [json.loads(line) for line in Path("run/metrics.jsonl").read_text().splitlines()]
print(len(rows), "steps of", len(rows[0]), "metrics")

# %%
import matplotlib.pyplot as plt

NAMES = ("reward/mean", "policy/entropy", "policy/ratio_max", "train/grad_norm")
figure, axes = plt.subplots(1, 4, figsize=(12, 2.2))
for axis, name in zip(axes, NAMES, strict=True):
    axis.plot([row["step"] for row in rows], [row[name] for row in rows])
    axis.set_title(name, fontsize=9)
figure.tight_layout()

# %% [markdown]
# What to look at, in this order: `reward/mean` and its parts; `response/length_mean` and
# `response/truncated`; `policy/entropy`, which falls slowly in a healthy run; `policy/ratio_max`
# and `policy/kl_old`, which tell how far one update moves; `rollout/mixed`, the part of groups
# that teach; `sampler/log_prob_diff_mean`, which is about zero unless sampler and trainer
# disagree. `time/` and `memory/` say where a step goes. Collapse detection reads the same:

# %%
from agents.monitoring.collapse import current_warnings

for warning in current_warnings(rows) or ["no warnings"]:
    print(warning)

# %% [markdown]
# ## What the model wrote
#
# Some groups of the first step and of every tenth are kept whole: prompt, each response, reward,
# verdict.

# %%
files = sorted(Path("run/rollouts").glob("*.jsonl"))
for file in (files[0], files[-1]):
    print(file)
    for line in file.read_text().splitlines()[:3]:
        response = json.loads(line)
        print("   ", round(response["reward"], 2), repr(response["response"][:50]))

# %% [markdown]
# ## All of it in a browser
#
# Each run ends with a report: one HTML file without a network. It opens with the accuracy and the
# most telling groups of responses; below are curves, a browser of rollouts in which tokens are
# coloured by what the update did to them, and the command that repeats the run. Several runs side
# by side, seeds of one setting as one line with its spread: `python -m agents.report RUN RUN
# --output report.html`.

# %%
from agents.report import main as report

report(["run"])

# %% [markdown]
# ## The weights
#
# A checkpoint is a model in Hugging Face format, with tokenizer, model card and the state of the
# optimizer.

# %%
from transformers import AutoModelForImageTextToText

from agents.storage.checkpoints import latest

model = AutoModelForImageTextToText.from_pretrained(latest(Path("run")))
print(type(model).__name__, f"{model.num_parameters():,} parameters")
