"""The tests mirror the package: a module with logic has a test file of its own name.

``src/tacit/core/chain/step.py`` is tested by ``tests/core/chain/test_step.py``.  What is asked of a
module grows with what can be wrong in it.  One of more than ``MUCH`` statements in its functions
has that file.  A smaller one has it too, or an example in a docstring, which runs with the tests,
or a test file imports it; for those that people meet only through another door, the list below
says which test file runs them.  The folders of the tests are those of the package.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from house.import_graph import modules
from house.project import PACKAGE, ROOT

TESTS = ROOT / "tests"
BESIDE = {"docs", "golden", "house", "laws", "slow", "support"}
"""Folders of tests that mirror none of the package."""

THROUGH: dict[str, tuple[str, ...]] = {
    "accounting/ledger/postgres/test_store.py": ("accounting.ledger.postgres.connection",),
    "audit/attack_suite/test_every_case.py": (
        "audit.attack_suite.cases.certificates",
        "audit.attack_suite.cases.domain",
        "audit.attack_suite.cases.errors",
        "audit.attack_suite.cases.hostile_values",
        "audit.attack_suite.cases.leaks",
        "audit.attack_suite.cases.local_model",
        "audit.attack_suite.cases.people",
    ),
    "audit/comparison/test_compare.py": ("audit.comparison.candidate",),
    "cli/test_cli_documented.py": ("cli.shared.signature",),
    "expressions/test_operations.py": ("expressions.functions.row_function",),
    "laws/test_measurement_laws.py": ("mechanisms.additive.base",),
    "laws/test_transformation_laws.py": ("transformations.rows.row_by_row",),
    "mechanisms/sample_and_aggregate/test_mechanism.py": (
        "mechanisms.sample_and_aggregate.smooth_median",
    ),
    "report/check/test_verify.py": ("report.check.planner",),
    "service/web/routes/test_token_routes.py": ("service.web.routes.tokens",),
    "service/web/test_every_route.py": ("service.web.routes.health",),
    "sql/test_select.py": (
        "sql.refusal",
        "sql.translate",
    ),
    "statistics/base/test_at_distance.py": ("statistics.quantiles.quantile_add_or_remove",),
    "tables/answers/test_aggregate.py": ("tables.answers.bounded_column",),
    "tables/data_dependent/test_method_session.py": (
        "tables.data_dependent.base",
        "tables.data_dependent.propose_test_release",
        "tables.data_dependent.sample_and_aggregate",
        "tables.data_dependent.smooth",
    ),
    "tables/test_check_table.py": ("tables.engines.csv.writing",),
    "tables/dataset/test_opening.py": ("tables.dataset.table_opening",),
    "tables/engines/duckdb/test_source.py": ("tables.query.people_sums",),
    "tables/engines/spark/test_spark_reference.py": ("tables.query.people_first",),
    "tables/test_session.py": (
        "tables.answers.total",
        "tables.plan.chains",
    ),
}
"""The modules that a test file runs without importing them: through the command line, a session, a
chain, a certificate or the name of a statistic."""
MUCH = 40
"""From more statements on than these, neither an example nor a test of something else is enough: it
is more than a function of a dozen lines and its checks, of which half of the package is made."""


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """The functions and methods with a body beyond their docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            plain = [s for s in node.body if not isinstance(s, ast.Expr)]
            if plain or len(node.body) > 1:
                yield node


def has_logic(text: str) -> bool:
    r"""Whether a module computes something: it has a function, or a class with a method.

    >>> has_logic('def f():\n    return 1'), has_logic('def f():\n    "Says what."\nX = 1')
    (True, False)
    """
    return any(True for _ in functions(ast.parse(text)))


@cache
def imported_by_tests() -> set[str]:
    """The modules that some test file imports, by name or for one of their names."""
    found = set()
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module)
                found |= {f"{node.module}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
    return found


def untested() -> set[str]:
    """The modules with logic that have no example, no test file, and that no test file imports."""
    found = set()
    for name, path in modules().items():
        text = path.read_text(encoding="utf-8")
        alone = ">>>" not in text and name not in imported_by_tests()
        alone = alone and not has_tests(own_file(path))
        if path.name not in ("__init__.py", "__main__.py") and alone and has_logic(text):
            found.add(name.removeprefix("tacit."))
    return found


def statements(tree: ast.Module) -> int:
    r"""How many statements stand in the functions of a module, their docstrings apart.

    >>> statements(ast.parse('X = 1\ndef f():\n    "Says."\n    if X:\n        return 1'))
    2
    """
    found = set()
    for function in functions(tree):
        for node in (n for part in function.body for n in ast.walk(part)):
            told = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if isinstance(node, ast.stmt) and not told and not isinstance(node, ast.FunctionDef):
                found.add(node)
    return len(found)


def own_file(path: Path) -> Path:
    """The test file of a module's own name; that of a package has the name of its folder."""
    name = path.parent.name if path.name == "__init__.py" else path.stem
    return TESTS / path.relative_to(PACKAGE).with_name(f"test_{name}.py")


def has_tests(path: Path) -> bool:
    """Whether a test file is there and has a test in it."""
    return path.is_file() and "def test_" in path.read_text(encoding="utf-8")


def without_own_file() -> set[str]:
    """The modules with much logic that have no test file of their own name."""
    return {
        name.removeprefix("tacit.")
        for name, path in modules().items()
        if not has_tests(own_file(path))
        and statements(ast.parse(path.read_text(encoding="utf-8"))) > MUCH
    }


def test_a_module_with_much_logic_has_a_test_file_of_its_name() -> None:
    assert without_own_file() == set()


@pytest.mark.full
def test_every_module_with_logic_is_tested() -> None:
    assert untested() == {name for names in THROUGH.values() for name in names}


@pytest.mark.parametrize("place", THROUGH)
def test_what_runs_a_module_is_a_test_file(place: str) -> None:
    assert "\ndef test_" in (TESTS / place).read_text(encoding="utf-8")


def test_the_folders_of_the_tests_are_those_of_the_package() -> None:
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    alone = [
        folder
        for folder in folders
        if not (PACKAGE / folder).is_dir() and not BESIDE & set(folder.parts[:1])
    ]
    assert alone == []
