"""Checks behind `python -m agents.doctor`: packages, machine, and programs run as trials."""
