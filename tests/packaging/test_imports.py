"""What imports what: no circle, and both packages within their bounds, lazy imports counted."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from agents.algorithms import ALGORITHMS, module_of

ROOT = Path(__file__).parents[2]
NAMES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("reasonenv", "agents")
    for path in sorted((ROOT / package).rglob("*.py"))
}
"""Every module of the two packages by its dotted name, and its file."""


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes below this one, without the blocks `if __name__ == "__main__"`."""
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and "__name__" in ast.unparse(child.test)):
            yield child
            yield from statements(child)


@cache
def imports(name: str) -> frozenset[str]:
    """Modules that a module imports, at its top, in a function or for its types only.

    `from a.b import c` imports a.b.c if that is a module of the two packages, else a.b.
    """
    modules = set()
    for node in statements(ast.parse(NAMES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import"
            members = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            modules |= {m if m in NAMES else str(node.module) for m in members.values()}
    return frozenset(modules)


def inside(name: str, *places: str) -> bool:
    """True if the module is one of these, or in one of these packages."""
    return any(name == place or name.startswith(place + ".") for place in places)


def imports_of(package: str, of: str) -> set[tuple[str, str]]:
    """The pairs (module, import) of a package's modules that import from `of`."""
    return {(m, i) for m in NAMES if inside(m, package) for i in imports(m) if inside(i, of)}


@pytest.mark.parametrize("package", ["reasonenv", "agents"])
def test_no_module_imports_itself_by_way_of_others(package):
    graph = {m: {i for i in imports(m) if i in NAMES} - {m} for m in NAMES if inside(m, package)}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("circle: " + " <- ".join(error.args[1]))


def test_grading_imports_the_budget_before_parsing_before_numeric_before_equivalence():
    names = ("budget", "parsing", "numeric", "equivalence")
    rooms = [f"reasonenv.grading.{name}" for name in names]
    for index, room in enumerate(rooms):
        pairs = imports_of(room, "reasonenv")
        assert {(m, i) for m, i in pairs if not inside(i, *rooms[: index + 1])} == set()


def test_reasonenv_imports_neither_a_learner_nor_torch():
    for library in ("agents", "torch", "transformers", "tokenizers", "jaxtyping", "tyro"):
        assert imports_of("reasonenv", library) == set()


MATHEMATICS = {
    *(f"agents.{name}" for name in ("advantages", "losses", "corrections", "divergences")),
    *(f"agents.{name}" for name in ("distillation", "ranges", "views")),
    *(f"agents.{name}" for name in ("reductions", "references", "learner", "rollout", "errors")),
    "agents.algorithms",
    *map(module_of, ALGORITHMS),
} & NAMES.keys()


def test_the_mathematics_imports_torch_and_itself_alone():
    pairs = {(m, i) for m in MATHEMATICS for i in imports(m) if i not in MATHEMATICS}
    allowed = {"torch", "jaxtyping", *sys.stdlib_module_names}
    assert {(m, i) for m, i in pairs if i.split(".")[0] not in allowed} == set()


def test_every_learner_is_mathematics():
    learners = {m for m in NAMES if "agents.learner" in imports(m)}
    assert {m for m in learners if "Learner):" in NAMES[m].read_text()} <= MATHEMATICS


def loaded(statement: str) -> set[str]:
    """Modules, and the packages that they are in, after a statement in a fresh process."""
    process = subprocess.run(
        [sys.executable, "-c", f"{statement}\nimport sys\nprint(*sys.modules)"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(process.stdout.split())


def test_importing_a_learner_loads_torch_and_the_mathematics_alone():
    pytest.importorskip("torch", reason="needs the extra train")
    modules = loaded("from agents.cpgd import CPGD")
    assert {m for m in modules if inside(m, "agents")} - MATHEMATICS == {"agents"}
    # torch itself loads tqdm where it is installed.
    extras = {"gymnasium", "tokenizers", "transformers", "reasonenv", "PIL", "tyro", "datasets"}
    assert modules & (extras | {"deepspeed", "vllm", "sympy", "matplotlib"}) == set()


COMMANDS = ("run", "dry_run", "evaluate", "generate", "sft", "report", "plan", "doctor")
USERS = (
    *(
        "agents.training.setup",
        "agents.training.model_usage",
        "agents.cli",
    ),
    *(f"agents.{name}" for name in COMMANDS),
)


def test_agents_imports_reasonenv_in_its_set_up_its_evaluation_and_its_commands():
    pairs = imports_of("agents", "reasonenv")
    # Lines, tables, files, JSON and image marks are written and read in the same way everywhere.
    names = ("console", "scoring", "files", "messages")
    common = {f"reasonenv.{name}" for name in names}
    users = {module for module, name in pairs if name not in common}
    assert {module for module in users if not inside(module, *USERS)} == set()


def test_agents_imports_nothing_from_inside_a_package_of_reasonenv():
    pairs = imports_of("agents", "reasonenv")
    assert {(module, name) for module, name in pairs if name.count(".") > 1} == set()


@pytest.mark.parametrize("library", ["deepspeed", "vllm"])
def test_deepspeed_and_vllm_are_imported_by_engines_and_the_doctor_alone(library):
    places = ("agents.engines",)
    assert {m for m, _ in imports_of("agents", library) if not inside(m, *places)} == set()
    assert imports_of("reasonenv", library) == set()
