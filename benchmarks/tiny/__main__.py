"""The warm start of a generated model: python -m benchmarks.tiny --help."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from agents.cli.exit import errors_in_one_line, standard_streams
from agents.cli.flags import parse
from agents.engines.process import keep_freed_memory, set_threads
from agents.storage.lock import locked
from benchmarks.tiny.recipe import pack, recipe
from benchmarks.tiny.stage import Stage


@dataclass(frozen=True, kw_only=True)
class WarmStart:
    """Warm start of a generated model on Figures-v2, as that of the tiny one in `agents/tiny`.

    Runs begin with it by --model DIR/model.
    """

    env_options: str = "{}"
    """Variant of Figures-v2 as JSON: '{"level": 3}', or families, or scale."""
    model: Literal["tiny", "small"] = "tiny"
    """Tiny has 0.7 million parameters, small 28 million, for a GPU."""
    seed: int = 0
    """Seed of the model's first weights and of the order of the problems."""
    num_steps: int | None = None
    """Steps of each stage, for a trial; by default those of the recipe."""
    batch_size: int | None = None
    """Solutions per step, for a trial; by default those of the recipe."""
    output_dir: Path = Path("warm")
    """Folder for the stages and the model, in Hugging Face format."""

    def stages(self) -> list[Stage]:
        """The stages of the recipe."""
        trial = {"num_steps": self.num_steps, "batch_size": self.batch_size}
        given = {name: value for name, value in trial.items() if value is not None}
        return [replace(s, **given) for s in recipe(self.env_options, self.seed, self.model)]


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; `arguments` are those of this process unless given."""
    settings = parse(WarmStart, "benchmarks.tiny", arguments)
    keep_freed_memory()
    if message := set_threads():
        print(message, file=sys.stderr)
    with errors_in_one_line(), locked(settings.output_dir):
        print(f"wrote {pack(settings.stages(), settings.output_dir)}")


if __name__ == "__main__":
    main()
