"""A plan beside asking one by one: errors, and the picture."""

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.tables.cell_axis import Axis
from tacit.tables.joint.cell_counts import CellsPart, RequestedCells, key_of
from tacit.tables.joint.statistics import requested_cells
from tacit.tables.joint_plans import comparison
from tacit.tables.joint_plans.comparison import compared, plan_figure
from tacit.tables.joint_plans.session_plans import worst_weights
from tacit.tables.plan.plan import Plan
from tacit.tables.question import question_parts
from tacit.tables.statistics.counted_quantiles import chosen
from tacit.tables.statistics.near_quantiles import other_parts
from tacit.tables.statistics.part import LEVEL, Noise
from tacit.tables.statistics.percentiles import PercentilesPart
from tacit.tables.statistics.quantiles import QuantilePart
from tacit.workload.cells import loss_of

PEOPLE = pa.table({"sex": ["f", "m"] * 50, "site": [1, 2] * 50, "age": [31, 67] * 50})
EDGES = range(0, 100, 10)


def plan_of(budget):
    session = tc.Session(PEOPLE, tc.one_row_each, budget, tc.in_memory, name="people")
    keys = {"sex": ["f", "m"], "site": [1, 2]}
    return session.plan(
        [
            session.agg(n=tc.count(), below=tc.cdf("age", EDGES)),
            session.group_by("sex", "site", keys=keys).agg(cells=tc.count()),
            session.group_by("sex", keys=["f", "m"]).agg(
                ages=tc.ranges("age", EDGES), age=tc.mean("age", 0, 100)
            ),
            session.filter(tc.col("age") >= 65).agg(old=tc.count()),
            session.agg(mid=tc.median("age", 0, 100)),
        ]
    )


def test_a_loss_without_noise_is_shared_evenly():
    session = tc.Session(PEOPLE, tc.one_row_each, tc.epsilon(1), tc.in_memory)
    plan = session.plan(
        [session.agg(n=tc.count()), session.group_by("sex", keys=["f", "m"]).agg(k=tc.count())]
    )
    for loss in ("1e30", "1e308"):
        found = plan._compared(loss_of(loss, None), 1000)
        assert [one.share for one in found.answers] == [Fraction(1, 2)] * 2


@pytest.mark.full
@pytest.mark.parametrize("price", [{"rho": "1/10"}, {"epsilon": 1}], ids=str)
def test_the_counts_have_no_more_error_than_with_the_best_split(price):
    plan = plan_of(tc.rho(1) if "rho" in price else tc.epsilon(2))
    loss = loss_of(price.get("epsilon"), price.get("rho"))
    found = plan._compared(loss, 1000)
    assert [one.label for one in found.answers] == list(plan.labels)
    assert sum(one.share for one in found.answers) == 1
    preview = plan.preview(**price, rows=[1000])
    for one in found.answers:
        assert one.planned == pytest.approx(preview.errors[one.label][0], rel=1e-6)
        assert one.unit == preview.units[one.label]
    counts = [one for one in found.answers if one.label in ("n", "cells", "ages", "old")]
    assert [one.numbers for one in counts] == [1, 4, 90, 1]
    totals = [sum(one.numbers * e**2 for one, e in _pairs(counts, name)) for name in _NAMES]
    assert totals[0] <= totals[1] * (1 + 1e-4)
    # and that split is the best one: moving loss between two of them does not help
    for a in counts:
        for b in counts:
            if a is not b:
                assert moved(counts, a, b, loss) >= totals[1] * (1 - 1e-3)


_NAMES = ("planned", "alone")


def _pairs(counts, name):
    return [(one, getattr(one, name)) for one in counts]


def moved(counts, a, b, loss):
    """The total where a tenth of the loss of b goes to a; errors go with a power of the loss."""
    power = 1 / 2 if loss.kind == "concentrated" else 1
    given = b.share / 10
    shares = {one.label: one.share for one in counts}
    shares[a.label] += given
    shares[b.label] -= given
    return sum(
        one.numbers * (one.alone * float(one.share / shares[one.label]) ** power) ** 2
        for one in counts
    )


@pytest.mark.full
def test_the_picture_has_a_panel_for_each_answer_with_both_lines():
    plan = plan_of(tc.epsilon(1))
    figure = plan.plot(epsilon="1/2", rows=500)
    shown = [one for one in figure.axes if one.get_visible()]
    assert [one.get_title(loc="left") for one in shown] == list(plan.labels)
    found = plan._compared(loss_of("1/2", None), 500)
    for one, answer in zip(shown, found.answers, strict=True):
        planned, alone, _ = one.get_lines()
        assert planned.get_xdata()[3] == 0.5
        assert planned.get_ydata()[3] == pytest.approx(answer.planned)
        assert alone.get_ydata()[3] == pytest.approx(answer.alone)


@pytest.mark.full
def test_more_answers_than_fit_are_counted():
    session = tc.Session(PEOPLE, tc.one_row_each, tc.epsilon(1), tc.in_memory, name="people")
    many = [session.filter(tc.col("age") >= n).agg(**{f"n{n}": tc.count()}) for n in range(14)]
    plan = session.plan(many)
    figure = plan_figure(
        lambda loss, rows: compared(plan._plan, [m.query for m in plan._plan.members], loss, rows),
        loss_of(1, None),
        100,
    )
    assert len(figure.axes) == 12
    assert "2 more answers" in figure.get_suptitle()


@pytest.mark.full
def test_no_word_of_the_picture_is_cut_off():
    session = tc.Session(PEOPLE, tc.one_row_each, tc.epsilon(1), tc.in_memory, name="people")
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    long = {"the_number_of_people_of_each_age_in_bins": tc.ranges("age", range(0, 81, 10))}
    few = {f"n{n}": tc.count() for n in range(2)}
    figure = session.plan([session.agg(**few), session.agg(**long)]).plot(epsilon=1)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    for one in figure.axes:
        box = one.get_tightbbox(canvas.get_renderer())
        assert 0 <= box.x0 <= box.x1 <= figure.bbox.x1
        assert 0 <= box.y0 <= box.y1 <= figure.bbox.y1
    assert figure.axes[2].get_title(loc="left") == "the_number_of_people_of_each_…"


# No plan has more expected error than its questions one by one with the best split of the loss.


NEVER_WORSE_PEOPLE = pa.table({"sex": ["f"], "site": [1], "kind": ["a"], "age": [31], "pay": [1.5]})
KEYS = {"sex": ["f", "m"], "site": [1, 2, 3, 4, 5], "kind": list("abcdefghij")}
NEVER_WORSE_EDGES = [[0, 50, 100], list(range(0, 101, 10)), list(range(0, 101, 4))]
BUDGETS = {"rho": tc.rho(1), "epsilon": tc.epsilon(2), "delta": tc.epsilon_delta(2, "1e-6")}


def asked(rng, edges):
    return {
        "n": tc.count(),
        "bins": tc.histogram("age", edges),
        "within": tc.ranges("age", edges),
        "up_to": tc.prefix_sums("age", edges),
        "shares": tc.cdf("age", edges),
        "sum": tc.sum("pay", 0, 10),
        "mean": tc.mean("pay", 0, 10),
        "var": tc.var("age", 0, 100),
        "std": tc.std("age", 0, 100),
        "low": tc.percentile("age", rng.choice([5, 10, 25]), 0, rng.choice([100, 5000])),
        "mid": tc.median("age", 0, rng.choice([100, 5000])),
        "high": tc.percentile("age", rng.choice([75, 90, 99]), 0, rng.choice([100, 5000])),
        "least": tc.min("pay", 0, 10),
        "several": tc.percentiles("pay", [25, 50, 75], 0, 10),
    }


def total_of_counts(one, loss):
    """The total squared error of an answer that counts, with its share by itself."""
    total, paid = comparison.__dict__["_total"], replace(loss, amount=loss.amount * one.share)
    return total(one.query, paid, one.numbers, 1000)


def question(rng, session):
    rows = session.filter(tc.col("age") >= rng.choice([18, 65])) if rng.random() < 0.25 else session
    by = rng.sample(list(KEYS), rng.choice([0, 0, 1, 1, 2, 3]))
    if by:
        rows = rows.group_by(*by, keys={name: KEYS[name] for name in by})
    known = asked(rng, rng.choice(NEVER_WORSE_EDGES))
    picked = rng.sample(list(known), rng.choice([1, 1, 2, 3, 5]))
    return rows.agg(**{name: known[name] for name in picked})


@pytest.mark.few(10)
@pytest.mark.parametrize("seed", range(30))
def test_no_total_is_above_that_of_one_by_one(seed):
    rng = random.Random(seed)
    name = rng.choice(list(BUDGETS))
    with tc.Session(
        NEVER_WORSE_PEOPLE, tc.one_row_each, BUDGETS[name], tc.in_memory, name="p"
    ) as session:
        questions = [question(rng, session) for _ in range(rng.randint(1, 5))]
        plan = session.plan(questions, unlisted=rng.choice(["count", "drop"]))
        loss = tc.rho("1/10") if name == "rho" else tc.epsilon(1)
        found = plan._compared(loss, 1000).answers
    assert sum(one.share for one in found) == 1
    counts = [one for one in found if one.aggregate.counts]
    whole = Plan(plan._plan.query, loss)
    parts = zip(whole.parts, whole.noises, strict=True)
    planned = sum(part.total(noise) for part, noise in parts if isinstance(part, CellsPart))
    # of shares in whole units, and of multipliers rounded to twelve bits
    assert planned <= sum(total_of_counts(one, loss) for one in counts) * (1 + 1e-4)
    together = {label for several in plan._plan.percentiles.values() for label in several}
    for one in found:
        if one not in counts and one.label not in together:
            assert one.planned <= one.alone * (1 + 1e-9)
    for several in plan._plan.percentiles.values():
        own = [one for one in found if one.label in several]
        assert sum(one.planned**2 for one in own) <= sum(one.alone**2 for one in own)


# What a session refuses to plan.


SESSION_PLANS_PEOPLE = pa.table({"age": [31, 67]})


def opened():
    return tc.Session(
        SESSION_PLANS_PEOPLE, tc.one_row_each, tc.epsilon(1), tc.in_memory, name="people"
    )


def test_what_is_no_plan_of_this_session_is_refused():
    session, other = opened(), opened()
    n = session.agg(n=tc.count())
    for wrong, told in [
        ([], "list of questions"),
        (n, "list of questions"),
        ([n, "n"], "list of questions"),
        ([n, other.agg(n=tc.count())], "one session"),
    ]:
        with pytest.raises(UsageError, match=told):
            session.plan(wrong)
    for named, told in [
        ({"least": "best"}, "least is"),
        ({"least": "worst", "weights": {"n": 2}}, "least is"),
        ({"unlisted": "keep"}, "unlisted is"),
        ({"nonnegative": 1}, "nonnegative is"),
        ({"weights": {"m": 2}}, "there is no answer"),
    ]:
        with pytest.raises(UsageError, match=told):
            session.plan([n], **named)
    assert session.plan([n], weights={"n": 2}).labels == ("n",)


# Weights that make the largest error small, against the errors of other weights.


SEX = Axis(("g",), (("a",), ("b",)))
BINS = Axis(("x",), edges=tuple(map(Fraction, (0, 2, 5, 7))))
COUNTS = {
    "n": requested_cells([]),
    "sex": requested_cells([SEX]),
    "both": requested_cells([SEX, BINS]),
}


def worst(weights, kind):
    asked = [RequestedCells(each.axes, weights[label]) for label, each in COUNTS.items()]
    part, noise = CellsPart(tuple(asked)), Noise(kind, Fraction(1, 1000), 1)
    return max(part.expected_error(key_of(each), noise, 1) for each in asked)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_no_drawn_weights_are_much_better(kind):
    found = worst(worst_weights(COUNTS, kind), kind)
    assert found <= worst(dict.fromkeys(COUNTS, 1), kind)
    source = random.Random(7)
    for _ in range(20):
        drawn = {label: source.randint(1, 1000) for label in COUNTS}
        assert found <= 1.02 * worst(drawn, kind)


def test_one_answer_has_the_weight_one():
    assert worst_weights({"n": COUNTS["n"]}, "gaussian") == {"n": 1}


# Percentiles that several labels of a plan ask for, chosen together where that is better.


SHARED_PERCENTILES_PEOPLE = pa.table(
    {"sex": ["f", "m"] * 500, "age": [i // 10 for i in range(1000)]}
)
SHARES = ["5", "25", "50", "75", "95"]


def shared_percentiles_opened(budget):
    return tc.Session(
        SHARED_PERCENTILES_PEOPLE, tc.one_row_each, budget, tc.in_memory, name="people"
    )


def labels(shares, upper=100):
    return {f"p{q}": tc.percentile("age", q, 0, upper) for q in shares}


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("upper", [4, 1000])
@pytest.mark.parametrize("several", [2, 3, 5])
def test_they_are_together_where_the_widest_interval_is_shorter(kind, upper, several):
    shares, loss = SHARES[:several], Fraction(1, 100)
    with shared_percentiles_opened(tc.epsilon(1) if kind == "laplace" else tc.rho(1)) as session:
        plan = session.plan([session.agg(**labels(shares, upper))])
        whole = dict(question_parts(plan._question).query.aggregates)
        alone = dict(question_parts(session.agg(**labels(shares, upper))).query.aggregates)
        parts = plan._plan.percentiles
    grid = Grid.for_bounds(Fraction(0), Fraction(upper), bits=16, whole=True)
    exact = [Fraction(q) / 100 for q in shares]
    each = Noise(kind, loss / several, 1)
    by = Noise("laplace", Fraction(1), 1)
    singles: list[Any] = [
        chosen(
            [QuantilePart("age", grid, "percentile", q), *other_parts("age", grid, [q], by, "q")],
            by,
        )
        for q in exact
    ]
    ends = [part.interval(each, LEVEL) for part in singles]
    together_by = other_parts("age", grid, exact, by, "q")
    several_parts = PercentilesPart("age", grid, tuple(exact)), *together_by
    best: Any = chosen(several_parts, by)
    one = best.interval(Noise(kind, loss, 1), LEVEL)
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
    with shared_percentiles_opened(budget) as session:
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
    with shared_percentiles_opened(tc.epsilon(1)) as session:
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
    with shared_percentiles_opened(tc.rho(9)) as session:
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
    with shared_percentiles_opened(tc.epsilon(1)) as session:
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
