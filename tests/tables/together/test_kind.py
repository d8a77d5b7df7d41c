"""Statistics by groups in a plan: against the definition, and against the same by themselves."""

import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.tables.answers.base import Columns, Noise, Setting, kind_of
from tacit.tables.cell_axis import Axis
from tacit.tables.together.kind import GROUPED, asked_by_cells

ROWS = [
    {
        "person": i // 2,
        "sex": "fmx"[i % 7 % 3],
        "site": i * i % 5,
        "age": (i * 37) % 97 if i % 13 else None,
        "pay": float("nan") if i % 17 == 0 else (i * 7919) % 1000 / 7,
    }
    for i in range(600)
]
UNITS = [tc.one_row_each, tc.unit("person", rows=2)]
PRICES = [(tc.rho(10**7), {"rho": 10**6}), (tc.epsilon(10**6), {"epsilon": 10**5})]


def opened(budget, unit=tc.one_row_each):
    table = pa.Table.from_pylist(ROWS)
    return tc.Session(table, unit, budget, tc.in_memory, name="people")


def of(name, **wanted):
    found = [r[name] for r in ROWS if all(r[key] == value for key, value in wanted.items())]
    return np.array([v for v in found if v is not None and v == v])


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize(("budget", "price"), PRICES, ids=["gaussian", "laplace"])
def test_answers_are_near_the_truth_and_the_certificate_holds(budget, price, unit):
    keys = {"sex": ["m", "f"], "site": [0, 1, 4]}
    with opened(budget, unit) as session:
        plan = session.plan(
            [
                session.agg(n=tc.count(), all=tc.mean("age", 0, 100)),
                session.group_by("sex", "site", keys=keys).agg(
                    n=tc.count(), age=tc.mean("age", 0, 100), spread=tc.std("age", 0, 100)
                ),
                session.group_by("site", keys=[4, 0]).agg(
                    pay=tc.sum("pay", 0, 200), mid=tc.median("age", 0, 100)
                ),
                session.filter(tc.col("age") >= 50).agg(old=tc.mean("pay", 0, 200)),
            ]
        )
        plan.preview(**price)
        whole, both, site, old = plan.release(**price)
        found = whole.certificate.verify(session.ledger)
        assert found, str(found)
        assert "sex" in whole.certificate.to_html()
        assert plan.cost(**price).amount == 0
    assert whole.value("all") == pytest.approx(of("age").mean(), abs=0.1)
    for sex, place in itertools.product("mf", (0, 1, 4)):
        truth = of("age", sex=sex, site=place)
        assert both.value("age", sex, place) == pytest.approx(truth.mean(), abs=0.3)
        assert both.value("spread", sex, place) == pytest.approx(truth.std(), abs=0.3)
    for place in (0, 4):
        assert site.value("pay", place) == pytest.approx(of("pay", site=place).sum(), abs=5)
        middle = np.sort(of("age", site=place))
        near = middle[len(middle) // 2 - 4 : len(middle) // 2 + 5]
        assert near[0] <= site.value("mid", place) <= near[-1]
    with_age = [r for r in ROWS if r["age"] is not None and r["age"] >= 50]
    pay = np.array([r["pay"] for r in with_age if r["pay"] == r["pay"]])
    assert old.value("old") == pytest.approx(pay.mean(), abs=0.3)
    assert both.to_pandas().shape[0] == 6


AXES = (Axis(("sex",), (("f",), ("m",))), Axis(("site",), ((1,), (2,), (3,))))


def part_of(asked, axes=AXES):
    def grid(each, bits):
        return Grid.for_bounds(each.lower, each.upper, bits=bits)

    whole = asked_by_cells(axes, asked)
    return kind_of(whole.kind).part(whole, Setting(grid, 1, False), None).settled()


@pytest.mark.parametrize("kind", GROUPED)
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_its_chain_is_that_of_the_statistic_by_the_same_groups(kind, noise):
    q = {"percentile": (25,), "percentiles": ([25, 50],)}.get(kind, ())
    asked = getattr(tc, kind)("age", *q, 0, 100)
    part = part_of(asked)
    spent = Noise(noise, Fraction(1, 2), 3)
    ends = part.chains(1, (), spent)
    assert ends == part.inner.chains(12, ("sex", "site"), spent)
    assert part.expected_error(kind, spent, 50) == part.inner.expected_error(kind, spent, 50)
    assert part.title.endswith("by sex and site")


def test_the_number_of_a_row_is_that_of_its_cell_and_its_value():
    part = part_of(tc.mean("age", 0, 100))
    ((step, _),) = part.chains(1, (), Noise("laplace", Fraction(1), 1))
    asked = part.request(step, Columns({}, alone=True))
    cells = part.inner.grid.cells
    for (i, sex), (j, site), age in itertools.product(
        enumerate(["f", "m", None]), enumerate([1, 2, 3, 9]), [-5, 0, 17, 100, 1e300]
    ):
        number = asked.value.evaluate({"sex": sex, "site": site, "age": age})
        value = min(max(age, 0), 100)
        assert round(number) == (4 * i + j) * (cells + 1) + round(value * cells / 100)
        assert 0 <= number <= float(asked.grid.upper)
    assert asked.value.evaluate({"sex": "f", "site": 1, "age": None}) is None


def test_what_a_row_moves_is_at_most_the_claimed_distance():
    """Every pair of neighbours of a small table, from the definition."""
    part = part_of(tc.var("age", 0, 100))
    ((step, _),) = part.chains(1, (), Noise("laplace", Fraction(1), 1))
    cells = part.inner.grid.cells
    rows = [c * (cells + 1) + z for c in (0, 5, 11) for z in (0, cells // 3, cells)]

    def vector(numbers):
        found, weights = np.unique(np.array(numbers, dtype=np.int64), return_counts=True)
        return np.array(part.vector(step, [(found, weights)]), dtype=object)

    scale = cells**2
    for few in itertools.combinations_with_replacement(rows, 2):
        for more in rows:
            moved = np.abs(vector([*few, more]) - vector(few)).sum()
            assert moved == scale
    assert not vector([]).any()


def test_quantiles_have_error_in_rank_and_many_groups_are_refused():
    assert part_of(tc.median("age", 0, 100)).error_unit == "rows in rank"
    assert part_of(tc.mean("age", 0, 100)).error_unit == "standard error"
    wide = (Axis(("site",), tuple((i,) for i in range(5000))),) * 2
    with pytest.raises(UsageError, match="groups, and a plan answers at most"):
        part_of(tc.mean("age", 0, 100), wide)


def test_others_by_groups_are_refused_with_the_way_out():
    with opened(tc.rho(1)) as session:
        for wrong in (tc.count_distinct("age"), tc.mean("age", 0, 100, method="smooth")):
            question = session.group_by("site", keys=[1, 2]).agg(x=wrong)
            with pytest.raises(UsageError, match="a plan answers by groups counts"):
                session.plan([question, session.agg(n=tc.count())])


@pytest.mark.parametrize(("budget", "price"), PRICES, ids=["gaussian", "laplace"])
def test_a_weight_gives_a_statistic_more_of_the_loss(budget, price):
    with opened(budget) as session:
        by = session.group_by("site", keys=[0, 1, 4])
        asked = [by.agg(n=tc.count(), age=tc.mean("age", 0, 100), pay=tc.sum("pay", 0, 200))]
        small = {name: value / 10**5 for name, value in price.items()}
        plain = session.plan(asked).preview(**small).errors
        heavy = session.plan(asked, {"pay": 100}).preview(**small).errors
        assert heavy["pay"][0] < plain["pay"][0]
        assert heavy["age"][0] > plain["age"][0]


def test_relative_errors_give_many_small_cells_more():
    with opened(tc.rho(2)) as session:
        keys = list(range(30))
        asked = [session.agg(n=tc.count()), session.group_by("age", keys=keys).agg(m=tc.count())]
        plain, relative = (
            session.plan(asked, least=each).preview(rho=1).errors for each in ("total", "relative")
        )
        assert relative["m"][0] < plain["m"][0]
        assert relative["n"][0] > plain["n"][0]

        def total(errors):
            return errors["n"][0] ** 2 + 30 * (30 * errors["m"][0]) ** 2

        assert total(relative) < total(plain)
