"""The Pythons and the versions of dependencies that are tested are those that are named."""

from __future__ import annotations

import re
import subprocess
import tomllib
from typing import Any

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from house.project import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
NAMED = [
    found[1]
    for line in PROJECT["project"]["classifiers"]
    if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line))
]
LOCK, OLDEST = "constraints.txt", ".ci/oldest.txt"


def test_the_pythons_agree() -> None:
    assert [f"3.{minor}" for minor in range(11, 11 + len(NAMED))] == NAMED
    project, tool = PROJECT["project"], PROJECT["tool"]
    assert project["requires-python"] == f">={NAMED[0]}"
    assert tool["mypy"]["python_version"] == NAMED[0]
    assert tool["ruff"]["target-version"] == f"py{NAMED[0].replace('.', '')}"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (tried,) = re.findall(r"for name in python3 (.*?); do", makefile)
    assert tried.split() == [f"python{version}" for version in reversed(NAMED)]
    assert f"sys.version_info < ({NAMED[0].replace('.', ', ')})" in makefile
    assert f"--python-version {NAMED[0]} " in makefile
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"with Python {NAMED[0]} to {NAMED[-1]}" in readme


def test_ci_runs_every_python_that_is_named() -> None:
    (reads,) = re.findall(
        r"< <\((sed -n .* pyproject\.toml)\)$",
        (ROOT / ".ci" / "pythons").read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    result = subprocess.run(["sh", "-c", reads], cwd=ROOT, capture_output=True, text=True)
    assert result.stdout.split() == NAMED


def environment(python: str) -> dict[str, str]:
    return {**default_environment(), "python_version": python, "python_full_version": f"{python}.0"}


def needs(extra: str, python: str) -> list[Requirement]:
    """Return the requirements of an extra under a Python, with those of its own extras."""
    project = PROJECT["project"]
    requirements: list[Requirement] = []
    waiting, seen = [extra], set[str]()
    lines = list(project["dependencies"])
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            for need in map(Requirement, project["optional-dependencies"][name]):
                if need.name == project["name"]:
                    waiting += sorted(need.extras)
                else:
                    lines.append(str(need))
    for need in map(Requirement, [*lines, *PROJECT["build-system"]["requires"]]):
        if need.marker is None or need.marker.evaluate(environment(python)):
            requirements.append(need)
    return requirements


def pinned(file: str, python: str) -> dict[str, str]:
    """The versions that a file of constraints gives under a Python."""
    text = (ROOT / file).read_text(encoding="utf-8")
    pins = [Requirement(line) for line in text.splitlines() if not line.startswith("#")]
    versions: dict[str, str] = {}
    for pin in pins:
        if pin.marker is None or pin.marker.evaluate(environment(python)):
            assert pin.name not in versions, f"two versions of {pin.name} for Python {python}"
            assert not pin.extras, "pip takes no extras in constraints"
            ((operator, versions[pin.name]),) = [(s.operator, s.version) for s in pin.specifier]
            assert operator == "=="
    return versions


@pytest.mark.parametrize("python", NAMED)
def test_every_dependency_is_pinned_to_a_version_that_is_allowed(python: str) -> None:
    pins = pinned(LOCK, python)
    for extra in PROJECT["project"]["optional-dependencies"]:
        for need in needs(extra, python):
            assert pins.get(need.name) in need.specifier, f"{need}: run make lock"
    assert "editables" in pins  # hatchling asks for it where Tacit is installed as editable


def lowest(allowed: SpecifierSet) -> str:
    (bound,) = [one.version for one in allowed if one.operator == ">="]
    return bound


@pytest.mark.parametrize("python", NAMED)
def test_the_oldest_versions_are_the_lower_bounds(python: str) -> None:
    pins = pinned(OLDEST, python)
    bounds: dict[str, list[SpecifierSet]] = {}
    for need in needs("test", python):
        bound = Requirement(f"x=={lowest(need.specifier)}").specifier
        bounds.setdefault(need.name, []).append(bound)
    for name, allowed in bounds.items():
        assert any(pins[name] in one for one in allowed), f"{name}: run make lock"


def test_a_file_of_constraints_names_no_index() -> None:
    for file in (LOCK, OLDEST):
        text = (ROOT / file).read_text(encoding="utf-8")
        assert "://" not in text
        assert "--" not in text
        assert " @ " not in text
