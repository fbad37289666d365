"""Figures-v0: mathematics problems in pictures, drawn by program and exact by construction."""

from reasonenv.envs.figures.problems import FAMILIES, Figures, problems
from reasonenv.rewards import accuracy, think_answer_format

__all__ = ["FAMILIES", "PROMPT", "REWARDS", "Figures", "problems"]

REWARDS = {"accuracy": (1.0, accuracy), "format": (0.1, think_answer_format)}
PROMPT = "plain"
