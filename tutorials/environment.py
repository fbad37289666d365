# %% [markdown]
# # The environment in ten lines
#
# An environment poses mathematics problems in words and pictures, takes responses in words, and
# grades them by rule. It is plain [Gymnasium](https://gymnasium.farama.org): no torch, no tokens.

# %%
import reasonenv

envs = reasonenv.make("Figures-v2", num_envs=8, group_size=4)  # 2 problems x 4 responses
observations, infos = envs.reset(seed=0)
print(observations["question"][0], infos["problem_id"][0])

# %% [markdown]
# Sub-environments 0 to 3 have the same problem, 4 to 7 the next: a group is what GRPO and its
# relatives compare. The figures are arrays; here they are drawn, so there is nothing to download.

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(7, 1.6))
for axis, index in zip(axes, (0, 4), strict=True):
    axis.imshow(observations["images"][index][0])
    axis.set_title(observations["question"][index], fontsize=9)
    axis.axis("off")

# %% [markdown]
# A step takes a text for each sub-environment. Four different answers to the first problem:

# %%
responses = [
    r"<think>I see 19.</think><answer>\boxed{19}</answer>",
    r"It is \boxed{38/2}.",
    "nineteen, I think",
    r"<think>a guess</think><answer>\boxed{9^{9^{9^9}}}</answer>",
] * 2
observations, rewards, terminations, truncations, infos = envs.step(responses)
for index in range(4):
    verdict = ", ".join(f"{name} {infos[name][index]}" for name in ("accuracy", "format", "status"))
    print(f"{rewards[index]:.1f}  {verdict}, answer {infos['answer'][index]}")

# %% [markdown]
# Each part of a reward is in `infos`, and `status` says why there was no verdict: an answer
# that no machine can compute costs a deadline, not the run. `infos` has the reference
# after the step, never before.
#
# One problem at a time is a plain `gymnasium.Env`, and Gymnasium's wrappers fit both:

# %%
from gymnasium.wrappers import RecordEpisodeStatistics, TransformReward

env = RecordEpisodeStatistics(TransformReward(reasonenv.make("Figures-v2"), lambda r: 10 * r))
observation, info = env.reset(seed=0)
observation, reward, terminated, truncated, info = env.step(r"<answer>\boxed{19}</answer>")
print(reward, terminated, info["episode"]["r"])

# %%
env.close()
envs.close()
