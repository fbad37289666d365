"""A package of an extra that is not installed: one line with the command that installs it."""

import os
import sys
from types import TracebackType

EXTRAS = {
    "train": (
        *("torch", "transformers", "tokenizers", "safetensors", "jaxtyping", "tyro"),
        *("filelock", "yaml", "packaging", "pydantic", "tensorboard", "deepspeed"),
    ),
    "diagrams": ("matplotlib",),
    "lora": ("peft",),
    "liger": ("liger_kernel",),
    "vllm": ("vllm",),
}
"""Packages of each extra of this distribution, by the name that Python imports."""


def explain_missing_packages() -> None:
    """Has the process end with one line where a package of an extra cannot be imported.

    Commands call it before they import such packages. REASONENV_TRACEBACK=1 shows the traceback.
    """
    sys.excepthook = _excepthook


def _excepthook(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    # A missing module within a package, torch.foo, is of an installation that is there but damaged.
    package = error.name if isinstance(error, ModuleNotFoundError) else None
    extra = next((extra for extra, packages in EXTRAS.items() if package in packages), None)
    if extra is None or os.environ.get("REASONENV_TRACEBACK"):
        sys.__excepthook__(kind, error, traceback)
    else:
        line = f"error: {package} is not installed: run pip install 'reasonenv[{extra}]'"
        print(line, file=sys.stderr)
