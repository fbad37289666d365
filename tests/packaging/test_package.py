import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MODULES = sorted(
    p.relative_to(ROOT)
    for package in ("reasonenv", "agents")
    for p in (ROOT / package).rglob("*.py")
)

# Who may import what besides themselves; the rest of the project may not.
ALLOWED = {
    "torch": ("agents/",),
    "agents": ("agents/",),
    "deepspeed": ("agents/engines/",),
    "vllm": ("agents/engines/",),
    "datasets": (
        "reasonenv/datasets/hub.py",
        "reasonenv/datasets/questions.py",
        "reasonenv/datasets/table.py",
        "reasonenv/adapters/trl.py",
    ),
}


def imports(path: Path) -> set[str]:
    """Top-level packages that a module imports, at the top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(str(node.module).split(".")[0])
    return found


@pytest.mark.parametrize("package", ALLOWED)
def test_a_package_is_imported_only_where_the_design_says(package):
    users = [path.as_posix() for path in MODULES if package in imports(path)]
    assert [user for user in users if not user.startswith(ALLOWED[package])] == []


# Importing every module of reasonenv, in a process where importing a learner's package fails.
ALONE = """
import importlib, pkgutil, sys
for name in ("torch", "transformers", "agents", "deepspeed", "vllm", "jaxtyping", "tyro"):
    sys.modules[name] = None
import reasonenv
assert "datasets" not in sys.modules, "importing reasonenv touches no data set"
for module in pkgutil.walk_packages(reasonenv.__path__, "reasonenv."):
    if not module.name.endswith(("__main__", ".adapters.taskset")):  # which needs verifiers
        importlib.import_module(module.name)
print("imported", len(sys.modules))
"""


def test_reasonenv_works_where_torch_and_agents_are_not():
    command = [sys.executable, "-c", ALONE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.startswith("imported")


def test_importing_agents_imports_nothing_that_is_heavy():
    assert imports(Path("agents/__init__.py")) == {
        *("os", "sys", "importlib"),
        "agents",  # a module that imports the standard library alone, where a command starts
    }


@pytest.mark.parametrize("package", ["reasonenv", "agents"])
def test_type_checkers_see_the_annotations(package):
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert (Path(str(spec.origin)).parent / "py.typed").exists()


def test_the_changelog_begins_with_the_version_of_the_package():
    changelog = (ROOT / "CHANGELOG.md").read_text()
    versions = re.findall(r"^## \[(\d[^\]]*)\]", changelog, re.M)
    assert versions[0] == PROJECT["version"]


def test_the_citation_names_the_version_and_the_date_of_the_changelog():
    citation = (ROOT / "CITATION.cff").read_text()
    version, date = re.findall(
        r"^## \[(\d[^\]]*)\] - (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M
    )[0]
    assert f"\nversion: {version}\ndate-released: {date}\n" in citation


@pytest.mark.parametrize("command", PROJECT["scripts"].values())
def test_a_console_script_is_the_main_function_of_a_module(command):
    module, function = command.split(":")
    tree = ast.parse((ROOT / module.replace(".", "/")).with_suffix(".py").read_text())
    assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_no_requirement_brings_torchvision_and_the_base_install_has_no_torch():
    extras = PROJECT["optional-dependencies"]
    named = [re.split(r"[^\w-]", r)[0] for group in extras.values() for r in group]
    base = [re.split(r"[^\w-]", r)[0] for r in PROJECT["dependencies"]]
    assert "torchvision" not in named
    assert not {"torch", "transformers", "torchvision"} & set(base)


def test_the_versions_of_a_cpu_installation_are_the_lower_part_of_the_ranges():
    ranges = {
        requirement.name: requirement.specifier
        for requirement in map(Requirement, PROJECT["optional-dependencies"]["train"])
    }
    lines = (ROOT / "constraints-cpu.txt").read_text().splitlines()
    constraints = [Requirement(line) for line in lines if not line.startswith("#")]
    assert {constraint.name for constraint in constraints} == {"torch", "transformers"}
    for constraint in constraints:
        versions = [Version(f"{major}.{minor}") for major in range(9) for minor in range(40)]
        within = list(ranges[constraint.name].filter(versions))
        both = list(constraint.specifier.filter(within))
        assert both == within[: len(both)] != within
        assert both
