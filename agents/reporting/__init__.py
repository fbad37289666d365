"""The pieces of `python -m agents.report`: runs as they lie on the disk, and a page of them."""
