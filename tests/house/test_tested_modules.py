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
