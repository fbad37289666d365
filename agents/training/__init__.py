"""The training loop behind `agents.run`: setup, rollouts, updates, several ranks."""
