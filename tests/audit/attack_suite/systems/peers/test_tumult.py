"""The adapter of Tumult Analytics, on a library made up in its place."""

from __future__ import annotations

import sys
from itertools import product
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


class Groups:
    """The table of group numbers."""

    def __init__(self, groups):
        self.groups = groups

    def toDF(self, name):
        return self

    def crossJoin(self, table):
        return (self.groups, *table)


class Session:
    """Answers every query with what it is told to, and keeps what it was asked."""

    def __init__(self, budget, table, unit):
        self.total, self.table, self.unit = budget, table, unit
        self.spent, self.asked = 0.0, []

    def evaluate(self, query, budget):
        self.spent += budget.epsilon
        self.asked.append(query.steps)
        names = [name for name, *_ in query.steps]
        keys = [step[1][0] for step in query.steps if step[0] == "groupby"]
        rows = [(5,)]
        if "get_groups" in names:
            rows = [("a",)]
        elif keys:
            found = product(*keys[0].values())
            rows = [(*key, at + 1) for at, key in reversed(list(enumerate(found)))]
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
        BinningSpec=lambda edges, names: (edges, names),
        PureDPBudget=lambda epsilon: SimpleNamespace(epsilon=epsilon),
        ApproxDPBudget=lambda epsilon, delta: SimpleNamespace(epsilon=epsilon, delta=delta),
        AddOneRow=lambda: "one row",
        AddRowsWithID=lambda column: f"rows of {column}",
        MaxGroupsPerID=lambda column, most: ("groups", most),
        MaxRowsPerGroupPerID=lambda column, most: ("rows a group", most),
    )
    found.__dict__["_spark"] = SimpleNamespace(
        createDataFrame=lambda rows, shape: (shape, rows), range=Groups
    )
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


def test_what_is_asked_again_is_asked_of_many_equal_groups_at_once(system):
    """Each answer is given once, and other rows, bounds or amounts are asked for themselves."""
    tumult, made = system
    asked = {"bounds": (0.0, 1.0), "epsilon": 0.5}
    answers = [tumult.statistic("sum", [1.0], **asked) for _ in range(1 + 500 + 1)]
    assert answers[0] == 5
    assert sorted(answers[1:501]) == list(range(1, 501))
    assert [session.table[0] for session in made] == ["x double", 500, 500]
    assert [session.spent for session in made] == [0.5] * 3
    tumult.statistic("sum", [2.0], **asked)
    tumult.statistic("sum", [2.0], bounds=(0.0, 2.0), epsilon=0.5)
    tumult.statistic("sum", [2.0], bounds=(0.0, 1.0), epsilon=1.0)
    assert [session.table for session in made[3:]] == [("x double", [(2.0,)])] * 3


def test_seeded_answers_are_asked_for_after_the_seed(system):
    tumult, made = system
    tumult.seeded(0)
    tumult.seeded(0)
    assert [session.table[0] for session in made] == ["x double"] * 6


def test_bars_stand_in_the_order_of_their_edges(system):
    tumult, made = system
    asked = {"edges": [0.0, 2.0, 5.0, 10.0], "epsilon": 1.0}
    assert tumult.statistic("histogram", [1.0], **asked) == [1, 2, 3]
    assert made[0].asked[0][0][:2] == ("bin_column", ("x", ([0, 2, 5, 10], [0, 1, 2]), "bin"))
    again = [tumult.statistic("histogram", [1.0], **asked) for _ in range(500)]
    assert sorted(again)[-1] == [1498, 1499, 1500]
    with pytest.raises(TypeError):
        tumult.statistic("histogram", [1.0])


def test_rows_are_filtered_by_sql(system):
    tumult, made = system
    assert tumult.filtered_count("number", ["1", "many"], epsilon=1.0) == 5
    assert made[0].table == ("x string", [("1",), ("many",)])
    assert made[0].asked[0][0] == ("filter", ("double(x) > 0",), {})
    tumult.filtered_count("quotient", [1, 0], epsilon=1.0)
    assert made[1].table[0] == "x long"
    with pytest.raises(NotOfferedError):
        tumult.filtered_count("equal", ["a"], epsilon=1.0, other=["a"])


def test_keys_of_people_are_found_under_a_bound_of_their_groups(system):
    tumult, made = system
    assert tumult.people_keys([(7, "a"), (7, "b")], 2, epsilon=1.0, delta=0.1) == ["a"]
    assert (made[0].unit, made[0].total.delta) == ("rows of person", 0.1)
    first, second, *_ = made[0].asked[0]
    assert (first[1][0], second[1][0]) == (("groups", 2), ("rows a group", 1))


def test_groups_are_public_or_found_at_delta(system):
    tumult, made = system
    assert tumult.group_counts(["a"], ["a", "b"], epsilon=1.0) == {"a": 1.0, "b": 2.0}
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
