# %% [markdown]
# # Evaluation with intervals
#
# A score on thirty problems says little without its interval, and two scores on the same problems
# should be compared problem by problem. `agents.evaluate` samples from a model and writes every
# response with its verdict; `reasonenv.score` scores stored responses, whoever made them, by the
# rules of the benchmark.

# %%
import json
import os
import tempfile
from pathlib import Path

import numpy as np

os.chdir(tempfile.mkdtemp())
random = np.random.default_rng(0)

# %% [markdown]
# ## From a model
#
# The tiny model, eight problems, two responses each: the path, not the score. The same
# command continues where it was stopped, and `--samples 32` gives mean@32 and pass@32.

# %%
from agents.evaluate import main as evaluate

words = "--env Figures-v2 --model tiny --num-problems 8 --samples 2 --max-response-length 12"
evaluate([*words.split(), "--output-dir", "evaluation"])

# %% [markdown]
# ## From stored responses
#
# A line of a file is `{"id": ..., "response": ...}`; several with one id are samples of one
# problem. Here AIME 2024 has made-up problems, and the responses are drawn: each problem has a
# chance of its own to be solved, and the second model is better on each by the same amount.

# %%
Path("aime24").mkdir()
answers = random.integers(0, 1000, 30)
labels = [
    {"id": str(k), "problem": f"Made up, {k}", "answer": str(answer)}
    for k, answer in enumerate(answers)
]
Path("aime24/test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in labels))
chances = random.beta(0.6, 1.2, 30)


def respond(path: str, gain: float, samples: int = 8) -> None:
    """Responses that are right with a problem's chance, and a gain on top."""
    with open(path, "w") as file:
        for k, answer in enumerate(answers):
            for _ in range(samples):
                right = random.random() < min(1.0, chances[k] + gain)
                said = answer if right else (answer + random.integers(1, 999)) % 1000
                row = {"id": str(k), "response": rf"So the answer is \boxed{{{said}}}."}
                file.write(json.dumps(row) + "\n")


respond("first.jsonl", 0.0)
respond("second.jsonl", 0.15)

# %%
from reasonenv.score import main as score

words = "--env AIME24-v0 --data aime24 --responses first.jsonl --output first.json"
status = score(words.split())

# %% [markdown]
# The interval is over the choice of problems, each with all its samples: more samples of
# thirty problems do not make them more than thirty. It has Wilson's form, with Student's t.
# mean@k, pass@k (at least one of k is right) and maj@k (the most frequent answer is right) are
# estimated from all samples.
#
# ## Is the second better?
#
# Beside each other, the two intervals overlap. Problem by problem, the difference is clear of
# noise or it is not; the p-value counts all signs of the differences, or draws them where more
# than sixteen problems differ:

# %%
words = "--env AIME24-v0 --data aime24 --responses second.jsonl --compare first.jsonl"
status = score([*words.split(), "--output", "second.json"])
compared = json.loads(Path("second.json").read_text())["compared"]
print(compared)

# %%
import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(6, 1.8))
scores = [json.loads(Path(f"{name}.json").read_text()) for name in ("first", "second")]
for height, one in enumerate(scores):
    axis.plot(one["interval"], [height] * 2, linewidth=3)
    axis.plot(one["accuracy"], height, "ko")
axis.plot(compared["interval"], [2, 2], linewidth=3)
axis.plot(compared["difference"], 2, "ko")
axis.axvline(0, color="gray", linewidth=0.5)
axis.set_yticks(range(3), ["first", "second", "difference"])
axis.set_xlabel("accuracy, with its 95 % interval")
figure.tight_layout()

# %% [markdown]
# ## pass@k
#
# It grows with k for any model that guesses, so it compares models only at the same k and
# temperature.

# %%
for name in ("mean@k", "pass@k", "maj@k"):
    print(name, {k: round(value, 3) for k, value in scores[0][name].items()})
