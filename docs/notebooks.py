"""Writes the notebooks of the tutorials from their scripts, with their outputs.

    python docs/notebooks.py                     # all of them
    python docs/notebooks.py tutorials/data.py   # some

Needs jupytext, nbclient and ipykernel.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import jupytext
from nbclient import NotebookClient
from nbformat import NotebookNode

TUTORIALS = Path(__file__).parents[1] / "tutorials"


def main(arguments: Sequence[str]) -> None:
    """Executes the named scripts, or all, and writes the notebook of each."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    for script in [Path(name).resolve() for name in arguments] or sorted(TUTORIALS.glob("*.py")):
        notebook = executed(script)
        jupytext.write(notebook, script.with_suffix(".ipynb"), fmt="ipynb")
        print(script.with_suffix(".ipynb"))


def executed(script: Path) -> NotebookNode:
    """The notebook of a script with its outputs, without traces of the machine."""
    notebook = jupytext.read(script)
    notebook.metadata = NotebookNode(kernelspec=_kernel())
    how = {"kernel_name": "python3", "timeout": 1800, "coalesce_streams": True}
    NotebookClient(notebook, **how).execute()
    notebook.metadata = NotebookNode(kernelspec=_kernel())
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata = NotebookNode()
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if shown(output)]
    return notebook


def shown(output: NotebookNode) -> bool:
    """True if an output is for a reader: warnings and progress bars of libraries are noise."""
    only_a_name = output.output_type == "execute_result" and "image/png" not in output.data
    return output.get("name") != "stderr" and not only_a_name


def _kernel() -> NotebookNode:
    return NotebookNode(name="python3", display_name="Python 3", language="python")


if __name__ == "__main__":
    main(sys.argv[1:])
