"""What `python -m agents.evaluate` is made of: exams, their responses on disk, tables, pictures."""
