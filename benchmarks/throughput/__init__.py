"""The pieces of throughput.py: one process for each side, and what is made of their figures."""
