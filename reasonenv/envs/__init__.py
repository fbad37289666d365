"""One module for each environment: its data set, problems, rewards and default prompt."""
