"""What a run needs in memory, by arithmetic: from a model's shape and a run's settings alone."""
