"""Accuracy of a model on the problems of some environments: python -m agents.evaluate --help."""

from agents.evaluate.command import main as main
