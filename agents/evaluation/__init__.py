"""Implementation of `python -m agents.evaluate`: sampling, resumption, statistics, presentation."""
