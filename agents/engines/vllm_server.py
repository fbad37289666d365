"""The command `python -m agents.engines.vllm_server`; see `agents.engines.vllm.server`."""

from agents.cli.exit import errors_in_one_line
from agents.engines.vllm.server import main

if __name__ == "__main__":
    with errors_in_one_line():
        main()
