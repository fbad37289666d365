"""Implementation of `python -m agents.report`: run directories, and a page of them."""
