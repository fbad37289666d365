"""Upload of a checkpoint to the Hugging Face hub: python -m agents.push --help."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.cli.exit import errors_in_one_line, standard_streams
from agents.cli.flags import parse
from agents.storage.hub import model_files, upload
from reasonenv.console import print_line


@dataclass(frozen=True, kw_only=True)
class PushArguments:
    """Upload of a checkpoint to the Hugging Face hub.

    The model, its tokenizer and image processor, and its card are uploaded; states of the optimizer
    and of the run are not. The token is that of "hf auth login" or HF_TOKEN.
    """

    model: Path
    """Folder in Hugging Face format, such as a checkpoint."""
    push_to_hub: str
    """Name of the repository, such as you/model; created if it does not exist."""
    private: bool = False
    """Make a new repository private."""


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; `arguments` are those of this process unless given."""
    options = parse(PushArguments, "agents.push", arguments)
    with errors_in_one_line():
        print_line(f"uploading {', '.join(model_files(options.model))}")
        print_line(upload(options.model, options.push_to_hub, options.private or None))


if __name__ == "__main__":
    main()
