"""Adapters of other libraries, on modules made up in their place."""

from __future__ import annotations

import math
import random
import sys
from importlib.metadata import version
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tacit import noise
from tacit.audit.attack_suite.run import adapters, load_cases, system_named
from tacit.audit.attack_suite.system import (
    FALLS,
    HOLDS,
    NOT_APPLICABLE,
    InstalledLibrary,
    NotOfferedError,
    NotReadyError,
    System,
    refuse_texts,
)

CASES = {case.id: case for case in load_cases()}


@pytest.mark.parametrize("name", adapters())
def test_an_adapter_loads_without_its_library(name):
    system = system_named(name)
    assert isinstance(system, System)
    assert system.name == name
    with pytest.raises(NotOfferedError):
        system.certificate()


# The adapter of pure-ldp.


class Client:
    """Keeps a number with probability 3/4, else draws one; knows no domain."""

    def __init__(self, epsilon, size, index_mapper):
        self.size, self.p, self.q = size, 0.75, 0.25 * math.exp(-epsilon)

    def privatise(self, item):
        return item if noise.bernoulli("3/4") else int(noise.uniform(self.size))


class Server:
    """Adds up."""

    def __init__(self, epsilon, size, index_mapper):
        self.counts = [0] * size

    def aggregate(self, report):
        self.counts[report] += 1

    def aggregate_all(self, reports):
        for report in reports:
            self.aggregate(report)

    def estimate_all(self, items):
        return [self.counts[item] for item in items]


@pytest.fixture
def system(monkeypatch):
    for module, prefix in (("direct_encoding", "DE"), ("unary_encoding", "UE")):
        made = SimpleNamespace(**{f"{prefix}Client": Client, f"{prefix}Server": Server})
        monkeypatch.setitem(sys.modules, f"pure_ldp.frequency_oracles.{module}", made)
    return system_named("pure-ldp")


def test_its_cases_come_out_as_its_functions_do(system):
    verdicts = {
        "hostile reports/impossible report 1": FALLS,  # IndexError
        "hostile reports/impossible report 2": FALLS,  # -1 is the last item
        "items outside of the domain/above": FALLS,
        "noise that can be repeated/after a fork": HOLDS,
        "ratio of reports/direct, epsilon 1": FALLS,  # log 3 + 1
    }
    assert {name: CASES[name].run(system).verdict for name in verdicts} == verdicts


def test_ratios_are_those_of_each_form(system):
    direct, unary = (system.local(4, 1.0, form).losses() for form in ("direct", "unary"))
    q = 0.25 / math.e
    assert direct == pytest.approx(math.log(0.75 / q))
    assert unary == pytest.approx(math.log(0.75 * (1 - q) / (q * 0.25)))


def test_counts_are_the_estimates(system):
    assert system.local(3, 1.0, "direct").counts([0, 0, 1, 2]) == [2.0, 1.0, 1.0]
    assert len(system.seeded(1)) == 12


# The adapter of PipelineDP, on modules made up in its place.


PIPELINE_DP_CASES = {case.id: case for case in load_cases()}


class Engine:
    """Sums without noise, under both bounds of a person."""

    def __init__(self, accountant, backend):
        pass

    def aggregate(self, rows, params, extract, public_partitions):
        totals = dict.fromkeys(public_partitions or [], 0.0)
        used = {}
        for row in rows:
            person, key, value = (take(row) for take in extract)
            mine = used.setdefault(person, {})
            room = key in mine or len(mine) < params.max_partitions_contributed
            if key not in totals or not room:
                continue
            if mine.setdefault(key, 0) < params.max_contributions_per_partition:
                mine[key] += 1
                totals[key] += min(max(value, params.min_value), params.max_value)
        field = params.metrics[0].lower()
        return [(key, SimpleNamespace(**{field: total})) for key, total in totals.items()]


@pytest.fixture
def pipeline_dp_system(monkeypatch):
    module = SimpleNamespace(
        NaiveBudgetAccountant=lambda **price: SimpleNamespace(compute_budgets=lambda: None),
        LocalBackend=lambda: None,
        DPEngine=Engine,
        Metrics=SimpleNamespace(SUM="SUM", COUNT="COUNT", PERCENTILE=lambda q: "percentile_50"),
        NoiseKind=SimpleNamespace(LAPLACE=0),
        AggregateParams=lambda **given: SimpleNamespace(**given),
        DataExtractors=lambda *takes: takes,
    )
    laplace = SimpleNamespace(apply_laplace_mechanism=lambda value, epsilon, l1: value + epsilon)
    monkeypatch.setitem(sys.modules, "pipeline_dp", module)
    monkeypatch.setitem(sys.modules, "pipeline_dp.dp_computations", laplace)
    return system_named("pipeline-dp")


def test_questions_are_asked_as_they_are_meant(pipeline_dp_system):
    assert pipeline_dp_system.statistic("sum", [1.0, 50.0], bounds=(0.0, 10.0)) == 11
    assert pipeline_dp_system.group_counts(["a", "b", "a"], ["a", "c"], epsilon=1) == {
        "a": 2,
        "c": 0,
    }
    assert pipeline_dp_system.noise("laplace", 1.0, 2.0) == 1.5
    with pytest.raises(NotOfferedError):
        pipeline_dp_system.noise("gaussian", 1.0, 2.0)
    with pytest.raises(NotOfferedError):
        pipeline_dp_system.statistic("histogram", [1.0], edges=[0, 1])


def test_the_bounds_of_a_person_are_not_mixed_up(pipeline_dp_system):
    for name in ("a thousand rows, five count", "rows far above the bound"):
        assert (
            PIPELINE_DP_CASES[f"many rows of a person/{name}"].run(pipeline_dp_system).verdict
            == HOLDS
        )
    assert (
        PIPELINE_DP_CASES["many groups of a person/three groups, two count"]
        .run(pipeline_dp_system)
        .verdict
        == HOLDS
    )


# The adapter of SmartNoise SQL, on modules made up in its place.


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
    assert system_named("smartnoise-sql").statistic("sum", [1, 2], bounds=(0, 5), epsilon=2.0) == 7
    ((sql, rows, table, privacy),) = asked
    assert (sql, rows) == ("SELECT SUM(x) AS a FROM d.rows", [1, 2])
    assert table["x"] == {"type": "int", "lower": 0, "upper": 5}
    assert table["row_privacy"] is True
    assert privacy["epsilon"] == 1.0  # a sum costs twice the epsilon of its reader


@pytest.mark.parametrize(
    ("kind", "price"), [("count", 1), ("sum", 2), ("mean", 3), ("variance", 4)]
)
def test_an_answer_costs_the_epsilon_that_the_attack_claims(asked, kind, price):
    system_named("smartnoise-sql").statistic(kind, [1.0, 2.0], bounds=(0, 5), epsilon=3.0)
    ((_, _, _, privacy),) = asked
    assert privacy["epsilon"] * price == pytest.approx(3.0)


def test_missing_values_make_a_column_of_floats(asked):
    system_named("smartnoise-sql").statistic("mean", [1, None], bounds=(0, 5))
    assert asked[0][2]["x"]["type"] == "float"


def test_groups_are_those_of_the_rows_at_delta(asked):
    system = system_named("smartnoise-sql")
    assert system.group_counts(["a", "a"], None, epsilon=1.0, delta=0.01) == {"a": 2.0}
    assert asked[0][2]["censor_dims"] is True
    assert asked[0][3] == {"epsilon": 1.0, "delta": 0.01}
    with pytest.raises(NotOfferedError):
        system.group_counts(["a"], ["a"], epsilon=1.0)


def test_predicates_are_sql(asked):
    system = system_named("smartnoise-sql")
    assert system.filtered_count("number", ["12", "x"], epsilon=1.0) == 7
    assert "CAST" in asked[0][0]
    assert asked[0][2]["x"]["type"] == "string"
    for refused in (
        lambda: system.filtered_count("equal", [1], epsilon=1.0, other=[1]),
        lambda: system.statistic("median", [1.0], bounds=(0, 1)),
    ):
        with pytest.raises(NotOfferedError):
            refused()


# What the adapters of other libraries share, asked of libraries that are made up here.


class Repeating(InstalledLibrary):
    """Draws its noise from Python's generator, which a user may seed."""

    distribution = "numpy"

    def noise(self, kind: str, value: float, scale: float) -> float:
        return value + scale * random.random()


class Buffered(InstalledLibrary):
    """Draws its noise from a state of its own, which a fork copies."""

    distribution = "numpy"
    state = random.Random()

    def noise(self, kind: str, value: float, scale: float) -> float:
        return value + scale * self.state.random()


class Fresh(InstalledLibrary):
    """Draws its noise from the operating system."""

    distribution = "numpy"

    def noise(self, kind: str, value: float, scale: float) -> float:
        return value + scale * random.SystemRandom().random()


class Silent(InstalledLibrary):
    """Offers no noise."""

    distribution = "numpy"


def test_the_version_is_that_of_the_distribution() -> None:
    assert Silent().version() == version("numpy")


def test_a_seed_repeats_noise_of_a_public_generator_only() -> None:
    assert list(Repeating().seeded(7)) == list(Repeating().seeded(7))
    assert list(Fresh().seeded(7)) != list(Fresh().seeded(7))


def test_forked_processes_repeat_noise_of_a_state_they_share() -> None:
    first, second = Buffered().forked()
    assert list(first) == list(second)
    first, second = Fresh().forked()
    assert list(first) != list(second)


def test_what_offers_no_noise_is_not_asked_for_it() -> None:
    with pytest.raises(NotOfferedError):
        Silent().seeded(7)
    with pytest.raises(NotOfferedError):
        Silent().forked()


def test_a_text_among_numbers_is_refused() -> None:
    refuse_texts([1.0, 2, None])
    with pytest.raises(NotOfferedError, match="texts"):
        refuse_texts([1.0, "two"])


def test_a_library_that_is_not_there_or_does_not_load_is_not_judged() -> None:
    class Absent(InstalledLibrary):
        distribution = "no-such-distribution"

    class Broken(InstalledLibrary):
        distribution = "numpy"
        modules = ("numpy", "numpy.no_such_module")

    Fresh().refuse_unready()
    with pytest.raises(NotReadyError, match="not installed"):
        Absent().refuse_unready()
    with pytest.raises(NotReadyError, match=r"numpy .* cannot be imported: .*no_such_module"):
        Broken().refuse_unready()


# The adapter of multi-freq-ldpy, on a module made up in its place.


MULTI_FREQ_CASES = {case.id: case for case in load_cases()}


def client(item, size, epsilon):
    if item is None or not 0 <= item < size:
        raise ValueError("out of range")
    return item if noise.bernoulli("3/4") else int(noise.uniform(size))


def aggregator(reports, size, epsilon):
    counts = [0] * size
    for report in reports:
        counts[report] += 1
    return [count / len(reports) for count in counts]


@pytest.fixture
def multi_freq_system(monkeypatch):
    module = SimpleNamespace(GRR_Client=client, GRR_Aggregator_MI=aggregator)
    monkeypatch.setitem(sys.modules, "multi_freq_ldpy.pure_frequency_oracles.GRR", module)
    return system_named("multi-freq-ldpy")


def test_multi_freq_its_cases_come_out_as_its_functions_do(multi_freq_system):
    verdicts = {
        "hostile reports/impossible report 1": FALLS,  # IndexError for all reports of the day
        "hostile reports/impossible report 2": FALLS,  # -1 is the last item
        "items outside of the domain/above": HOLDS,
        "noise that can be repeated/after a fork": HOLDS,
        "ratio of reports/direct, epsilon 1": NOT_APPLICABLE,
    }
    assert {
        name: MULTI_FREQ_CASES[name].run(multi_freq_system).verdict for name in verdicts
    } == verdicts


def test_counts_are_shares_of_the_reports(multi_freq_system):
    question = multi_freq_system.local(3, 1.0, "direct")
    assert question.counts([0, 0, 1, 2]) == [2.0, 1.0, 1.0]
    assert len(multi_freq_system.seeded(1)) == 12
    with pytest.raises(NotOfferedError):
        multi_freq_system.local(3, 1.0, "unary")


# The adapter of diffprivlib, on a module made up in its place.


@pytest.fixture
def counted(monkeypatch):
    """The arrays that the library counts."""
    found = []

    def count_nonzero(array, epsilon, accountant=None):
        found.append(array)
        return np.count_nonzero(array)

    def total(values, epsilon, bounds, accountant):
        return sum(values.clip(*bounds))

    tools = SimpleNamespace(count_nonzero=count_nonzero, sum=total)
    library = SimpleNamespace(BudgetAccountant=lambda *_: None, tools=tools)
    monkeypatch.setitem(sys.modules, "diffprivlib", library)
    monkeypatch.setitem(sys.modules, "diffprivlib.tools", tools)
    return found


def test_a_count_is_in_the_middle_of_its_array(counted):
    # A count is cut to 0..size: one of an array of ones would lose half of its noise.
    assert system_named("diffprivlib").statistic("count", [1.0] * 7) == 7
    assert system_named("diffprivlib").account(1.0).ask(0.5, "ones") == 100
    assert [(array.sum(), len(array)) for array in counted] == [(7, 14), (100, 200)]


def test_a_release_that_fails_does_fail(counted):
    account = system_named("diffprivlib").account(1.0)
    with pytest.raises(TypeError):
        account.fail(0.25, "text")


# The adapter of Tumult Analytics, on a library made up in its place.


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
def tumult_system():
    made = []

    def from_dataframe(budget, name, table, protected_change):
        made.append(Session(budget, table, protected_change))
        return made[-1]

    found = system_named("tumult-analytics")
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


def test_columns_and_bounds_have_one_kind(tumult_system):
    tumult, made = tumult_system
    assert tumult.statistic("sum", [1, 2], bounds=(0.0, 9.0)) == 5
    assert made[0].table == ("x long", [(1,), (2,)])
    assert made[0].asked == [(("sum", ("x", 0, 9), {"name": "a"}),)]
    tumult.statistic("mean", [1, None, 2.5], bounds=(0, 9))
    assert made[1].table == ("x double", [(1.0,), (None,), (2.5,)])
    with pytest.raises(TypeError):
        tumult.statistic("sum", [1.0], bounds=None)
    with pytest.raises(NotOfferedError):
        tumult.statistic("sum", ["a"], bounds=(0, 1))


def test_what_is_asked_again_is_asked_of_many_equal_groups_at_once(tumult_system):
    """Each answer is given once, and other rows, bounds or amounts are asked for themselves."""
    tumult, made = tumult_system
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


def test_seeded_answers_are_asked_for_after_the_seed(tumult_system):
    tumult, made = tumult_system
    tumult.seeded(0)
    tumult.seeded(0)
    assert [session.table[0] for session in made] == ["x double"] * 6


def test_bars_stand_in_the_order_of_their_edges(tumult_system):
    tumult, made = tumult_system
    asked = {"edges": [0.0, 2.0, 5.0, 10.0], "epsilon": 1.0}
    assert tumult.statistic("histogram", [1.0], **asked) == [1, 2, 3]
    assert made[0].asked[0][0][:2] == ("bin_column", ("x", ([0, 2, 5, 10], [0, 1, 2]), "bin"))
    again = [tumult.statistic("histogram", [1.0], **asked) for _ in range(500)]
    assert sorted(again)[-1] == [1498, 1499, 1500]
    with pytest.raises(TypeError):
        tumult.statistic("histogram", [1.0])


def test_rows_are_filtered_by_sql(tumult_system):
    tumult, made = tumult_system
    assert tumult.filtered_count("number", ["1", "many"], epsilon=1.0) == 5
    assert made[0].table == ("x string", [("1",), ("many",)])
    assert made[0].asked[0][0] == ("filter", ("double(x) > 0",), {})
    tumult.filtered_count("quotient", [1, 0], epsilon=1.0)
    assert made[1].table[0] == "x long"
    with pytest.raises(NotOfferedError):
        tumult.filtered_count("equal", ["a"], epsilon=1.0, other=["a"])


def test_keys_of_people_are_found_under_a_bound_of_their_groups(tumult_system):
    tumult, made = tumult_system
    assert tumult.people_keys([(7, "a"), (7, "b")], 2, epsilon=1.0, delta=0.1) == ["a"]
    assert (made[0].unit, made[0].total.delta) == ("rows of person", 0.1)
    first, second, *_ = made[0].asked[0]
    assert (first[1][0], second[1][0]) == (("groups", 2), ("rows a group", 1))


def test_groups_are_public_or_found_at_delta(tumult_system):
    tumult, made = tumult_system
    assert tumult.group_counts(["a"], ["a", "b"], epsilon=1.0) == {"a": 1.0, "b": 2.0}
    assert list(tumult.group_counts(["a"], None, epsilon=1.0, delta=0.1)) == ["a"]
    assert (made[1].total.epsilon, made[1].total.delta) == (1.0, 0.1)


def test_people_are_bounded_in_rows_and_in_groups(tumult_system):
    tumult, made = tumult_system
    each = {"rows_each": 2, "groups_each": 3, "upper": 1.0, "epsilon": 1.0}
    tumult.people_sum([(1, "a", 1.0)], ["a", "b"], **each)
    assert made[0].unit == "rows of person"
    first, second, *_ = made[0].asked[0]
    assert (first[1][0], second[1][0]) == (("groups", 3), ("rows a group", 2))


def test_an_account_spends(tumult_system):
    tumult, _ = tumult_system
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
    tumult = system_named("tumult-analytics")
    tumult.close()
    assert chosen == {}
    tumult._spark  # noqa: B018
    folder = Path(chosen["spark.sql.warehouse.dir"])
    assert folder.is_dir()
    tumult.close()
    assert stopped == ["spark"]
    assert not folder.exists()
