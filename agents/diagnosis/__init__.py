"""What a machine can run, and the command that mends what it cannot; needs no torch itself."""
