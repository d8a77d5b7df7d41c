"""CONTRIBUTING is true: what it names exists, and the tree has what its lists ask for."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

import tacit.local
import tacit.mechanisms
from house.project import PACKAGE, ROOT
from local.every_mechanism import ORACLES
from support.by_hand import statistics_oracle
from support.tables.engine_tables import ENGINES
from support.tables.extreme_values import DIALECTS
from tacit.core.space import Step
from tacit.local.oracle import MODULES
from tacit.statistics import Records, means, sensitivity
from tacit.statistics.global_sensitivity import _MODULES

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PATHS = sorted({path for path in re.findall(r"`([\w./-]+)`", PAGE) if "/" in path})
NAMES = sorted(set(re.findall(r"`(\w+)`\sin\s+`([\w./-]+/[\w./-]+)`", PAGE)))
LISTS = dict(re.findall(r"^### ([\w ]+)\n\n((?:[\d ].*\n)+)", PAGE, flags=re.MULTILINE))


@cache
def defined(path: Path) -> set[str]:
    """The names that a module defines at its top."""
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {ast.unparse(target) for target in node.targets}
        elif isinstance(node, ast.AnnAssign):
            names.add(ast.unparse(node.target))
    return names


def is_missing(name: str, path: str) -> bool:
    """Return True if no module of a folder (or not that file) defines the name."""
    location = ROOT / path
    modules = [location] if location.is_file() else sorted(location.rglob("*.py"))
    return not any(name in defined(module) for module in modules)


def test_every_path_exists() -> None:
    assert len(PATHS) > 40
    assert [path for path in PATHS if not (ROOT / path).exists()] == []


def test_every_name_is_defined_where_the_page_says() -> None:
    assert len(NAMES) > 20
    assert [(name, path) for name, path in NAMES if is_missing(name, path)] == []


def test_a_name_that_is_missing_is_noticed() -> None:
    assert is_missing("nothing", "src/tacit/errors.py")
    assert is_missing("need", "src/tacit/core")
    assert not is_missing("need", "src/tacit/errors.py")
    assert not is_missing("Step", "src/tacit/core")


def test_the_first_change_works() -> None:
    """The statistic of the walkthrough, compared as it says: by the definition that it adds."""
    (module,) = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    registered, definition = re.findall(r"^```text\n +(.*),\n```$", PAGE, flags=re.MULTILINE)
    assert registered == '"midrange": ("means", "Midrange")'
    names = dict(vars(means))  # what the module imports is all that the class uses
    exec("from __future__ import annotations\n" + module, names)
    midrange = names["Midrange"]()
    assert midrange([3, 1, 8]) == 4.5  # its doctest
    value = eval(definition.partition(":")[2])
    population = [Fraction(number) for number in (1, 2, 3, 10, 11)]
    answer = sensitivity(midrange, over=Records(population, size=3))
    truth = statistics_oracle.over_records(value, population, 3, 1, "unbounded", True)
    assert answer.value == truth == Fraction(9, 2)  # the page states it


def test_lists_are_numbered() -> None:
    assert {"Statistic", "Mechanism", "Local mechanism", "Engine"} <= set(LISTS)
    for name, text in LISTS.items():
        numbers = [int(n) for n in re.findall(r"^(\d+)\. ", text, flags=re.MULTILINE)]
        assert numbers == list(range(1, len(numbers) + 1)), name


@pytest.mark.parametrize("package", ["statistics", "mechanisms", "local"])
def test_every_folder_that_a_list_names_is_there(package: str) -> None:
    listed = re.findall(rf"`src/tacit/{package}/` \((.*?)\)", PAGE)
    folders = {name for names in listed for name in re.findall(r"`(\w+)`", names)}
    assert folders
    there = {path.stem for path in (PACKAGE / package).iterdir()}
    assert folders <= there


def test_statistics_are_in_the_families() -> None:
    families = {module.partition(".")[0] for module, _ in _MODULES.values()}
    assert families == {"counts_and_sums", "means", "quantiles", "spread", "variances"}


def test_every_mechanism_has_what_its_list_asks_for() -> None:
    known = {getattr(tacit.mechanisms, name) for name in tacit.mechanisms.__all__}
    for path in sorted((PACKAGE / "mechanisms").rglob("*.py")):
        if "@register\n" in path.read_text(encoding="utf-8"):
            module = importlib.import_module(
                ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
            )
            steps = {
                kind
                for kind in vars(module).values()
                if isinstance(kind, type)
                and issubclass(kind, Step)
                and kind.name
                and kind.__module__ == module.__name__
            }
            assert steps, path
            assert steps <= known, path


def test_every_local_mechanism_has_what_its_list_asks_for() -> None:
    everyone = set(MODULES)
    assert everyone <= set(tacit.local.__all__)
    assert everyone == {type(oracle).__name__ for oracle in ORACLES.values()}
    vectors = [
        vector["oracle"]["mechanism"]
        for name in ("reports", "others")
        for vector in json.loads(
            (ROOT / "tests/local/vectors" / f"{name}.json").read_text(encoding="utf-8")
        )
    ]
    assert everyone == set(vectors)
    tool = (ROOT / "tools" / "make_local_vectors.py").read_text(encoding="utf-8")
    assert [name for name in sorted(everyone) if f"{name}(" not in tool] == []


def test_every_engine_has_what_its_list_asks_for() -> None:
    here = PACKAGE / "tables" / "engines"
    names_by_engine: dict[str, set[str]] = {}
    for path in here.rglob("*.py"):
        name = path.relative_to(here).with_suffix("").parts[0]
        names_by_engine[name] = names_by_engine.get(name, set()) | defined(path)
    engines = {name.removesuffix("ql") for name in ENGINES}
    own = {
        n
        for n, names in names_by_engine.items()
        if n != "base" and any("Engine" in x for x in names)
    }
    assert engines == {name.removesuffix("ql") for name in DIALECTS}
    assert engines == own
    opener = (PACKAGE / "tables" / "open_source.py").read_text(encoding="utf-8")
    for name in engines:
        assert re.search(rf"from tacit\.tables\.engines\.{name}(\.source)? import", opener)


@pytest.mark.full  # a process of its own
def test_every_file_that_registers_steps_can_be_named_alone() -> None:
    """The packages around a file may import it first: it must not be run a second time."""
    files = [path for path in PACKAGE.rglob("*.py") if "\n@register\n" in path.read_text()]
    assert len(files) > 10
    for alone in (files[0], PACKAGE / "mechanisms" / "staircase.py"):
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider", alone],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode in (0, 5), ran.stdout  # 5: no examples in it
