"""Percentiles that several labels of a plan ask for, chosen together where that is better."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from tacit.expressions.grid import Grid
from tacit.tables.answers.base import LEVEL, Noise
from tacit.tables.answers.percentiles import PercentilesPart
from tacit.tables.answers.quantiles import QuantilePart
from tacit.tables.question import held_by

PEOPLE = pa.table({"sex": ["f", "m"] * 500, "age": [i // 10 for i in range(1000)]})
SHARES = ["5", "25", "50", "75", "95"]


def opened(budget):
    return tc.Session(PEOPLE, tc.one_row_each, budget, tc.in_memory, name="people")


def labels(shares, upper=100):
    return {f"p{q}": tc.percentile("age", q, 0, upper) for q in shares}


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("upper", [4, 1000])
@pytest.mark.parametrize("several", [2, 3, 5])
def test_they_are_together_where_the_widest_interval_is_shorter(kind, upper, several):
    shares, loss = SHARES[:several], Fraction(1, 100)
    with opened(tc.epsilon(1) if kind == "laplace" else tc.rho(1)) as session:
        plan = session.plan([session.agg(**labels(shares, upper))])
        whole = dict(held_by(plan._whole).query.aggregates)
        alone = dict(held_by(session.agg(**labels(shares, upper))).query.aggregates)
        parts = plan._plan.percentiles
    grid = Grid.for_bounds(Fraction(0), Fraction(upper), bits=16, whole=True)
    exact = [Fraction(q) / 100 for q in shares]
    each = Noise(kind, loss / several, 1)
    ends = [QuantilePart("age", grid, "percentile", q).interval(each, LEVEL) for q in exact]
    one = PercentilesPart("age", grid, tuple(exact)).half_width(
        "percentiles", Noise(kind, loss, 1), 1, LEVEL
    )
    # every split of the loss in hundredths, and none has a smaller total than is claimed
    power = 2 if kind == "laplace" else 1
    rng = np.random.default_rng(1)
    splits = [np.full(several, 1.0), *(several * rng.dirichlet(np.ones(several), 4000))]
    least = min(sum(r**2 / s**power for r, s in zip(ends, each, strict=True)) for each in splits)
    together = several * one**2
    if abs(together / least - 1) > 0.05:  # the best split is nearly among these
        assert bool(parts) == (together < least)
    assert (list(whole) == ["percentiles_age"]) == bool(parts)
    assert set(alone) == {f"p{q}" for q in shares}


@pytest.mark.parametrize("price", [{"epsilon": 400}, {"rho": 4000}], ids=str)
def test_each_label_has_its_own_percentile_of_its_own_group(price):
    budget = tc.rho(9000) if "rho" in price else tc.epsilon(900)
    with opened(budget) as session:
        by = session.group_by("sex", keys=["m", "f"])
        asked = [
            session.agg(**labels(SHARES, 1000), again=tc.median("age", 0, 1000), n=tc.count()),
            by.agg(**labels(SHARES[::-1], 1000)),
            by.agg(several=tc.percentiles("age", [10, 90], 0, 100)),
        ]
        plan = session.plan(asked)
        assert len(plan._plan.percentiles) == 2
        with pytest.warns(tc.errors.WeakGuaranteeWarning):
            whole, groups, several = plan.release(**price)
        assert whole.labels == ("p5", "p25", "p50", "p75", "p95", "again", "n")
        assert groups.labels == ("p95", "p75", "p50", "p25", "p5")
        for q in SHARES:
            assert abs(whole.value(f"p{q}") - int(q)) <= 1
            low, high = (whole.column(f"p{q}")[end][0] for end in ("low", "high"))
            assert low <= whole.value(f"p{q}") <= high
            for sex in "mf":
                assert abs(groups.value(f"p{q}", sex) - int(q)) <= 1
        assert whole.value("again") == whole.value("p50")
        column = several.column("several")
        assert column["bins"] == ["10", "90"]
        assert column["value"] == [pytest.approx([10, 90], abs=1)] * 2
        assert whole.certificate.verify(session.ledger)
        assert "percentiles 5, 25, 50, 75, 95 of age" in whole.certificate.to_html()
        spent = session.spent
        assert session.plan(asked).release(**price)[1].replayed
        assert session.spent == spent


def test_a_preview_and_targets_are_by_the_labels_that_were_asked():
    with opened(tc.epsilon(1)) as session:
        plan = session.plan([session.agg(n=tc.count(), **labels(SHARES))])
        found = plan.preview(epsilon=1, rows=[1000], confidence="0.95")
        assert list(found.errors) == list(found.units) == list(plan.labels)
        assert len({found.errors[f"p{q}"] for q in SHARES}) == 1
        assert any("chosen together, as percentiles_age" in note for note in found.notes)
        targets = {"n": 20, **{f"p{q}": 400 + int(q) for q in SHARES}}
        least = plan.cheapest(targets)
        shown = least.plan.preview(epsilon=least.loss.amount, rows=[1000], confidence="0.95")
        assert shown.intervals["p95"][0] <= 405  # the narrowest target is that of all of them
        assert set(least.shares) == set(plan.labels)
        compared = plan._compared(tc.epsilon(1), 1000)
        by = {one.label: one for one in compared.answers}
        assert all(by[f"p{q}"].planned < by[f"p{q}"].alone for q in ("5", "95"))
        assert sum(one.share for one in compared.answers) == 1


def test_a_plan_of_many_parts_has_a_rho_of_few_enough_digits():
    with opened(tc.rho(9)) as session:
        by = session.group_by("sex", keys=["m", "f"])
        many = [
            by.agg(**{f"p{lower}": tc.percentiles("age", [25, 50, 75], lower, 100)})
            for lower in range(4)
        ]
        plan = session.plan([*many, session.agg(**labels(SHARES, 90), age=tc.mean("age", 0, 99))])
        assert plan.cost(rho=1).amount <= 1
        answers = plan.release(rho=1)
        assert answers[0].certificate.verify(session.ledger)


def test_minimum_maximum_and_one_percentile_stay_by_themselves():
    with opened(tc.epsilon(1)) as session:
        asked = session.agg(
            low=tc.min("age", 0, 100),
            mid=tc.median("age", 0, 100),
            high=tc.max("age", 0, 100),
            same=tc.percentile("age", 50, 0, 100),
            other=tc.percentile("age", 25, 0, 99),
        )
        plan = session.plan([asked])
        assert not plan._plan.percentiles
        assert set(plan.preview(epsilon=1).errors) == {"low", "mid", "high", "same", "other"}
