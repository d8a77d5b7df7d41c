"""The project around the code: wheel, README, CHANGELOG, continuous integration."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from house.project import PACKAGE, ROOT

TEST_COMMAND = "make test"


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built as a release would build it."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return zipfile.ZipFile(built)


def test_wheel_holds_every_file_of_the_package(wheel: zipfile.ZipFile) -> None:
    files = {
        f"tacit/{path.relative_to(PACKAGE).as_posix()}"
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    names = set(wheel.namelist())
    assert files <= names
    assert {"tacit/py.typed", "tacit/data/health_insurance.parquet"} <= names
    others = {name for name in names - files if ".dist-info/" not in name}
    assert others == set()


def test_wheel_holds_the_license_and_the_command(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    (license_name,) = [name for name in names if name.endswith("licenses/LICENSE")]
    assert b"Apache License" in wheel.read(license_name)
    (entry_points,) = [name for name in names if name.endswith("entry_points.txt")]
    assert b"tacit = tacit.cli:main" in wheel.read(entry_points)


def test_core_dependencies_are_four() -> None:
    needs = [
        re.match(r"[\w-]+", line)[0]  # type: ignore[index]
        for line in importlib.metadata.requires("tacit") or []
        if "extra ==" not in line
    ]
    assert sorted(needs) == ["duckdb", "numpy", "rich", "typer"]


def test_readme_and_ci_run_the_same_test_command() -> None:
    assert f"\n{TEST_COMMAND}\n" in read("README.md")
    lines = [line.split("#")[0].strip() for line in read(".ci/run").splitlines()]
    assert TEST_COMMAND in lines
    assert "set -euo pipefail" in lines
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_every_make_target_of_the_readme_exists() -> None:
    targets = set(re.findall(r"^([a-z][\w-]*):", read("Makefile"), flags=re.MULTILINE))
    wanted = {"setup", "demo", "test", "test-slow", "bench", "docs", "check"}
    assert wanted <= targets
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        named = re.findall(r"(?:^|`)(?:\$ )?make ([a-z][\w-]*)", text, flags=re.MULTILINE)
        assert set(named) <= targets, page


def test_changelog_is_kept() -> None:
    text = read("CHANGELOG.md")
    version = tomllib.loads(read("pyproject.toml"))["project"]["version"]
    headings = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    dated = re.compile(r"\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}")
    assert all(dated.fullmatch(heading) for heading in headings[1:]), headings
    released = [heading[1 : heading.index("]")] for heading in headings[1:]]
    assert version in released or f"will be {version}" in text
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.*)$", text, flags=re.MULTILINE)) <= kinds


def test_version_is_told_once() -> None:
    version = tomllib.loads(read("pyproject.toml"))["project"]["version"]
    assert importlib.metadata.version("tacit") == version


@pytest.mark.parametrize("page", sorted(p.relative_to(ROOT) for p in ROOT.glob("*.md")), ids=str)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    check_links(ROOT / page)


def test_links_of_the_docs_lead_somewhere() -> None:
    pages = sorted((ROOT / "docs").rglob("*.md"))
    assert pages
    for page in pages:
        check_links(page)


def test_index_names_every_page_of_the_docs() -> None:
    index = read("docs/index.md")
    pages = [p.relative_to(ROOT / "docs") for p in (ROOT / "docs").rglob("*.md")]
    assert [
        str(p) for p in pages if p.name != "index.md" and f"({p.as_posix()})" not in index
    ] == []


def check_links(page: Path) -> None:
    """Every relative link of a page names a file of the project."""
    links = re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    local = [link.split("#")[0] for link in links if not re.match(r"\w+:|#", link)]
    dead = [link for link in local if not (page.parent / link).exists()]
    assert dead == [], page
