"""Commands on a base install, which a process without the packages of the extras stands for."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from agents.cli.missing_packages import EXTRAS

ROOT = Path(__file__).parents[3]
IMPORTED_AS = {"pyyaml": "yaml"}
IN_BASE = {"filelock", "yaml", "packaging"}
"""Packages of the extra that those of the base install need as well."""
BLOCKED = sorted({name for names in EXTRAS.values() for name in names} - IN_BASE)


@pytest.fixture
def on_base_install(tmp_path):
    """Runs Python with the packages of the extras blocked."""
    blocking = f"import sys\nsys.modules.update(dict.fromkeys({BLOCKED!r}))\n"
    (tmp_path / "sitecustomize.py").write_text(blocking)
    path = os.pathsep.join([str(tmp_path), str(ROOT)])

    def run(*words, **environment):
        return subprocess.run(
            [sys.executable, *words],
            env=os.environ | {"PYTHONPATH": path} | environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.parametrize(
    "words",
    [
        ["agents.cpgd"],
        ["agents.run"],
        ["agents.plan", "--env", "MMK12-v0"],
        ["agents.report", "run"],
        ["agents.evaluate"],
        ["agents.sft", "--help"],
        ["agents.engines.vllm_server", "--model", "M"],
        ["agents", "grpo"],
    ],
    ids=" ".join,
)
def test_a_command_without_its_extra_names_the_installation_in_one_line(on_base_install, words):
    process = on_base_install("-m", *words)
    assert process.returncode == 1
    assert re.fullmatch(
        r"error: (\w+) is not installed: run pip install 'reasonenv\[train\]'\n", process.stderr
    )


def test_the_traceback_of_a_missing_package_can_be_had(on_base_install):
    process = on_base_install("-m", "agents.cpgd", REASONENV_TRACEBACK="1")
    assert process.returncode == 1
    assert process.stderr.startswith("Traceback")


@pytest.mark.parametrize("module", ["agents.doctor", "reasonenv", "reasonenv.score"])
def test_commands_that_need_no_extra_run_on_a_base_install(on_base_install, module):
    process = on_base_install("-m", module, "--help")
    assert (process.returncode, process.stderr) == (0, "")


def test_a_module_of_no_extra_keeps_its_traceback(on_base_install):
    process = on_base_install(
        "-c", "import agents.cli.missing_packages as m; m.explain_missing_packages(); import nosuch"
    )
    assert process.stderr.startswith("Traceback")


BROKEN = {
    "a library that does not load": "raise ImportError('libcudart.so.12: cannot open')",
    "a file that is missing from it": "import torch.nosuch",
    "a fault in it": "raise OSError('undefined symbol: ncclCommInit')",
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_an_installed_package_that_is_broken_shows_its_own_error(tmp_path, content):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(content)
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    process = subprocess.run(
        [sys.executable, "-m", "agents.cpgd"],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 1
    assert process.stderr.startswith("Traceback")
    assert "is not installed" not in process.stderr


def test_a_program_that_imports_the_package_keeps_its_own_hook(on_base_install):
    process = on_base_install("-c", "import agents.cpgd")
    assert "ModuleNotFoundError" in process.stderr
    assert process.stderr.startswith("Traceback")


def test_the_extras_are_those_of_the_distribution():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for extra, packages in EXTRAS.items():
        requirements = project["optional-dependencies"][extra]
        names = [re.split(r"[^\w-]", text)[0] for text in requirements]
        imported = {IMPORTED_AS.get(name, name.replace("-", "_")) for name in names}
        assert imported - {"reasonenv"} == set(packages)
