"""The folder of what is made once and used again: models, keys."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """`$REASONENV_CACHE`, else the folder `reasonenv` of the user's cache."""
    if own := os.environ.get("REASONENV_CACHE"):
        return Path(own)
    return user_cache() / "reasonenv"


def user_cache() -> Path:
    """`$XDG_CACHE_HOME`, which counts where it is absolute, else `~/.cache`."""
    folder = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return folder if folder.is_absolute() else Path.home() / ".cache"
