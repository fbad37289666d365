import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="needs the extra diagrams")

import matplotlib
import matplotlib.pyplot as plt
from helpers import text_models

SCRIPTS = sorted((Path(__file__).parents[2] / "tutorials").glob("*.py"))
SLOW = pytest.mark.slow(reason="each tutorial is a process that trains")


def named(script):
    return script.stem


def run(script, folder, **variables):
    """Runs a tutorial without a network, and gives what it printed."""
    env = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "MPLBACKEND": "agg",
        "PYTHONPATH": os.pathsep.join(map(str, [script.parents[1], *sys.path])),
        **variables,
    }
    command = [sys.executable, str(script)]
    done = subprocess.run(
        command, cwd=folder, env=env, check=False, timeout=600, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow(reason="trains, as a user of it would")
def test_the_tutorial_of_an_algorithm_runs_in_this_process(monkeypatch, tmp_path):
    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    (script,) = (script for script in SCRIPTS if script.stem == "algorithm")
    found = runpy.run_path(str(script), run_name="tutorial")
    assert found["run"].num_steps == 3
    plt.close("all")


@SLOW
@pytest.mark.parametrize("script", SCRIPTS, ids=named)
def test_a_tutorial_runs_from_top_to_bottom_without_a_network(script, tmp_path):
    model = text_models.write(tmp_path / "model")  # in place of a pretrained one
    run(script, tmp_path, MODEL=str(model), FLAGS="--num-steps 2")


@pytest.mark.slow(reason="trains 135 million weights")
def test_smollm2_is_trained_by_its_tutorial(smollm2, tmp_path):
    (script,) = (script for script in SCRIPTS if script.stem == "pretrained")
    flags = "--num-steps 2 --num-prompts 2"
    printed = run(script, tmp_path, MODEL=str(smollm2), NUM_PROBLEMS="6", FLAGS=flags)
    assert all(word in printed for word in ("before", "after", "wrong", "GiB", "difference"))


@pytest.mark.parametrize("script", SCRIPTS, ids=named)
def test_a_notebook_says_what_its_script_says(script):
    jupytext = pytest.importorskip("jupytext", reason="needs jupytext")
    notebook = jupytext.read(script.with_suffix(".ipynb"))
    said = [(cell.cell_type, cell.source) for cell in jupytext.read(script).cells]
    assert [(cell.cell_type, cell.source) for cell in notebook.cells] == said


@pytest.mark.parametrize("script", SCRIPTS, ids=named)
def test_a_notebook_holds_what_it_gave_and_no_path_or_address_of_a_machine(script):
    jupytext = pytest.importorskip("jupytext", reason="needs jupytext")
    cells = jupytext.read(script.with_suffix(".ipynb")).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    for cell in code:
        kinds = {output.output_type for output in cell.outputs}
        assert "error" not in kinds
        assert not ("\nprint(" in cell.source and not kinds)
        assert not ("plt." in cell.source and "display_data" not in kinds)
    varying = ("/tmp/", "/home/", " at 0x")
    assert not any(word in script.with_suffix(".ipynb").read_text() for word in varying)


def test_the_tutorials_are_on_the_site():
    listed = (SCRIPTS[0].parents[1] / "mkdocs.yml").read_text()
    assert [f"tutorials/{script.stem}.ipynb" in listed for script in SCRIPTS] == [True] * 9
