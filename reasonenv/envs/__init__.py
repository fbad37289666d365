"""Environments by module: data sets or problems drawn by program, rewards and default prompt."""
