"""The folder of what is made once and used again: models, keys."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """`$REASONENV_CACHE`, else `reasonenv` in `$XDG_CACHE_HOME`, if absolute, or in `~/.cache`."""
    if own := os.environ.get("REASONENV_CACHE"):
        return Path(own)
    folder = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (folder if folder.is_absolute() else Path.home() / ".cache") / "reasonenv"
