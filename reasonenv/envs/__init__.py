"""One module for each environment: its problems, its rewards, where they come from."""
