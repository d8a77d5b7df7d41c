"""The bundled table is what its README says."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from tacit.data import health_insurance


@pytest.fixture(scope="module")
def table() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("set autoinstall_known_extensions = false")
    connection.execute("set autoload_known_extensions = false")
    connection.execute(f"create table t as select * from read_parquet('{health_insurance()}')")
    return connection


def described() -> list[list[str]]:
    """The rows of the README's table of columns."""
    text = (health_insurance().parent / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|$", text, flags=re.MULTILINE)
    return [[name, *(cell.strip() for cell in rest.split("|"))] for name, rest in rows]


def test_size_and_people(table: duckdb.DuckDBPyConnection) -> None:
    counts = table.execute(
        "select count(*), count(distinct person), count(distinct (person, year)) from t"
    ).fetchall()
    assert counts == [(20_190, 5_912, 20_190)]
    rows_each = table.execute(
        "select k, count(*) from (select count(*) k from t group by person) group by 1 order by 1"
    ).fetchall()
    assert rows_each == [(1, 269), (2, 246), (3, 3743), (4, 70), (5, 1584)]
    assert health_insurance().stat().st_size < 1_000_000


def test_site_is_the_leading_digit_of_the_person(table: duckdb.DuckDBPyConnection) -> None:
    assert table.execute("select count(*) from t where person // 100000 <> site").fetchall() == [
        (0,)
    ]


def test_readme_lists_every_column_with_its_range(table: duckdb.DuckDBPyConnection) -> None:
    columns = [row[0] for row in table.execute("describe t").fetchall()]
    rows = described()
    assert [row[0] for row in rows] == columns
    for name, *_, smallest, greatest, null in rows:
        low, high, missing = table.execute(
            f'select min("{name}"), max("{name}"), count(*) - count("{name}") from t'
        ).fetchall()[0]
        assert missing == int(null), name
        if smallest:
            assert (float(smallest), float(greatest)) == (low, high), name


def test_health_is_the_four_ratings(table: duckdb.DuckDBPyConnection) -> None:
    ratings = table.execute("select health, count(*) from t group by 1 order by 2").fetchall()
    assert ratings == [("poor", 302), ("fair", 1560), ("good", 7309), ("excellent", 11019)]


def test_the_recipe_is_committed() -> None:
    root = Path(__file__).parents[2]
    recipe = (root / "tools" / "make_demo_data.py").read_text(encoding="utf-8")
    columns = [row[0] for row in described()]
    assert all(f" as {name}" in recipe for name in columns)
