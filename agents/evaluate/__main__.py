"""The command `python -m agents.evaluate`."""

from agents.evaluate import main

main()
