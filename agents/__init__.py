"""Learners for reinforcement learning with verifiable rewards.

Each algorithm is a module that runs: `python -m agents.cpgd --help`. Nothing is imported here, so
that running a module never imports it twice.
"""
