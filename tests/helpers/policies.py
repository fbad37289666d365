"""Policies of environments with tools, which see the problem: of the oracle, blind and random."""

import random

import numpy as np


def oracle(toolbox, problem, rng):
    """The worked solution, call by call."""
    return toolbox.responses(problem.solution)


def blind(toolbox, problem, rng):
    """An answer without a call: the right one of another problem of the same kind."""
    return [str(rng.choice(blind.answers))]


def at_random(toolbox, problem, rng):
    """Calls with random numbers, and a random answer."""
    tool = rng.choice(toolbox.tools)
    count = {"calc": 1, "zoom": 4, "ruler": 4, "protractor": 6}[tool.name]
    numbers = (", ".join(str(rng.randint(0, 1000)) for _ in range(count)) for _ in range(9))
    calls = [f"{tool.name}({each})" for each in numbers]
    return [*calls[: rng.randrange(toolbox.max_calls + 2)], str(rng.randint(0, 99))]


def play(envs, policy, seed=0):
    """Total reward, number of calls and problem of an episode of each sub-environment."""
    rng = random.Random(seed)
    envs.reset(seed=seed)
    problems = [episode.problem for episode in envs._episodes.values()]
    responses = [list(policy(envs.tools, problem, rng)) for problem in problems]
    total, count = np.zeros(envs.num_envs), np.zeros(envs.num_envs, int)
    is_open = np.ones(envs.num_envs, bool)
    while is_open.any():
        actions = [responses[i].pop(0) if is_open[i] else None for i in range(envs.num_envs)]
        _, rewards, terminations, truncations, infos = envs.step(actions)
        total += rewards
        count += infos["tool_status"] == "ok"
        is_open &= ~(terminations | truncations)
    return total, count, problems
