"""Rules that every file of the project obeys."""

from __future__ import annotations

import re

from house.project import PACKAGE, ROOT, sources, tracked

FOLDERS = {".ci", "benchmarks", "docs", "findings", "src", "tests", "tools"}
PAPERS = {".gitignore", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md"}
PAPERS |= {"SECURITY.md", "constraints.txt", "pyproject.toml"}

UNFINISHED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
MACHINE_PATH = re.compile(r"(?<![\w.~])/(?:root|work|farm|home/\w+|Users/\w+|mnt/\w+)/")
REGISTRY_HOST = re.compile(r"pypi\." + r"org|pythonhosted\." + r"org")


def hits(pattern: re.Pattern[str]) -> list[str]:
    """The lines of tracked text files in which the pattern stands."""
    lines = []
    for path in tracked():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        lines += [
            f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
            for number, line in enumerate(text.splitlines(), 1)
            if pattern.search(line)
        ]
    return lines


def test_nothing_else_is_at_the_root() -> None:
    """Files that a run leaves, such as those of an engine, are not in the project."""
    others = {path.relative_to(ROOT).parts[0] for path in tracked()} - FOLDERS - PAPERS
    assert others == set()


def test_nothing_is_left_for_later() -> None:
    assert hits(UNFINISHED) == []


def test_no_path_of_a_machine() -> None:
    assert hits(MACHINE_PATH) == []


def test_no_registry_host() -> None:
    assert hits(REGISTRY_HOST) == []


def test_the_patterns_find_what_they_are_for() -> None:
    assert UNFINISHED.search("# TO" + "DO: later")
    assert MACHINE_PATH.search("open('/ro" + "ot/data.csv')")
    assert MACHINE_PATH.search("/ho" + "me/ann/x")
    assert not MACHINE_PATH.search("docs/home/x and ~/work/x and net/work/x")
    assert REGISTRY_HOST.search("https://py" + "pi.org")


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        str(path.relative_to(PACKAGE))
        for path in sources()
        if not path.read_text(encoding="utf-8").lstrip().startswith(('"""', 'r"""'))
    ]
    assert silent == []
