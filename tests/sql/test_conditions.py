"""WHERE keeps the rows that SQL keeps: DuckDB runs the same conditions on tables full of NULLs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sql.sql_rows import NUMBERS, SCHEMA, TABLE, rows
from support.examples import examples
from tacit.errors import UnsupportedQueryError
from tacit.sql.conditions import conjuncts
from tacit.sql.parse import parse
from tacit.sql.values import truth
from tacit.tables.engines.duckdb.engine import DUCKDB


def where(text: str) -> Any:
    return truth(parse(f"select count(*) from r where {text}").args["where"].this, rows())


SIGNS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
LEAVES = st.one_of(
    st.builds("({} {} {})".format, NUMBERS, SIGNS, NUMBERS),
    st.builds("({} is {})".format, NUMBERS, st.sampled_from(["null", "not null"])),
    st.builds("({} {}between {} and {})".format, NUMBERS, st.sampled_from(["", "not "]), NUMBERS,
              NUMBERS),
    st.builds("({} {}in ({}))".format, NUMBERS, st.sampled_from(["", "not "]),
              st.sampled_from(["1", "0, 2.5", "-1, 1, 3"])),
    st.builds("({} is {}distinct from {})".format, NUMBERS, st.sampled_from(["", "not "]), NUMBERS),
    st.builds("(t {}like {})".format, st.sampled_from(["", "not "]),
              st.sampled_from(["'x%'", "'%'", "'xy'", "''", "'X%'", "'%y'", "'_'", "'x_%'"])),
    st.sampled_from(["f", "(f = true)", "(t = 'x')", "(t <> 'x')", "(t in ('x', ''))", "true",
                     "(lower(t) = 'x')", "(starts_with(t, 'x'))", "(coalesce(f, true))",
                     "(f is true)", "(f is not true)", "(f is null)", "(t is not null)",
                     "((a > 1) is null)", "((a > 1) = (b > 1))", "(ends_with(t, 'y'))",
                     "(upper(t) = 'X')", "(left(t, 1) = 'x')",
                     "(cast(a as text) = '1')", "(nullif(t, 'x') = 'xy')"]),
)  # fmt: skip
CONDITIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds("(not {})".format, inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner),
        st.builds("({} is {})".format, inner, st.sampled_from(["true", "not true", "false"])),
        st.builds("(case when {} then 1 else 0 end = 1)".format, inner),
    ),
    max_leaves=6,
)


@examples(1)
@given(text=CONDITIONS)
def test_a_condition_is_true_and_false_where_sql_says_so(engine: Any, text: str) -> None:
    found = where(text)
    found.true.sql(SCHEMA, DUCKDB)
    asked = engine.execute(f"select ({text})::boolean from r order by place").fetchall()
    for row, (said,) in zip(TABLE, asked, strict=True):
        assert bool(found.true.evaluate(row)) is (said is True), (text, row)
        assert bool(found.false.evaluate(row)) is (said is False), (text, row)


def test_conjuncts_stand_in_their_order() -> None:
    tree = parse("select 1 from r where a = 1 and (b = 2 and (f or t = 'x')) and b = 3")
    found = [str(truth(each, rows()).true) for each in conjuncts(tree.args["where"].this)]
    assert found == ["(a == 1)", "(b == 2)", "(f | (t == 'x'))", "(b == 3)"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a in (1, null)", "NOT IN"),
        ("a in (b)", "constants"),
        ("t < 'x'", "needs a value of kind"),
        ("t like t", "fixed text"),
        ("t ilike 'x'", "lower"),
        ("a = 'x'", "mixes values of kind"),
        ("a", "neither"),
        ("a // 2 = 1", "divides"),
        ("t || 'x' = 'y'", "joined"),
        ("random() < 1", "noise"),
        ("now() > '2024-01-01'", "no function 'now'"),
        ("current_date = '2024-01-01'", "present"),
        ("a = any(select 1)", "ANY"),
        ("exists (select 1)", "EXISTS"),
        ("a in (select 1)", "query"),
        ("count(*) > 1", "HAVING"),
        ("cast(b as integer) = 1", "rounded"),
        ("cast(b as float) = 1", "cast"),
        ("a = $1", "placeholders"),
        ("a = ?", "placeholders"),
        ("a[1] = 1", "BRACKET"),
        ("regexp_matches(t, 'x')", "expressions"),
        ("width_bucket(a, 5, 1, 3) = 1", "a lower bound below the upper"),
        ("clamp(a, b, 3) = 1", "numbers"),
        ("a = 1e400", "too large"),
        ("nothing = 1", "no column 'nothing'"),
        ("q.a = 1", "no table 'q'"),
        ('"A" = 1', "no column 'A'"),
    ],
)
def test_what_has_no_translation_is_refused(text: str, reason: str) -> None:
    with pytest.raises(UnsupportedQueryError, match=reason) as caught:
        where(text)
    assert caught.value.position[0] == 1
    assert caught.value.position[1] >= len("select count(*) from r where ")
