"""Command lines: settings of a run, flags, files of settings."""
