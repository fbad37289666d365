"""Metrics, logs and progress of a run, and the detection of a collapse."""
