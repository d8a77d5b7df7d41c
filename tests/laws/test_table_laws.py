"""Steps on tables keep their maps: real aggregates of the engine, on drawn tables of neighbours."""

import random
from fractions import Fraction

import pandas as pd
import pytest

import tacit as tc
from support.tables.engine_tables import ENGINES
from tacit import framework as fw
from tacit.core import L1Distance, L2Distance, Space
from tacit.core.space import step_from
from tacit.errors import MismatchError
from tacit.mechanisms.private_quantile import quantile_costs
from tacit.tables.open_source import open_source
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.query import Query
from tacit.tables.release.release import PlanRunner
from tacit.tables.statistics.counted_quantiles import CountedCells, SumOfCountChanges
from tacit.tables.statistics.counts import PeopleByGroup
from tacit.tables.statistics.quantile_choice import QuantileCosts, SumOfLargestChanges
from tacit.tables.steps import (
    DerivedColumn,
    FilterRows,
    JoinTable,
    Table,
    UnitDistance,
    table_space,
)

PEOPLE, GROUPS = [1, 2, 3, 4], ["a", "b", "c"]
KEYS = (("a",), ("b",))
ASKED = {
    "n": tc.count(),
    "people": tc.count_people(),
    "total": tc.sum("x", -2, 5),
    "other": tc.sum("y", -4, 1),
    "spread": tc.var("y", -4, 4),
    "middle": tc.median("x", -2, 5),
    "low": tc.percentile("y", 10, -4, 4),
    "trimmed": tc.trimmed_mean("y", "1/4", -4, 4),
    "geometric": tc.geometric_mean("x", 1, 5),
    "inequality": tc.gini("x", 0, 5),
    "deviation": tc.mad("x", -2, 5),
    "several": tc.percentiles("y", [25, 50, 75], -4, 4),
    "bins": tc.histogram("x", [0, 2, 5]),
    "ends": tc.bounds("x", -4, 4),
    "pair": tc.covariance("x", "y", {"x": (-2, 5), "y": (-4, 1)}),
    "alike": tc.correlation("x", "y", {"x": (-2, 5), "y": (-4, 4)}),
    "weights": tc.weighted_count("x", 0, 5),
    "weighted": tc.weighted_sum("y", "x", {"x": (1, 5), "y": (-4, 1)}),
    "weighted too": tc.weighted_mean("x", "y", {"x": (-2, 5), "y": (0, 4)}),
    "over": tc.ratio("y", "x", {"x": (-2, 5), "y": (-4, 4)}),
    "each": tc.ratio("y", bounds={"y": (-4, 4)}),
    "kinds": tc.count_distinct("x"),
    "most": tc.top_k("x", 2, [0, 1, 3]),
    "fit": tc.linear_regression("y", ["x", "z"], {"x": (-2, 5), "y": (-4, 4), "z": (-1, 3)}),
}


BELOW = tc.col("x") < 70
FILTERS = [BELOW, tc.col("y").is_null(), tc.col("y") <= 4, ~(tc.col("g") == "a") & BELOW]
UNITS = [tc.one_row_each, *(tc.unit("person", r, g) for r, g in ((1, 1), (2, 2), (3, 1), (3, 3)))]
TYPES = {"person": "bigint", "g": "varchar", "x": "bigint", "y": "double"}


def draw_table(source):
    rows = [
        {
            "person": source.choice(PEOPLE),
            "g": source.choice(GROUPS),
            "x": source.choice([-9, -2, 0, 1, 3, 5, 77]),
            "y": source.choice([-4.0, -0.3, float("nan"), 0.5, float("inf"), 4.0]),
        }
        for _ in range(source.randint(0, 9))
    ]
    return pd.DataFrame(rows, columns=["person", "g", "x", "y"]).astype(
        {"person": "int64", "g": "str", "x": "int64", "y": "float64"}
    )


def other_table(table, source, person):
    """Return a neighbour: a few people leave or come, each with all their rows."""
    if person is None:
        kept = table.sample(frac=1, random_state=source.randrange(2**31))
        kept = kept.iloc[: source.randint(max(0, len(kept) - 2), len(kept))]
        return pd.concat([kept, draw_table(source).iloc[: source.randint(0, 2)]])
    gone = set(source.sample(PEOPLE, source.randint(0, 2)))
    new = draw_table(source)
    come = new[new["person"].isin(gone)] if source.random() < 0.5 else new.iloc[:0]
    return pd.concat([table[~table["person"].isin(gone)], come])


def in_pandas(table):
    return open_source(table, name="drawn")


def ends(table, unit, norm_request, aggregates, where=BELOW, opened=in_pandas):
    """Return the plan's chains with the exact vector of each on a table."""
    source = opened(table)
    query = Query(
        source.schema,
        unit,
        where=(where,),
        derived=(("z", tc.col("x") + 1),),
        by=("g",),
        keys=KEYS,
        aggregates=tuple(aggregates.items()),
    )
    plan = Plan(query, norm_request)
    exact = PlanRunner(source).collect(plan)
    chains = plan.chains(len(KEYS))
    vectors = exact.vectors(chains, list(KEYS))
    found = [
        (plan.measurement(end, part.on_people), end[0], exact_of[end[0]])
        for part, part_ends, exact_of in zip(plan.parts, chains, vectors, strict=True)
        for end in part_ends
    ]
    source.close()
    return found


def cost_distance(costs, left, right):
    """Compare the costs of two sets of histograms at every cell that occurs, and between."""
    q = Fraction(costs.q)
    total = Fraction(0)
    for a, b in zip(left, right, strict=True):
        places = sorted({0, costs.cells, *map(int, a[0]), *map(int, b[0])})
        places += [p + 1 for p in places if p < costs.cells]
        total += max(abs(_cost_at(costs, a, q, p) - _cost_at(costs, b, q, p)) for p in places)
    return total


def _cost_at(costs, histogram, q, place):
    starts, lengths, cost = quantile_costs(histogram, costs.cells, q, 0)
    for first, length, value in zip(starts, lengths, cost, strict=True):
        if first <= place < first + length:
            return int(value)
    raise AssertionError("runs cover every cell")


@pytest.mark.full
@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("unit", "request_"),
    [
        (tc.one_row_each, tc.epsilon(1)),
        (tc.one_row_each, tc.rho(1)),
        (tc.unit("person", rows=2, groups=2), tc.epsilon(1)),
        (tc.unit("person", rows=1, groups=1), tc.rho(1)),
        (tc.unit("person", rows=3, groups=3), tc.epsilon(1)),
    ],
    ids=str,
)
def test_every_vector_of_a_plan_keeps_its_map(unit, request_):
    moved = 0
    for seed in range(6):
        source = random.Random(f"{unit} {request_} {seed}")
        u = draw_table(source)
        v = other_table(u, source, unit.column)
        d_in = UnitDistance(unit.column).distance(u.to_dict("list"), v.to_dict("list"))
        aggregates = dict(ASKED)
        if unit.groups < len(KEYS):
            aggregates.pop("people")  # the groups of a person are drawn: held below
        if unit.column is not None:
            aggregates.pop("kinds")  # and so are the values of one with more than are counted
        pairs = zip(
            ends(u, unit, request_, aggregates), ends(v, unit, request_, aggregates), strict=True
        )
        moved += sum(keeps_its_map(*pair, d_in, seed) for pair in pairs)
    assert moved > 20  # the pairs do move the vectors


def keeps_its_map(one, other, d_in, where):
    """Hold the vectors of two tables to the map; return whether they differ."""
    (chain, step, left), (_, _, right) = one, other
    if isinstance(step, QuantileCosts):
        distance = cost_distance(step, left, right)
    elif isinstance(step, CountedCells):
        distance = SumOfCountChanges().distance(left, right)
    else:
        grid = chain.links[-2].output.domain.element.grid
        metric = L1Distance() if step.norm == "L1" else L2Distance()
        distance = metric.distance(*([value * grid for value in side] for side in (left, right)))
    assert distance <= _before_noise(chain, d_in), (step, where)
    return distance > 0


@pytest.mark.parametrize(("engine", "plans"), [("duckdb", 3), ("postgresql", 8), ("spark", 4)])
def test_random_plans_keep_their_maps_on_every_engine(engine, plans, request, monkeypatch):
    """Rows come and go, and people of several rows; one salt draws their groups on both sides."""
    monkeypatch.setattr("tacit.tables.privacy_unit.new_salt", lambda: "5a17")
    load, moved = ENGINES[engine](request), 0

    def opened(table):
        return load(table.to_dict("records"), TYPES)

    for seed in range(plans):
        source = random.Random(f"{engine} {seed}")
        unit, budget = UNITS[seed % len(UNITS)], source.choice([tc.epsilon(1), tc.rho(1)])
        u = draw_table(source)
        v = other_table(u, source, unit.column)
        d_in = UnitDistance(unit.column).distance(u.to_dict("list"), v.to_dict("list"))
        asked = {name: ASKED[name] for name in source.sample(sorted(ASKED), 4)}
        where = source.choice(FILTERS)
        pairs = zip(*(ends(t, unit, budget, asked, where, opened) for t in (u, v)), strict=True)
        moved += sum([keeps_its_map(*pair, d_in, (seed, unit)) for pair in pairs])
    assert 2 * moved >= plans  # else the neighbours would show nothing


def _before_noise(chain, d_in):
    distance = Fraction(d_in)
    for link in chain.links[:-1]:
        distance = link.map(distance)
    return distance


def test_one_person_attains_the_map_of_the_moments():
    u = pd.DataFrame({"person": [1, 1], "g": ["a", "a"], "x": [5, 5], "y": [0.0, 0.0]})
    unit = tc.unit("person", rows=2)
    asked = {"n": tc.count(), "m": tc.mean("x", -2, 5)}
    with_one = ends(u, unit, tc.epsilon(1), asked)
    without = ends(u.iloc[:0], unit, tc.epsilon(1), asked)
    for (chain, _, left), (_, _, right) in zip(with_one, without, strict=True):
        grid = chain.links[-2].output.domain.element.grid
        distance = sum(abs(a - b) * grid for a, b in zip(left, right, strict=True))
        assert distance == _before_noise(chain, 1) == 2


@pytest.mark.full
def test_people_are_counted_in_at_most_so_many_groups():
    table = pd.DataFrame({"person": [1] * 3, "g": GROUPS, "x": [1, 1, 1], "y": [0.0] * 3})
    for _ in range(20):
        unit = tc.unit("person", rows=3, groups=1)
        found = ends(table, unit, tc.epsilon(1), {"p": tc.count_people()})
        assert sum(found[0][2]) <= 1


BY_PERSON = JoinTable("patients", "inner", [["person", "id"]], [["age", "age", "integer"]])
BY_KEY = JoinTable("sites", "left", [["x", "site"]], [["z", "region", "text"]], "ab12")


@pytest.mark.parametrize(
    "step", [FilterRows(["=="]), DerivedColumn("z", "integer", []), BY_PERSON, BY_KEY]
)
def test_row_steps_leave_the_distance_as_it_is(step):
    space = table_space({"person": "integer", "x": "integer"}, "person")
    t = space >> step
    assert [t.map(d) for d in range(4)] == [0, 1, 2, 3]


def test_tables_of_people_are_joined_by_the_person_alone():
    """What engines do is in tests/tables/query/test_joins.py."""
    columns = {"person": "integer", "x": "integer"}
    space = table_space(columns, "person")
    assert (space >> BY_PERSON).output.domain.names == ("person", "x", "age")
    assert step_from(BY_KEY.describe()) == BY_KEY
    by_x = JoinTable("patients", "inner", [["x", "id"]], [])
    for start in (space, table_space(columns, None)):
        with pytest.raises(MismatchError, match="joined only by the person"):
            start >> by_x
    with pytest.raises(MismatchError, match="on other columns"):
        space >> JoinTable("sites", "left", [["y", "site"]], [], "ab12")


def test_a_step_on_rows_is_refused_before_people_are_bounded():
    space = table_space({"person": "integer"}, "person")
    with pytest.raises(MismatchError, match="SymmetricDistance"):
        space >> QuantileCosts("x", "0", "1", 4, "1/2", 1)
    with pytest.raises(MismatchError):
        Space(Table.of({"x": "integer"}), fw.SymmetricDistance()) >> PeopleByGroup(1, "L1", 1)


def test_costs_are_compared_group_by_group():
    assert SumOfLargestChanges().distance([[0, 2], [5, 5]], [[1, 2], [5, 2]]) == 4
