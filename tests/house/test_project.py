"""The project around the code: wheel, README, CHANGELOG, continuous integration."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from email.message import Message
from email.parser import BytesParser
from pathlib import Path

import pytest

import tacit
from house.project import PACKAGE, ROOT, tracked

TEST_COMMAND = "make test"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


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


def metadata(wheel: zipfile.ZipFile) -> Message:
    """Return the metadata of the wheel; the installed one may be of another commit."""
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return BytesParser().parsebytes(wheel.read(name))


def test_core_dependencies_are_four(wheel: zipfile.ZipFile) -> None:
    # A set: one dependency may be named once per version of Python.
    needs = {
        re.match(r"[\w-]+", line)[0]  # type: ignore[index]
        for line in metadata(wheel).get_all("Requires-Dist", [])
        if "extra ==" not in line
    }
    assert sorted(needs) == ["duckdb", "numpy", "rich", "typer"]


def commands(script: str) -> list[str]:
    """Return the lines of a shell script, without its comments."""
    lines = [line.split("#")[0].strip() for line in read(script).splitlines()]
    return [line for line in lines if line]


def targets() -> set[str]:
    """The names that `make` knows."""
    return set(re.findall(r"^([a-z][\w-]*):", read("Makefile"), flags=re.MULTILINE))


def test_ci_runs_the_test_command_of_the_readme_before_all_else() -> None:
    assert f"\n{TEST_COMMAND}\n" in read("README.md")
    lines = commands(".ci/run")
    assert lines[:3] == ["set -euo pipefail", 'cd "$(dirname "$0")/.."', TEST_COMMAND]
    order = ['.ci/pythons "$SECONDS"', "make check", "make test-all", "cat build/pythons"]
    assert [line for line in lines[3:] if line in order] == order
    assert lines[-2:] == order[-2:]
    # What it installs meanwhile is there before it is needed.
    assert lines[lines.index(order[0]) + 1] == lines[lines.index("make check") + 1] == "wait"
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_every_make_target_that_is_named_exists() -> None:
    named = re.findall(r"@echo \"make ([\w-]+)", read("Makefile"))
    assert {"demo", "test", "test-all", "test-slow"} <= set(named) <= targets()
    assert targets() - set(named) == {"help"}
    pages = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md")), ROOT / ".ci" / "run"]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        named = re.findall(r"(?:^|`)(?:\$ )?make ([a-z][\w-]*)", text, flags=re.MULTILINE)
        assert set(named) <= targets(), page


def test_every_target_is_declared_to_be_no_file() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.*)$", read("Makefile"), flags=re.MULTILINE)
    assert set(phony.split()) == targets()


@pytest.mark.full
def test_the_demo_installs_no_extra_but_that_of_its_pages() -> None:
    recipe = subprocess.run(
        ["make", "-n", "demo", "VENV=not-there"], cwd=ROOT, capture_output=True, text=True
    )
    assert "tacit demo" in recipe.stdout
    installs = "".join(x for x in recipe.stdout.splitlines() if "pip install" in x)
    assert re.findall(r"\[.*?\]", installs) == ["[page]"]


@pytest.mark.parametrize(
    ("run", "left_to"),
    [
        ("not slow and not full", "test"),
        ("not slow and (full or hypothesis)", "test-all"),
        ("slow or hypothesis", "test-slow"),
    ],
)
def test_every_test_is_in_a_command(run: str, left_to: str) -> None:
    recipe = re.search(rf"^{left_to}:.*\n\t(.*)", read("Makefile"), flags=re.MULTILINE)
    assert recipe is not None
    assert (re.findall(r'-m "(.*?)"', recipe[1]) or [""]) == [run]


def test_changelog_is_kept() -> None:
    text = read("CHANGELOG.md")
    version = PROJECT["version"]
    headings = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    dated = re.compile(r"\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}")
    assert all(dated.fullmatch(heading) for heading in headings[1:]), headings
    released = [heading[1 : heading.index("]")] for heading in headings[1:]]
    assert version in released or f"will be {version}" in text
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.*)$", text, flags=re.MULTILINE)) <= kinds


def test_the_version_of_the_package_is_that_of_the_distribution(wheel: zipfile.ZipFile) -> None:
    assert metadata(wheel)["Name"] == PROJECT["name"] == "tacit-dp"
    assert metadata(wheel)["Version"] == PROJECT["version"] == tacit.__version__


EXTRAS = "|".join(PROJECT["optional-dependencies"])
ANOTHER_PROJECT = re.compile(
    # pip install [options, other packages] tacit
    r"\b(?:install|uv add)(?:\s+-\S+|[ \t]+[\w.=<>-]+)*?\s+['\"]?tacit(?![\w-])"
    # tacit[extra], of a pattern too
    rf"|(?<![\w.-])tacit\\?\[(?:{EXTRAS}|\{{\w+\}})[],\\]"
    # the version of what is installed under that name
    r"|\b(?:version|requires|distribution|metadata)\(\s*['\"]tacit['\"]",
)


def test_nothing_installs_the_other_project_called_tacit() -> None:
    """On the package index `tacit` is another project: this one is tacit-dp."""
    hits = []
    for path in tracked():
        if path.suffix not in {".json", ".sql", ".bin"} and path != Path(__file__):
            text = path.read_bytes().decode("utf-8", errors="replace")
            for match in ANOTHER_PROJECT.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                hits.append(f"{path.relative_to(ROOT)}:{line}: {match[0]}")
    assert hits == []


@pytest.mark.parametrize(
    "text",
    [
        "pip install tacit",
        "pip install -U --quiet tacit, then run it",
        "<code>pip install tacit</code>",
        "``pip install\n    'tacit[synthetic]'``",
        "python -m pip install opendp tacit",
        "uv add tacit",
        "the extra `tacit[sql]`",
        'install "tacit[serve,postgres]"',
        r"match=r'tacit\[page\]'",
        "f\"pip install 'tacit[{extra}]'\"",
        'version("tacit")',
    ],
)
def test_the_other_project_is_noticed(text: str) -> None:
    assert ANOTHER_PROJECT.search(text)
    assert not ANOTHER_PROJECT.search(text.replace("tacit", "tacit-dp"))


@pytest.mark.parametrize("page", sorted(p.relative_to(ROOT) for p in ROOT.glob("*.md")), ids=str)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    check_links(ROOT / page)


def test_links_of_the_docs_lead_somewhere() -> None:
    pages = sorted((ROOT / "docs").rglob("*.md"))
    assert pages
    for page in pages:
        check_links(page)


def test_index_names_every_page_of_the_docs() -> None:
    """A page stands in the index of the docs, or in that of its folder, which stands there."""
    docs = ROOT / "docs"
    missing = []
    for page in docs.rglob("*.md"):
        index = page.with_name("index.md")
        if page == index or not index.exists():
            index = docs / "index.md"
        name = page.relative_to(index.parent).as_posix()
        if page != index and f"({name})" not in index.read_text(encoding="utf-8"):
            missing.append(name)
    assert missing == []


def check_links(page: Path) -> None:
    """Every relative link of a page names a file of the project."""
    links = re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    local = [link.split("#")[0] for link in links if not re.match(r"\w+:|#", link)]
    dead = [link for link in local if not (page.parent / link).exists()]
    assert dead == [], page


HEAVY = {
    "duckdb", "hypothesis", "joblib", "matplotlib", "mpmath", "numpy", "pandas", "polars",
    "psycopg", "pyarrow", "pyspark", "rich", "scipy", "sqlite3", "typer",
}  # fmt: skip
"""Optional packages that a package may need, and ``import tacit`` may not."""

PROBE = """
import json, sys, time
start = time.perf_counter()
import tacit
took = time.perf_counter() - start
print(json.dumps([took, sorted({name.split(".")[0] for name in sys.modules})]))
"""

IMPORT_PACKAGE = """
import json, sys
import tacit.{package}
print(json.dumps(sorted({{name.split(".")[0] for name in sys.modules}})))
"""


def run(code: str) -> object:
    """Return the output of a fresh interpreter, read as JSON."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    return json.loads(done.stdout)


def test_import_tacit_imports_nothing_heavy() -> None:
    results = [run(PROBE) for _ in range(5)]
    _, modules = results[0]  # type: ignore[misc]
    print(f"import tacit: {min(took for took, _ in results) * 1000:.0f} ms")  # type: ignore[misc]
    assert set(modules) & HEAVY == set()


@pytest.mark.full
def test_packages_import_no_optional_part() -> None:
    optional = HEAVY - {"numpy", "sqlite3"}
    for package in ("noise", "core", "transformations", "statistics", "mechanisms", "accounting"):
        modules = run(IMPORT_PACKAGE.format(package=package))
        assert set(modules) & optional == set(), package  # type: ignore[call-overload]


GROUPED = """
import os
import time

import pytest


@pytest.mark.xdist_group("one")
@pytest.mark.parametrize("turn", range(8))
def test_process(turn):
    time.sleep(0.05)
    with open("processes", "a") as file:
        file.write(f"{os.getpid()}\\n")
"""


@pytest.mark.full
def test_a_group_runs_in_one_process(tmp_path: Path) -> None:
    (tmp_path / "test_grouped.py").write_text(GROUPED, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTEST")
    }
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    processes = (tmp_path / "processes").read_text(encoding="utf-8").split()
    assert len(processes) == 8
    assert len(set(processes)) == 1
