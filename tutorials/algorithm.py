# %% [markdown]
# # A new algorithm in twenty lines
#
# An algorithm says how rewards become advantages, and advantages a loss of each token. Sampling,
# grading, minibatches, ranks, checkpoints and logging are written once and do not change what it
# says.

# %%
from dataclasses import dataclass

from agents.advantages import leave_one_out
from agents.learner import Learner
from agents.losses import clipped_log_ratio
from agents.rollout import Batch, Group, PerToken
from agents.training.update import Passes, update


@dataclass(frozen=True, kw_only=True)
class Mine(Learner):
    """CPGD's clipped log-ratio on leave-one-out advantages, which never exceed a bound."""

    clip: float = 0.2
    """Distance of the bounds of the ratio from 1."""
    largest: float = 1.0
    """Largest advantage, of either sign."""

    def advantage(self, reward: Group) -> Group:
        return leave_one_out(reward).clamp(-self.largest, self.largest)

    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        return clipped_log_ratio(
            log_prob, batch.old_log_prob, batch.advantage, self.clip, self.clip
        )


# %% [markdown]
# ## Is it right?
#
# `check_learner` tries padding, microbatches, ranks, equal rewards, extreme ratios and the
# gradient on small random rollouts, and prints the smallest that fails. Here is a mistake that is
# easily made: a mean over what stands in the microbatch, so that the result depends on how the
# batch is cut.

# %%
from agents.testing import check_learner


@dataclass(frozen=True, kw_only=True)
class Wrong(Mine):
    """The same, with advantages that the loss centers anew."""

    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        credit = batch.advantage - batch.advantage.mean()
        return clipped_log_ratio(log_prob, batch.old_log_prob, credit, self.clip, self.clip)


check_learner(Mine(), max_examples=3)
try:
    check_learner(Wrong(), max_examples=3)
except AssertionError as error:
    print(str(error).splitlines()[0])

# %% [markdown]
# ## Does it learn?
#
# A bandit is enough to see: a policy that is a table of logits, two problems, answers of three
# tokens. `agents.training.update` is the one that trains a model of seven billion weights.

# %%
import matplotlib.pyplot as plt
import torch

from agents.engines.bandit import BanditEngine, respond


def accuracy(learner: Learner, steps: int = 40, seed: int = 0) -> list[float]:
    """Mean reward in each step of training on a bandit."""
    random = torch.Generator().manual_seed(seed)
    engine = BanditEngine(torch.zeros(2, 3, 6), learning_rate=2.0)
    problems = [problem for problem in (0, 1) for _ in range(16)]
    right = torch.tensor([[1, 2, 3], [5, 0, 4]])[problems]
    curve = []
    for _ in range(steps):
        chances = engine.logits.detach().softmax(-1)[problems]
        tokens = torch.multinomial(chances.flatten(0, 1), 1, generator=random).view(-1, 3)
        reward = (tokens == right).float().mean(-1)
        update(
            learner,
            engine,
            respond(problems, tokens, [3] * len(problems)),
            reward.view(2, 16),
            Passes(minibatch_size=32, microbatch_size=32),
        )
        curve.append(reward.mean().item())
    return curve


for largest in (0.1, 1.0):
    plt.plot(accuracy(Mine(largest=largest)), label=f"largest={largest}")
plt.xlabel("step")
plt.ylabel("mean reward")
plt.ylim(0, 1)
plt.legend()
plt.gcf().set_size_inches(6, 2.6)

# %% [markdown]
# ## As a program
#
# Its fields are its flags, their docstrings the help. In a file of its own, two lines make it a
# command that trains on any environment, on a laptop or on eight GPUs:
#
# ```python
# from agents.run import main
# main(Mine)
# ```

# %%
from agents.cli.flags import parse_run

run, learner = parse_run(Mine, ["--clip", "0.1", "--largest", "2", "--num-steps", "3"])
print(f"{learner.clip = }, {learner.largest = }, {run.num_steps = }")
