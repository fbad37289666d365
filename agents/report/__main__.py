"""The command `python -m agents.report`."""

from agents.report import main

if __name__ == "__main__":
    main()
