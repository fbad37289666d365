# %% [markdown]
# # MMK12 on eight GPUs
#
# The setting of the CPGD paper: Qwen2.5-VL-7B-Instruct, the 15,616 training problems of MMK12,
# 128 prompts with eight responses each, 610 steps. On a machine with eight GPUs of 80 GiB it is
# one command:
#
# ```
# torchrun --nproc-per-node 8 -m agents.cpgd --env MMK12-v0
# ```
#
# Before it costs anything, three questions can be answered on a laptop.
#
# ## Does it fit?
#
# The plan reads a model's configuration and no weights. `python -m agents.plan` takes the flags
# of the run.

# %%
from agents.plan.__main__ import main as plan

status = plan(["--learner", "cpgd", "--env", "MMK12-v0", "--num-gpus", "8", "--gpu-memory", "80"])

# %% [markdown]
# On one such GPU it does not, and the plan says why:

# %%
status = plan(["--learner", "cpgd", "--env", "MMK12-v0", "--num-gpus", "1", "--gpu-memory", "80"])

# %% [markdown]
# ## Are the data right?
#
# The data come from the hub, or from a folder with the same files (`--data`). Here a folder is
# made in the format of MMK12, a few rows with a drawn figure; everything after it is what the
# real files meet.

# %%
import io
import json
import os
import tempfile
from pathlib import Path

import pyarrow
from PIL import Image, ImageDraw
from pyarrow import parquet

os.chdir(tempfile.mkdtemp())


def figure(side: int) -> dict:
    """A square with its side written on it, as the hub stores images."""
    image = Image.new("RGB", (112, 112), "white")
    draw = ImageDraw.Draw(image)
    draw.rectangle((20, 20, 90, 90), outline="black", width=2)
    draw.text((48, 92), f"{side} cm", fill="black")
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return {"bytes": buffer.getvalue(), "path": f"{side}.png"}


def rows(split: str, sides: range) -> list[dict]:
    """Fill-in questions to train on, multiple choice to test on."""
    question = "As shown in the figure, what is the area of the square in cm²?"
    choice = "\nA. {0}\nB. {1}\nC. {2}\nD. {3}"
    return [
        {
            "id": f"{split}-{side}",
            "question": question
            + (choice.format(side, side**2, 4 * side, 2 * side) if split == "test" else ""),
            "answer": "B" if split == "test" else str(side**2),
            "subject": "math",
            "image": figure(side),
        }
        for side in sides
    ]


for split, sides in (("train", range(3, 35)), ("test", range(35, 43))):
    table = pyarrow.Table.from_pylist(rows(split, sides))
    Path("mmk12").mkdir(exist_ok=True)
    parquet.write_table(table, f"mmk12/{split}-00000-of-00001.parquet")

# %%
from reasonenv.check import main as check

print("status", check(["--env", "MMK12-v0", "--data", "mmk12"]))

# %%
import reasonenv

envs = reasonenv.make("MMK12-v0", num_envs=8, group_size=8, data="mmk12")
observations, infos = envs.reset(seed=0)
print(observations["system"][0][:120], "...")
print(observations["question"][0], observations["images"][0][0].shape)
envs.close()

# %% [markdown]
# ## Does the path work?
#
# The same loop, environment and learner with the tiny model, which brings small numbers of its
# own: two steps on the CPU. It has learnt to read drawn figures, not photographs of textbooks.

# %%
from agents.cpgd import CPGD
from agents.run import main

words = "--env MMK12-v0 --data mmk12 --model tiny --num-steps 2 --num-prompts 2 --group-size 4"
words += " --minibatch-size 8 --max-response-length 12 --num-test-problems 4 --output-dir run"
main(CPGD, words.split())
for line in Path("run/metrics.jsonl").read_text().splitlines():
    row = json.loads(line)
    print({name: round(row[name], 3) for name in ("step", "reward/mean", "time/step_s")})

# %% [markdown]
# ## On the machine
#
# `python -m agents.doctor` checks the machine: packages, GPUs, shared memory, the disk. Then:
#
# ```
# torchrun --nproc-per-node 8 -m agents.cpgd --env MMK12-v0 --on-collapse stop
# torchrun --nproc-per-node 8 -m agents.cpgd --env MMK12-v0 --on-collapse stop --resume
# python -m agents.evaluate --env MathVista-v0 MathVision-v0 \
#     --model runs/cpgd-mmk12-v0-seed0/checkpoints/step-610
# ```
#
# The first trains and saves every 50 steps, the second continues after any interruption, the third
# evaluates. No numbers of such a run are shown here, for none has been made with this version.
