"""The adapter of Tumult Analytics, on a library made up in its place."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tacit.audit.attack_suite.system import NotOfferedError
from tacit.audit.attack_suite.systems.peers.tumult import Tumult


class Query:
    """Remembers how it was made."""

    def __init__(self, steps=()):
        self.steps = steps

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *words, **named: Query((*self.steps, (name, words, named)))


class Session:
    """Answers every query with what it is told to, and keeps what it was asked."""

    def __init__(self, budget, table, unit):
        self.total, self.table, self.unit = budget, table, unit
        self.spent, self.asked = 0.0, []

    def evaluate(self, query, budget):
        self.spent += budget.epsilon
        self.asked.append(query.steps)
        rows = [("a", 2), ("b", 1)] if query.steps[0][0] in ("groupby", "enforce") else [(5,)]
        if query.steps[0][0] == "get_groups":
            rows = [("a",)]
        return SimpleNamespace(collect=lambda: rows)

    def add_public_dataframe(self, name, table):
        self.public = table

    @property
    def remaining_privacy_budget(self):
        return SimpleNamespace(epsilon=self.total.epsilon - self.spent)


@pytest.fixture
def system():
    made = []

    def from_dataframe(budget, name, table, protected_change):
        made.append(Session(budget, table, protected_change))
        return made[-1]

    found = Tumult()
    found.__dict__["_library"] = SimpleNamespace(
        Session=SimpleNamespace(from_dataframe=from_dataframe),
        QueryBuilder=lambda name: Query(),
        KeySet=SimpleNamespace(from_dict=dict),
        PureDPBudget=lambda epsilon: SimpleNamespace(epsilon=epsilon),
        ApproxDPBudget=lambda epsilon, delta: SimpleNamespace(epsilon=epsilon, delta=delta),
        AddOneRow=lambda: "one row",
        AddRowsWithID=lambda column: f"rows of {column}",
        MaxGroupsPerID=lambda column, most: ("groups", most),
        MaxRowsPerGroupPerID=lambda column, most: ("rows a group", most),
    )
    found.__dict__["_spark"] = SimpleNamespace(createDataFrame=lambda rows, shape: (shape, rows))
    return found, made


def test_columns_and_bounds_have_one_kind(system):
    tumult, made = system
    assert tumult.statistic("sum", [1, 2], bounds=(0.0, 9.0)) == 5
    assert made[0].table == ("x long", [(1,), (2,)])
    assert made[0].asked == [(("sum", ("x", 0, 9), {"name": "a"}),)]
    tumult.statistic("mean", [1, None, 2.5], bounds=(0, 9))
    assert made[1].table == ("x double", [(1.0,), (None,), (2.5,)])
    with pytest.raises(TypeError):
        tumult.statistic("sum", [1.0], bounds=None)
    with pytest.raises(NotOfferedError):
        tumult.statistic("sum", ["a"], bounds=(0, 1))


def test_groups_are_public_or_found_at_delta(system):
    tumult, made = system
    assert tumult.group_counts(["a"], ["a", "b"], epsilon=1.0) == {"a": 2.0, "b": 1.0}
    assert list(tumult.group_counts(["a"], None, epsilon=1.0, delta=0.1)) == ["a"]
    assert (made[1].total.epsilon, made[1].total.delta) == (1.0, 0.1)


def test_people_are_bounded_in_rows_and_in_groups(system):
    tumult, made = system
    each = {"rows_each": 2, "groups_each": 3, "upper": 1.0, "epsilon": 1.0}
    tumult.people_sum([(1, "a", 1.0)], ["a", "b"], **each)
    assert made[0].unit == "rows of person"
    first, second, *_ = made[0].asked[0]
    assert (first[1][0], second[1][0]) == (("groups", 3), ("rows a group", 2))


def test_an_account_spends(system):
    tumult, _ = system
    account = tumult.account(1.0)
    assert account.ask(0.25, "n") == 5
    account.ask(0.25, "bounds 0 to 10")
    assert account.spent() == 0.5
    assert tumult.joined_count([1, 2], [1], epsilon=1.0) == 5


def test_what_the_library_leaves_goes_to_a_folder_that_is_removed(monkeypatch):
    chosen, stopped = {}, []

    class Builder:
        def master(self, where):
            return self

        def config(self, name, value):
            chosen[name] = value
            return self

        def getOrCreate(self):
            return SimpleNamespace(stop=lambda: stopped.append("spark"))

    spark = SimpleNamespace(SparkSession=SimpleNamespace(builder=Builder()))
    monkeypatch.setitem(sys.modules, "pyspark", SimpleNamespace(sql=spark))
    monkeypatch.setitem(sys.modules, "pyspark.sql", spark)
    monkeypatch.setenv("PYSPARK_PYTHON", "python")
    tumult = Tumult()
    tumult.close()
    assert chosen == {}
    tumult._spark  # noqa: B018
    folder = Path(chosen["spark.sql.warehouse.dir"])
    assert folder.is_dir()
    tumult.close()
    assert stopped == ["spark"]
    assert not folder.exists()
