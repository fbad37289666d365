"""Measurements: each a command, its JSON and its picture."""
