"""Every module that computes something is tested, where a reader looks for it.

A module has an example of its own, which runs with the tests, or a test file imports it; for those
that people meet only through another door the list below says which test file runs them.  The
folders of the tests are those of the package.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

import pytest

from house.import_graph import modules
from house.project import PACKAGE, ROOT

TESTS = ROOT / "tests"
BESIDE = {"docs", "house", "laws", "slow", "support"}
"""Folders of tests that mirror none of the package."""

THROUGH: dict[str, tuple[str, ...]] = {
    "accounting/ledger/postgres/test_postgres_store.py": ("accounting.ledger.postgres.connection",),
    "audit/comparison/test_compare.py": ("audit.comparison.candidate", "audit.comparison.plot"),
    "cli/local/test_cli_local.py": ("cli.local.commands", "cli.local.question"),
    "cli/local/test_cli_local_kinds.py": ("cli.local.result",),
    "cli/release/test_cli_count_over_time.py": ("cli.release.count_over_time",),
    "cli/release/test_cli_demo.py": ("cli.release.demo",),
    "cli/release/test_cli_init.py": ("cli.release.init",),
    "cli/release/test_cli_ledger.py": ("cli.release.ledger", "cli.release.verify"),
    "cli/release/test_cli_release.py": (
        "cli.release.asked",
        "cli.release.job",
        "cli.release.plan_file",
        "cli.release.preview",
    ),
    "cli/test_cli_documented.py": ("cli.shared.signature",),
    "cli/release/test_cli_sql.py": ("cli.release.sql",),
    "cli/sensitivity/test_cli_sensitivity.py": (
        "accounting.epsilon_choice.plot",
        "cli.sensitivity.choose_epsilon",
        "cli.sensitivity.sensitivity",
    ),
    "core/chain/test_chains.py": ("core.chain.join_hints",),
    "docs/test_snippets.py": ("cli.release.check",),
    "expressions/test_width_laws.py": (
        "expressions.column_sql",
        "expressions.functions.dates",
        "expressions.functions.numbers",
        "expressions.functions.row_function",
        "expressions.operations",
    ),
    "laws/test_measurement_laws.py": ("audit.claims.attained_loss", "mechanisms.additive.base"),
    "laws/test_transformation_laws.py": ("transformations.rows.row_by_row",),
    "local/test_mechanism_laws.py": ("local.numeric.mean_oracle",),
    "mechanisms/sample_and_aggregate/test_sample_and_aggregate.py": (
        "mechanisms.sample_and_aggregate.smooth_median",
    ),
    "report/check/test_certificate_tampering.py": (
        "report.check.format",
        "report.check.planner",
        "tables.replan",
    ),
    "report/page/test_certificate_page.py": ("report.page.answers",),
    "statistics/ask/test_sensitivity_pictures.py": (
        "statistics.ask.plot_profile",
        "statistics.ask.plot_table",
    ),
    "sql/test_conditions.py": ("sql.values",),
    "sql/test_tables.py": ("sql.joins",),
    "sql/test_select.py": (
        "sql.refusal",
        "sql.relation",
        "sql.select",
        "sql.translate",
    ),
    "statistics/base/test_at_distance.py": (
        "statistics.quantiles.quantile_add_or_remove",
        "statistics.variances.variance_bound_by_size",
    ),
    "statistics/test_sensitivity_enumeration.py": ("statistics.base.monotone_statistic",),
    "statistics/variances/test_variance_algorithms.py": ("statistics.variances.listed_pairs",),
    "statistics/variances/test_variance_oracle.py": (
        "statistics.variances.dispersion",
        "statistics.variances.local_extremes",
    ),
    "tables/answers/test_aggregate.py": ("tables.answers.bounded_column",),
    "tables/data_dependent/test_method_session.py": (
        "tables.data_dependent.base",
        "tables.data_dependent.propose_test_release",
        "tables.data_dependent.sample_and_aggregate",
        "tables.data_dependent.smooth",
        "tables.plan.choose_method",
    ),
    "tables/plan/test_noise_shares.py": ("tables.release.priced",),
    "tables/dataset/test_declaration.py": ("tables.dataset.column", "tables.dataset.table"),
    "tables/dataset/test_opening.py": ("tables.dataset.table_opening",),
    "tables/engines/csv/test_csv_files.py": ("tables.engines.duckdb.csv_files",),
    "tables/engines/duckdb/test_engine_source.py": (
        "tables.engines.duckdb.source",
        "tables.query.people_sums",
    ),
    "tables/engines/duckdb/test_frame_columns.py": ("tables.engines.duckdb.arrow",),
    "tables/engines/test_engine_reference.py": (
        "tables.query.cell_counts",
        "tables.query.moment_sums",
        "tables.query.weighted_rows",
    ),
    "tables/engines/spark/test_spark_reference.py": ("tables.query.people_first",),
    "tables/live/test_live_counter.py": ("tables.live.answer", "tables.live.period_plan"),
    "tables/release/test_plot_answer.py": ("tables.release.plot_answer",),
    "tables/test_session.py": (
        "tables.answers.total",
        "tables.plan.unlisted_keys",
        "tables.plan.chains",
        "tables.plan.declared",
        "tables.plan.preview",
        "tables.release.answer",
    ),
    "tables/test_text_bytes.py": ("tables.engines.duckdb.parquet_text",),
}
"""The modules that a test file runs without importing them: through the command line, a session, a
chain, a certificate or the name of a statistic."""

ELSEWHERE: dict[str, str] = {
    "audit.claims.agreement": "audit/claims/test_verify.py",
    "audit.comparison.table_methods": "audit/comparison/test_compare.py",
    "core.measures.plot_outputs": "mechanisms/test_streams.py",
    "expressions.functions.methods": "expressions/test_width_laws.py",
    "mechanisms.sample_and_aggregate.executor": (
        "mechanisms/sample_and_aggregate/test_bins_elsewhere.py"
    ),
    "mechanisms.smooth.release": "mechanisms/smooth/test_smooth_noise.py",
    "report.page.page": "report/page/test_certificate_page.py",
    "statistics.base.plot_pair": "statistics/ask/test_sensitivity_pictures.py",
    "statistics.quantiles.quantile_at_distance": "statistics/base/test_at_distance.py",
    "statistics.search.function_at_distance": "statistics/base/test_at_distance.py",
    "statistics.variances.standard_deviation_at_distance": "statistics/base/test_at_distance.py",
    "tables.engines.duckdb.frame": "tables/engines/duckdb/test_frame_columns.py",
    "tables.live.counter": "tables/live/test_live_counter.py",
    "tables.question": "tables/test_session.py",
}
"""The test files of the modules with much logic whose names no test of their room says."""
MUCH = 40
"""From more statements on than these, an example alone is no test."""


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
    """The modules with logic that have no example and that no test file imports."""
    found = set()
    for name, path in modules().items():
        text = path.read_text(encoding="utf-8")
        alone = ">>>" not in text and name not in imported_by_tests()
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


def exported(tree: ast.Module) -> set[str]:
    """The public names of a module."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return {n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant)}
    return set()


def said_by(tree: ast.Module) -> set[str]:
    """The names that a test file uses or imports."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, (ast.Name, ast.Attribute)):
            found.add(node.id if isinstance(node, ast.Name) else node.attr)
    return found


def far_from_their_tests() -> set[str]:
    """The modules with much logic that no test file of their room is named after, or names."""
    rooms: dict[str, set[str]] = {}
    for path in TESTS.rglob("test_*.py"):
        room = path.relative_to(TESTS).parts[0]
        rooms.setdefault(room, set()).update(said_by(ast.parse(path.read_text(encoding="utf-8"))))
    through = {name for names in THROUGH.values() for name in names}
    found = set()
    for name, path in modules().items():
        tree, place = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(PACKAGE)
        beside = TESTS / place.parent / f"test_{place.name}"
        said = rooms.get(place.parts[0], set()) | rooms["laws"]
        plain = not beside.is_file() and not exported(tree) & said
        if plain and statements(tree) > MUCH:
            found.add(name.removeprefix("tacit."))
    return found - through


@pytest.mark.full
def test_a_module_with_much_logic_has_a_test_file_in_its_room() -> None:
    assert far_from_their_tests() == ELSEWHERE.keys()


@pytest.mark.parametrize("place", sorted(set(ELSEWHERE.values())))
def test_what_tests_a_module_elsewhere_is_a_test_file(place: str) -> None:
    assert "\ndef test_" in (TESTS / place).read_text(encoding="utf-8")


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
