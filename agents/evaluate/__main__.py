"""The command `python -m agents.evaluate`."""

from agents.evaluate.command import main

main()
