"""The adapter of SmartNoise SQL, on modules made up in its place."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from tacit.audit.attack_suite.system import NotOfferedError
from tacit.audit.attack_suite.systems.peers.smartnoise_sql import SmartNoiseSql

PRICES = {"COUNT(*)": 1.0, "COUNT(x)": 2.0, "SUM(x)": 2.0, "AVG(x)": 3.0, "VAR(x)": 4.0}
"""What smartnoise-sql 1.0.10 charges for one answer in a session of epsilon 1."""


@pytest.fixture
def asked(monkeypatch):
    """What the library is asked: one entry a query."""
    found = []

    def from_df(frame, metadata, privacy):
        def execute(sql):
            found.append((sql, frame["x"], metadata[""]["d"]["rows"], privacy))
            return [["x", "n"], ("a", 2)] if "GROUP" in sql else [["a"], (7,)]

        def cost(sql):
            (price,) = (price for term, price in PRICES.items() if term in sql)
            return price * privacy["epsilon"], privacy["delta"]

        return SimpleNamespace(execute=execute, get_privacy_cost=cost)

    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=lambda columns: columns))
    snsql = SimpleNamespace(from_df=from_df, Privacy=lambda **given: given)
    monkeypatch.setitem(sys.modules, "snsql", snsql)
    return found


def test_a_sum_names_its_bounds_and_its_kind(asked):
    assert SmartNoiseSql().statistic("sum", [1, 2], bounds=(0, 5), epsilon=2.0) == 7
    ((sql, rows, table, privacy),) = asked
    assert (sql, rows) == ("SELECT SUM(x) AS a FROM d.rows", [1, 2])
    assert table["x"] == {"type": "int", "lower": 0, "upper": 5}
    assert table["row_privacy"] is True
    assert privacy["epsilon"] == 1.0  # a sum costs twice the epsilon of its reader


@pytest.mark.parametrize(
    ("kind", "price"), [("count", 1), ("sum", 2), ("mean", 3), ("variance", 4)]
)
def test_an_answer_costs_the_epsilon_that_the_attack_claims(asked, kind, price):
    SmartNoiseSql().statistic(kind, [1.0, 2.0], bounds=(0, 5), epsilon=3.0)
    ((_, _, _, privacy),) = asked
    assert privacy["epsilon"] * price == pytest.approx(3.0)


def test_missing_values_make_a_column_of_floats(asked):
    SmartNoiseSql().statistic("mean", [1, None], bounds=(0, 5))
    assert asked[0][2]["x"]["type"] == "float"


def test_groups_are_those_of_the_rows_at_delta(asked):
    system = SmartNoiseSql()
    assert system.group_counts(["a", "a"], None, epsilon=1.0, delta=0.01) == {"a": 2.0}
    assert asked[0][2]["censor_dims"] is True
    assert asked[0][3] == {"epsilon": 1.0, "delta": 0.01}
    with pytest.raises(NotOfferedError):
        system.group_counts(["a"], ["a"], epsilon=1.0)


def test_predicates_are_sql(asked):
    system = SmartNoiseSql()
    assert system.filtered_count("number", ["12", "x"], epsilon=1.0) == 7
    assert "CAST" in asked[0][0]
    assert asked[0][2]["x"]["type"] == "string"
    for refused in (
        lambda: system.filtered_count("equal", [1], epsilon=1.0, other=[1]),
        lambda: system.statistic("median", [1.0], bounds=(0, 1)),
    ):
        with pytest.raises(NotOfferedError):
            refused()
