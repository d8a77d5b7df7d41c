"""Synthetic tables: made of answers alone, with the values of keys and bins."""

from __future__ import annotations

import copy
import cProfile
import itertools
import json
import math
import random
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import settings

import tacit as tc
from support.tables.engine_tables import ENGINES
from tacit.errors import UsageError
from tacit.report.issued import digest

ROWS = 400
DATA = pa.table(
    {
        "sex": ["f", "m"] * (ROWS // 2),
        "site": [1, 2, 1, None] * (ROWS // 4),
        "age": [5 + 7 * (i % 11) for i in range(ROWS)],
        "cost": [0.25 * (i % 40) for i in range(ROWS)],
    }
)
SEX, SITE = {"sex": ["f", "m"]}, {"site": [1, 2, None]}


@pytest.fixture
def session():
    with tc.Session(DATA, tc.one_row_each, tc.rho(10**7), tc.in_memory, name="p") as opened:
        yield opened


def by(session, **keys):
    return session.group_by(*keys, keys=keys)


def test_a_plan_becomes_rows_of_its_values(session):
    plan = session.plan(
        [
            by(session, **SEX, **SITE).agg(n=tc.count()),
            by(session, **SEX).agg(ages=tc.histogram("age", [0, 20, 40, 90])),
            session.agg(costs=tc.histogram("cost", [0, "2.5", 10]), spent=tc.sum("cost", 0, 10)),
        ]
    )
    answers = plan.release(rho=10**6)
    made = tc.synthetic_table(answers, rows=300, seed=4)
    rows = made.table.to_pylist()
    assert made.table.column_names == ["sex", "site", "age", "cost"]
    assert len(rows) == 300
    assert {row["site"] for row in rows} == {1, 2, None}
    assert all(type(row["age"]) is int and 0 <= row["age"] <= 90 for row in rows)
    assert all(isinstance(row["cost"], float) and 0 <= row["cost"] <= 10 for row in rows)
    assert made.unused == ("spent",)
    assert [error["label"] for error in made.errors] == ["n", "ages", "costs"]
    assert all(error["distance"] < 6 for error in made.errors)
    young = sum(row["age"] < 20 and row["sex"] == "f" for row in rows) / 300
    pairs = zip(DATA["age"].to_pylist(), DATA["sex"].to_pylist(), strict=True)
    true = np.mean([age < 20 and sex == "f" for age, sex in pairs])
    assert abs(young - true) < 0.02
    told = json.loads(made.table.schema.metadata[b"tacit synthetic table"])
    assert told == {"made of certificates": [answers[0].certificate.body["digest"]]}
    assert tc.synthetic_table(answers, rows=300, seed=4).table.equals(made.table)
    assert "300 made-up rows" in made._repr_html_()
    assert repr(made) == "<SyntheticTable of 300 rows: sex, site, age, cost>"


def test_single_answers_do_too_and_cost_nothing(session):
    answer = by(session, **SEX).agg(n=tc.count()).release(rho=10**6)
    before = session.spent
    made = tc.synthetic_table(answer)
    assert abs(made.table.num_rows - ROWS) <= 2
    assert session.spent == before


def test_bad_input(session):
    counts = by(session, **SEX).agg(n=tc.count()).release(rho=10)
    mean = by(session, **SEX).agg(m=tc.mean("age", 0, 90)).release(rho=10)
    total = session.agg(n=tc.count()).release(rho=10)
    bins = session.agg(h=tc.histogram("age", [0, 40, 90])).release(rho=10)
    other = session.agg(h=tc.histogram("age", [0, 50, 90])).release(rho=10)
    keyed = session.group_by("age", keys=[5, 12]).agg(n=tc.count()).release(rho=10)
    some = session.filter(tc.col("age") > 20).group_by("sex", keys=["f", "m"]).agg(n=tc.count())
    for wrong, said in [
        ([], "made of answers"),
        ([counts, 3], "made of answers"),
        ([mean, total], "counts rows by group or in bins"),
        ([bins, other], "different bins"),
        ([bins, keyed], "in bins in another"),
        ([keyed, bins], "in bins in another"),
        ([counts, some.release(rho=10)], "different rows"),
    ]:
        with pytest.raises(UsageError, match=said):
            tc.synthetic_table(wrong)
    for rows in (0, -1, 10**9, "x"):
        with pytest.raises(UsageError):
            tc.synthetic_table(counts, rows=rows)


# What the questions of a plan say differently of one column, or against the declaration.


DECLARED = """
name = "people"
unit = "row"
budget = { rho = 1 }
[tables.people]
path = "people.csv"
[tables.people.columns]
sex = { kind = "text", keys = ["f", "m"] }
age = { kind = "integer", bounds = [0, 100] }
"""


@pytest.fixture
def contradictions_session(tmp_path):
    (tmp_path / "people.csv").write_text("sex,age\nf,31\nm,45\n")
    (tmp_path / "people.toml").write_text(DECLARED)
    with tc.open(tmp_path / "people.toml", ledger=tc.in_memory) as opened:
        yield opened


def test_what_is_planned_side_by_side_is_said(contradictions_session):
    plan = contradictions_session.plan(
        [
            contradictions_session.agg(ages=tc.histogram("age", [0, 50, 100]), mean=tc.mean("age")),
            contradictions_session.agg(
                up_to=tc.prefix_sums("age", [0, 40, 100]), narrow=tc.mean("age", 0, 50)
            ),
            contradictions_session.group_by("sex", keys=["m", "x"]).agg(
                wide=tc.sum("age", -10, 90)
            ),
        ]
    )
    notes = plan.preview(rho="1/2").notes
    assert notes == plan.notes
    for told in (
        "age is in different bins: the edges 0, 50, 100 in ages; the edges 0, 40, 100 in up_to.",
        "age is clamped to different bounds: [0, 100] in mean; [0, 50] in narrow; [-10, 90]",
        "wide clamps age to [-10, 90], and the values that the data set declares are from 0 to 100",
        "wide lists 1 key of sex that the data set does not declare",
    ):
        assert any(note.startswith(told) for note in notes), told
    assert len(notes) == 4
    same = [
        contradictions_session.agg(a=tc.ranges("age", [0, 9])),
        contradictions_session.agg(b=tc.histogram("age", [0, 9])),
    ]
    assert contradictions_session.plan(same).preview(rho="1/2").notes == ()


def test_what_nothing_can_be_counted_in_is_refused(contradictions_session):
    other = contradictions_session.agg(n=tc.count())
    by = contradictions_session.group_by("sex", keys=["x", "y"])
    for question, told in (
        (by.agg(m=tc.count()), "keys of sex of which the data set declares none"),
        (contradictions_session.agg(h=tc.histogram("age", [101, 200])), "no value lies there"),
        (contradictions_session.agg(m=tc.mean("age", 200, 300)), "m clamps age to"),
    ):
        with pytest.raises(UsageError, match=told):
            contradictions_session.plan([other, question])
    older = contradictions_session.with_columns(older=tc.col("age") + 900)
    assert contradictions_session.plan([older.agg(m=tc.mean("older", 900, 1000))]).notes == ()
    assert contradictions_session.spent.is_nothing


# Plans on every engine: groups, filters, ranges and rows that are left out.


ENGINES_ROWS = {
    "sex": ["fmx"[i % 7 % 3] for i in range(200)],
    "age": [(i * 37) % 97 if i % 13 else None for i in range(200)],
    "pay": [float("nan") if i % 17 == 0 else i / 7 for i in range(200)],
}

TYPES = {"sex": "varchar", "age": "integer", "pay": "double"}


@pytest.mark.parametrize("engine", list(ENGINES))
def test_a_plan_answers_the_same_on_every_engine(engine, request):
    listed = [
        dict(zip(ENGINES_ROWS, row, strict=True))
        for row in zip(*ENGINES_ROWS.values(), strict=True)
    ]
    source = ENGINES[engine](request)(listed, TYPES)
    with tc.Session(source, tc.one_row_each, tc.rho(10**7), tc.in_memory, name="t") as session:
        by = session.group_by("sex", keys=["f", "m"])
        asked = [
            by.agg(n=tc.count(), age=tc.mean("age", 0, 100), pay=tc.sum("pay", 0, 20)),
            session.filter(tc.col("age") >= 50).agg(old=tc.count(), paid=tc.mean("pay", 0, 20)),
            session.agg(up_to=tc.prefix_sums("age", [0, 30, 97])),
        ]
        groups, old, up_to = session.plan(asked, unlisted="drop").release(rho=10**6)
        assert groups.certificate.verify(session.ledger)
    rows = zip(*ENGINES_ROWS.values(), strict=True)
    kept = [(s, a, p) for s, a, p in rows if s in "fm" and a is not None]
    for sex in "fm":
        ages = [a for s, a, _ in kept if s == sex]
        pays = [min(p, 20) for s, _, p in kept if s == sex and p == p]
        assert groups.value("n", sex) == pytest.approx(len(ages), abs=1)
        assert groups.value("age", sex) == pytest.approx(np.mean(ages), abs=0.3)
        assert groups.value("pay", sex) == pytest.approx(sum(pays), abs=2)
    paid = [min(p, 20) for _, a, p in kept if a >= 50 and p == p]
    assert old.value("old") == pytest.approx(sum(a >= 50 for _, a, _ in kept), abs=1)
    assert old.value("paid") == pytest.approx(np.mean(paid), abs=0.3)
    assert up_to.column("up_to")["value"][0][1] == pytest.approx(len(kept), abs=1)


@pytest.mark.parametrize("engine", list(ENGINES))
def test_true_and_false_are_cut_as_the_numbers_that_a_histogram_counts(engine, request):
    rows = [{"b": value} for value in [True, False, None, True] * 50]
    source = ENGINES[engine](request)(rows, {"b": "boolean"})
    edges = [0, 1, 2]
    made = {
        "bins": tc.histogram("b", edges),
        "below": tc.cdf("b", edges),
        "ranges": tc.ranges("b", edges),
    }
    with tc.Session(source, tc.one_row_each, tc.rho(10**9), tc.in_memory, name="t") as session:
        (answer,) = session.plan([session.agg(**made)], unlisted="drop").release(rho=10**8)
    assert [round(x) for x in answer.column("bins")["value"][0]] == [50, 100]
    assert answer.column("below")["value"][0] == pytest.approx([1 / 3, 1], abs=0.01)
    assert {50, 100, 150} == {round(x) for x in answer.column("ranges")["value"][0]}


# Which questions of a plan follow from earlier releases, and the answers that cost nothing.


PEOPLE = pa.table({"sex": ["f", "m"] * 50, "age": [i % 80 for i in range(100)]})


def test_those_that_follow_are_answered_and_the_others_are_not():
    with tc.Session(PEOPLE, tc.one_row_each, tc.rho(3), tc.in_memory, name="p") as session:
        by = session.group_by("sex", keys=["f", "m"])
        plan = session.plan(
            [
                session.agg(ages=tc.histogram("age", [0, 40, 80])),
                by.agg(n=tc.count(), age=tc.mean("age", 0, 80)),
                by.agg(n=tc.count()),
                session.filter(tc.col("age") < 7).agg(few=tc.count()),
            ]
        )
        assert plan.free_answers() == [None] * 4
        fine = by.agg(ages=tc.ranges("age", [0, 20, 40, 80]))
        counts = by.agg(cells=tc.count())
        session.plan([fine, counts]).release(rho=1)
        before, spent = len(session.history()), session.spent
        errors = plan.free_errors()
        assert [error is None for error in errors] == [False, True, False, True]
        ages, _, n, _ = found = plan.free_answers()
        assert [answer is None for answer in found] == [False, True, False, True]
        assert errors[2]["n"] == n.column("n")["standard_error"][0]
        squares = [error**2 for error in ages.column("ages")["standard_error"][0]]
        assert errors[0]["ages"] == (sum(squares) / 2) ** 0.5
        assert ages.cost.is_nothing
        assert ages.certificate.verify(session.ledger)
        assert (len(session.history()), session.spent) == (before, spent)
        assert plan.free_answers(tag="another") == [None] * 4


def test_a_preview_of_a_plan_says_which_answers_are_free():
    with tc.Session(PEOPLE, tc.one_row_each, tc.rho(3), tc.in_memory, name="p") as session:
        by = session.group_by("sex", keys=["f", "m"])
        asked = [session.agg(n=tc.count()), by.agg(n=tc.count()), by.agg(age=tc.mean("age", 0, 9))]
        plan = session.plan(asked)
        assert plan.preview(rho=1).free == {}
        by.agg(n=tc.count()).release(rho=1)
        errors = plan.free_errors()
        assert [error is None for error in errors] == [True, False, True]
        found = plan.preview(rho=1)
        assert found.free == {"n_2": errors[1]["n"]}
        assert str(found).count("n_2: follows from earlier releases at no cost") == 1


def calls(many, what):
    """How many calls it takes to plan so many questions, or to answer them from their plan."""
    with tc.Session(PEOPLE, tc.one_row_each, tc.epsilon(3), tc.in_memory, name="p") as session:
        keys = [[(7 * i + j) % 60 for j in range(3)] for i in range(many)]
        asked = [session.group_by("age", keys=each).agg(n=tc.count()) for each in keys]
        plan, profile = session.plan(asked), cProfile.Profile()
        if what == "free":
            plan.release(epsilon=1)
        profile.runcall(plan.free_answers if what == "free" else partial(session.plan, asked))
        return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.full
@pytest.mark.parametrize("what", ["plan", "free"])
def test_twice_as_many_questions_are_twice_as_many_calls(what):
    calls(5, what)  # what is loaded and kept
    assert calls(120, what) < 2.2 * calls(60, what)


# Plans whose counts are not below zero: they add up, hold, and are derived again.


FEW = pa.table({"sex": ["f", "m", "f"], "site": [1, 2, 1], "age": [31, 45, 67]})
SITES = [*range(20)]
EDGES = range(0, 100, 4)


def plan_of(session, *, nonnegative=True):
    both = {"sex": ["f", "m"], "site": SITES}
    questions = [
        session.agg(n=tc.count()),
        session.group_by("site", keys=SITES).agg(by_site=tc.count()),
        session.group_by("sex", "site", keys=both).agg(cells=tc.count()),
        session.group_by("site", keys=SITES).agg(ages=tc.histogram("age", [0, 30, 60, 90])),
        session.agg(up_to=tc.prefix_sums("age", EDGES), within=tc.ranges("age", EDGES)),
        session.agg(age=tc.mean("age", 0, 100)),
    ]
    return session.plan(questions, nonnegative=nonnegative)


@pytest.mark.full
@pytest.mark.parametrize("unit", [tc.one_row_each, tc.unit("site", rows=2)], ids=str)
@pytest.mark.parametrize("price", [{"rho": "1/2"}, {"epsilon": 1}], ids=str)
def test_no_count_is_below_zero_and_they_add_up(price, unit):
    budget = tc.rho(1) if "rho" in price else tc.epsilon(2)
    with tc.Session(FEW, unit, budget, tc.in_memory, name="few") as session:
        whole, sites, both, ages, ordered, _ = answers = plan_of(session).release(**price)
        cells = both.column("cells")["value"]
        names = [("by_site", sites), ("cells", both), ("ages", ages), ("up_to", ordered)]
        every = [whole.column("n")["value"][0]]
        for label, answer in [*names, ("within", ordered)]:
            for value in answer.column(label)["value"]:
                every += value if isinstance(value, list) else [value]
        assert min(every) == 0.0
        assert sum(cells[:20]) + sum(cells[20:]) <= whole.column("n")["value"][0] + 1e-6
        for place, site in enumerate(sites.column("by_site")["value"]):
            assert sum(ages.column("ages")["value"][place]) <= site + 1e-6
        (sums,) = ordered.column("up_to")["value"]
        assert sums == sorted(sums)
        (within,) = ordered.column("within")["value"]
        assert within[: len(sums)] == pytest.approx(sums)
        for label, answer in names:
            told = answer.column(label)
            for low, value, high in zip(told["low"], told["value"], told["high"], strict=True):
                each = (
                    zip(low, value, high, strict=True)
                    if isinstance(low, list)
                    else [(low, value, high)]
                )
                assert all(0 <= a <= b <= c for a, b, c in each)
        certificate = answers[0].certificate
        assert certificate.verify()
        assert "none below zero" in certificate.to_html()
        again = plan_of(session).release(**price)
        assert again[0].replayed
        assert again[2].column("cells") == both.column("cells")


@pytest.mark.full
def test_a_certificate_that_leaves_it_out_does_not_hold():
    with tc.Session(FEW, tc.one_row_each, tc.rho(1), tc.in_memory, name="few") as session:
        body = plan_of(session).release(rho="1/2")[0].certificate.body
    forged = json.loads(json.dumps(copy.deepcopy(body)))
    for _, asked in forged["question"]["query"]["aggregates"]:
        asked.pop("nonnegative", None)
    assert not tc.Certificate(forged).verify()


@pytest.mark.full
def test_errors_and_intervals_are_those_of_least_squares():
    with tc.Session(FEW, tc.one_row_each, tc.rho(1), tc.in_memory, name="few") as session:
        one, two = plan_of(session), plan_of(session, nonnegative=False)
        assert one.preview(rho=1).errors == two.preview(rho=1).errors
        assert one.cost(rho=1) == two.cost(rho=1)


@pytest.mark.full
def test_it_is_a_choice_of_yes_or_no():
    session = tc.Session(FEW, tc.one_row_each, tc.rho(1), tc.in_memory, name="few")
    with session, pytest.raises(UsageError, match="nonnegative"):
        session.plan([session.agg(n=tc.count())], nonnegative="no")


@pytest.mark.full
def test_more_cells_than_can_be_fitted_are_refused_before_the_charge():
    with tc.Session(FEW, tc.one_row_each, tc.rho(1), tc.in_memory, name="few") as session:
        sites, ages = list(range(440)), range(1000)
        asked = session.group_by("site", keys=sites).agg(ages=tc.histogram("age", ages))
        with pytest.raises(UsageError, match="262,144 cells"):
            session.plan([asked], nonnegative=True).release(rho="1/2")
        assert session.remaining == tc.rho(1)


# Rows with values that are not listed: counted, or left out of the whole plan.


UNLISTED_ROWS = [
    {"sex": "fmx"[i % 7 % 3], "site": i * i % 5, "age": (i * 37) % 97 if i % 11 else None}
    for i in range(400)
]
UNLISTED_EDGES = [0, 20, 50, 90]
PRICES = [(tc.rho(10**6), {"rho": 10**5}), (tc.epsilon(10**5), {"epsilon": 10**4})]


def asked(session):
    keys = {"sex": ["m", "f"], "site": [0, 1]}
    return [
        session.agg(n=tc.count()),
        session.group_by("sex", "site", keys=keys).agg(n=tc.count()),
        session.group_by("site", keys=[4]).agg(ages=tc.histogram("age", UNLISTED_EDGES)),
        session.filter(tc.col("age") >= 30).agg(old=tc.count()),
        session.agg(up_to=tc.prefix_sums("age", UNLISTED_EDGES)),
    ]


def opened(budget):
    return tc.Session(
        pa.Table.from_pylist(UNLISTED_ROWS), tc.one_row_each, budget, tc.in_memory, name="t"
    )


def complete(row):
    return (
        row["sex"] in "mf"
        and row["site"] in (0, 1, 4)
        and row["age"] is not None
        and row["age"] <= 90
    )


@pytest.mark.few(2)
@pytest.mark.parametrize(("budget", "price"), PRICES, ids=["gaussian", "laplace"])
def test_dropped_rows_count_nowhere(budget, price):
    kept = [row for row in UNLISTED_ROWS if complete(row)]
    assert 0 < len(kept) < len(UNLISTED_ROWS)
    with opened(budget) as session:
        plan = session.plan(asked(session), unlisted="drop")
        total, both, ages, old, up_to = plan.release(**price)
        found = total.certificate.verify(session.ledger)
        assert found, str(found)
        assert both.certificate.body["question"]["query"]["where"]
    assert total.value("n") == pytest.approx(len(kept), abs=1)
    for sex, site in itertools.product("mf", (0, 1)):
        truth = sum(row["sex"] == sex and row["site"] == site for row in kept)
        assert both.value("n", sex, site) == pytest.approx(truth, abs=1)
    bins = [
        sum(row["site"] == 4 and low <= row["age"] < high for row in kept)
        for low, high in ((0, 20), (20, 50), (50, 91))
    ]
    assert ages.value("ages", 4) == pytest.approx(bins, abs=1)
    assert old.value("old") == pytest.approx(sum(row["age"] >= 30 for row in kept), abs=1)
    sums = [sum(row["age"] < end for row in kept) for end in (20, 50, 91)]
    assert up_to.column("up_to")["value"][0] == pytest.approx(sums, abs=1)


def test_it_is_another_question_with_less_error():
    with opened(tc.rho(2)) as session:
        keys = {"sex": ["f", "m"], "site": [0, 1, 2]}
        question = session.group_by("sex", "site", keys=keys).agg(n=tc.count())
        plain, drop = (
            session.plan([question, session.agg(m=tc.count())], unlisted=u)
            for u in ("count", "drop")
        )
        errors = [plan.preview(rho=1).errors["n"][0] for plan in (plain, drop)]
        assert errors[1] < errors[0]
        plain.release(rho=1)
        assert drop.cost(rho=1).amount > 0
        with pytest.raises(UsageError, match="unlisted is"):
            session.plan([question], unlisted="keep")


def test_without_columns_nothing_is_dropped():
    with opened(tc.rho(10**6)) as session:
        (answer,) = session.plan([session.agg(n=tc.count())], unlisted="drop").release(rho=10**5)
        assert answer.value("n") == pytest.approx(len(UNLISTED_ROWS), abs=1)


def dual_bound(sizes, marginals, rounds=60):
    """A lower bound on the total squared error of every strategy, one cell of each axis unlisted.

    It is ``(trace (R G R)^(1/2))^2 / sum v`` of the convex program (Denisov et al. 2022) at the
    numbers v that its fixed point goes to; by symmetry v is one number for each set of axes with an
    unlisted value, and G falls into blocks, one for each set of axes without their mean.
    """
    axes = range(len(sizes))
    listed, every = np.diag([1.0, 0.0]), [np.array([[n, n**0.5], [n**0.5, 1]]) for n in sizes]
    cells = np.ones(())
    for n in sizes:
        cells = np.multiply.outer(cells, [n, 1.0])
    blocks = []
    for part in {
        b for a in marginals for w in range(len(a) + 1) for b in itertools.combinations(a, w)
    }:
        rest = [i for i in axes if i not in part]
        gram = np.zeros((2 ** len(rest),) * 2)
        for one in marginals:
            if set(part) <= set(one):
                product = np.ones((1, 1))
                for i in rest:
                    product = np.kron(product, listed if i in one else every[i])
                gram += product
        where = tuple(0 if i in part else slice(None) for i in axes)
        blocks.append((where, math.prod(sizes[i] - 1 for i in part), gram))
    v, best = np.ones(cells.shape), 0.0
    for _ in range(rounds):
        told, trace = np.zeros(cells.shape), 0.0
        for where, often, gram in blocks:
            root = np.sqrt(v[where].ravel())
            values, vectors = np.linalg.eigh(root[:, None] * gram * root)
            roots = np.sqrt(np.maximum(values, values[-1] * 1e-15))
            trace += often * roots.sum()
            told[where] += often * ((vectors**2) @ roots).reshape(told[where].shape)
        best = max(best, trace**2 / float((v * cells).sum()))
        v = told / cells
    return best


@pytest.mark.full
@pytest.mark.parametrize(("sizes", "near"), [((7, 16, 7, 14, 6, 5, 2, 2), 1.01), ((3, 4, 5), 1.03)])
def test_a_plan_of_marginals_is_near_the_least_error_there_is(sizes, near):
    names = [f"c{i}" for i in range(len(sizes))]
    table = pa.table({name: [0] for name in names})
    keys = {name: list(range(n)) for name, n in zip(names, sizes, strict=True)}
    pairs = [pair for ways in (1, 2) for pair in itertools.combinations(names, ways)]
    cells = [math.prod(len(keys[name]) for name in pair) for pair in pairs]
    domain = tc.workload.marginals(dict(zip(names, sizes, strict=True)), ways=(1, 2))
    found = {}
    with tc.Session(table, tc.one_row_each, tc.rho(1), tc.in_memory, name="t") as session:
        each = [session.group_by(*p, keys={n: keys[n] for n in p}).agg(n=tc.count()) for p in pairs]
        for unlisted in ("count", "drop"):
            errors = session.plan(each, unlisted=unlisted).preview(rho="1/2").errors.values()
            found[unlisted] = sum(n * e[0] ** 2 for n, e in zip(cells, errors, strict=True))
    assert found["drop"] == pytest.approx(domain.lower_bound(rho="1/2") ** 2 * sum(cells), rel=1e-4)
    marginals = [tuple(names.index(name) for name in pair) for pair in pairs]
    bound = dual_bound(sizes, marginals)
    assert bound * (1 - 1e-6) <= found["count"] <= bound * near**2


@pytest.mark.full
def test_pairs_of_a_hundred_columns_are_planned():
    names = [f"c{i}" for i in range(100)]
    table = pa.table({name: [0] for name in names})
    with tc.Session(table, tc.one_row_each, tc.rho(1), tc.in_memory, name="wide") as session:
        each = [
            session.group_by(*pair, keys={name: [0, 1, 2] for name in pair}).agg(n=tc.count())
            for pair in itertools.combinations(names, 2)
        ]
        told = session.plan(each).strategy
    assert len(told) == 1 + 100 + 4950
    assert sum(one["share"] for one in told) == 1


# A plan answers each question as asking it alone does, whatever axes the questions share.
#
# Questions of one column with as many bins, of one column by other keys, and columns whose names
# read like those of axes: none of them may be taken for another.


NAMES = ("x", "x in 2 bins", "y", "site", "site and y", "filter 1")
AXES_EDGES = ([0, 2, 10], [5, 8, 10], [0, 5, 10], [0, 1, 2, 10], [-3, 0, 10], [2, 10])
BUDGETS = [tc.epsilon(10**12), tc.rho(10**18)]
DETERMINED = {"mean": lambda n: n > 0, "median": lambda n: n % 2 == 1}
"""In which groups, by their number of values, there is one right answer; in all for the others."""


def price_of(budget: Any) -> dict[str, Any]:
    return {"rho": 10**15} if budget.kind == "concentrated" else {"epsilon": 10**9}


class Asked(NamedTuple):
    """A drawn question, and of each group the number of its values."""

    question: Any
    kind: str
    values: list[int]


def drawn(source: random.Random, session: tc.Session, rows: list[dict[str, Any]]) -> Asked:
    question: Any = session
    if source.random() < 0.3:
        name, least = source.choice(NAMES), source.choice([0, 3])
        question = question.filter(tc.col(name) >= least)
        rows = [row for row in rows if row[name] is not None and row[name] >= least]
    by, keys = [], [()]
    if source.random() < 0.6:
        by = source.sample(NAMES, source.choice([1, 1, 2]))
        keys = [tuple(source.choice(range(-1, 4)) for _ in by) for _ in range(3)]
        keys = sorted(set(keys))
        question = question.group_by(*by, keys=keys)
    column, edges = source.choice(NAMES[:3]), source.choice(AXES_EDGES)
    kind, aggregate = source.choice(
        [
            ("count", tc.count()),
            ("histogram", tc.histogram(column, edges)),
            ("ranges", tc.ranges(column, edges)),
            ("prefix_sums", tc.prefix_sums(column, edges)),
            ("sum", tc.sum(column, 0, source.choice([5, 9]))),
            ("mean", tc.mean(column, 0, source.choice([5, 9]))),
            ("median", tc.median(column, 0, 9)),
        ]
    )
    values = [
        sum(tuple(row[n] for n in by) == key and row[column] is not None for row in rows)
        for key in keys
    ]
    return Asked(question.agg(a=aggregate), kind, values)


def alone(session: tc.Session, question: Any, price: dict[str, Any]) -> Any:
    """Ask a question by itself; ranges and the like by groups are answered in a plan only."""
    try:
        return question.release(**price)
    except UsageError:
        return session.plan([question]).release(**price, tag="alone")[0]


@pytest.mark.full
@pytest.mark.parametrize("budget", BUDGETS, ids=["laplace", "gaussian"])
def test_a_plan_answers_each_question_as_asking_it_alone_does(budget: Any) -> None:
    for seed in range(max(4, settings.default.max_examples // 5)):
        source = random.Random(seed)
        rows = [{n: source.choice([*range(-2, 12), None]) for n in NAMES} for _ in range(80)]
        table = pa.table({n: pa.array([row[n] for row in rows], pa.int64()) for n in NAMES})
        with tc.Session(table, tc.one_row_each, budget) as session:
            several = [drawn(source, session, rows) for _ in range(source.choice([2, 3, 4]))]
            answers = session.plan([one.question for one in several]).release(**price_of(budget))
            verified = answers[0].certificate.verify(session.ledger)
            assert verified, (seed, verified.failures)
            for one, answer in zip(several, answers, strict=True):
                wanted = alone(session, one.question, price_of(budget))
                each = zip(*(a.column("a")["value"] for a in (answer, wanted)), strict=True)
                for number, (found, right) in enumerate(each):
                    if DETERMINED.get(one.kind, lambda _: True)(one.values[number]):
                        assert np.allclose(found, right, atol=0.01), (seed, one.question)


PLAN_UNITS = [tc.one_row_each, tc.unit("person", rows=9), tc.unit("person", rows=2, groups=2)]
PLAN_TYPES = dict.fromkeys(("person", *NAMES), "bigint")


@pytest.mark.parametrize(("engine", "plans"), [("postgresql", 6), ("spark", 3)])
def test_a_plan_on_another_engine_answers_as_duckdb_does(
    engine: str, plans: int, request: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As each question alone there, or as the plan where a person has more rows than count."""
    monkeypatch.setattr("tacit.tables.privacy_unit.new_salt", lambda: "5a17")
    loads = [ENGINES[name](request) for name in (engine, "duckdb")]
    for seed in range(plans):
        unit, source = PLAN_UNITS[seed % 3], random.Random(f"{engine} {seed}")
        names = ["person", *NAMES]
        rows = [{n: source.choice([*range(-2, 12), None]) for n in names} for _ in range(60)]
        for number, row in enumerate(rows):  # nine rows or fewer of each person
            row["person"] = number % 8 or None
        first, several, price = source.random(), [], {"epsilon": 10**9}
        with loads[0](rows, PLAN_TYPES) as there, loads[1](rows, PLAN_TYPES) as here:
            sessions = [
                tc.Session(opened, unit, BUDGETS[0], tc.in_memory, name="t")
                for opened in (there, here)
            ]
            for session in sessions:
                again = random.Random(first)
                several.append([drawn(again, session, rows) for _ in range(2)])
            answers = [
                session.plan([one.question for one in asked]).release(**price)
                for session, asked in zip(sessions, several, strict=True)
            ]
            for one, answer, like in zip(several[1], *answers, strict=True):
                wanted = like if unit is PLAN_UNITS[2] else alone(sessions[1], one.question, price)
                each = zip(*(a.column("a")["value"] for a in (answer, wanted)), strict=True)
                for number, (found, right) in enumerate(each):
                    if DETERMINED.get(one.kind, lambda _: True)(one.values[number]):
                        assert np.allclose(found, right, atol=0.01), (seed, one.question)


X = [0] * 10 + [3] * 27 + [5] * 37 + [6] * 13 + [9] * 2


@pytest.fixture(params=BUDGETS, ids=["laplace", "gaussian"])
def axes_session(request):
    table = pa.table({"x": X, "x in 2 bins": [v % 2 for v in X], "site": [v % 4 for v in X]})
    with tc.Session(table, tc.one_row_each, request.param, name="t") as opened:
        yield opened


def axes_plan_of(session, *questions, **options):
    return session.plan(questions).release(**price_of(session.budget), **options)


def test_two_histograms_of_one_column_with_as_many_bins_are_two(axes_session):
    fine = [axes_session.agg(a=tc.histogram("x", edges)) for edges in ([0, 2, 10], [5, 8, 10])]
    one, other = axes_plan_of(axes_session, *fine)
    assert np.allclose(one.column("a")["value"][0], [10, 79], atol=0.01)
    assert np.allclose(other.column("a")["value"][0], [50, 2], atol=0.01)
    steps = [chain["steps"][-2] for chain in one.certificate.body["chains"]]
    stated = {tuple(axis["edges"]) for step in steps for axis in step.get("axes", [])}
    assert stated == {("0", "2", "10"), ("5", "8", "10")}
    assert "with the edges 5, 8, 10" in one.certificate.to_html()
    for edges, right in (([0, 2, 10], [10, 79]), ([5, 8, 10], [50, 2])):
        free = axes_session.agg(a=tc.histogram("x", edges)).free_answer()
        assert np.allclose(free.column("a")["value"][0], right, atol=0.01)


def test_one_statistic_by_other_keys_of_a_column_is_another(axes_session):
    asked = [
        axes_session.group_by("x", keys=keys).agg(a=tc.mean("x", 0, 9)) for keys in ([0, 3], [5, 6])
    ]
    values = [answer.column("a")["value"] for answer in axes_plan_of(axes_session, *asked)]
    assert np.allclose(values, [[0, 3], [5, 6]], atol=0.01)


def test_a_column_that_is_called_like_an_axis_is_another(axes_session):
    by = axes_session.group_by("x in 2 bins", keys=[0, 1]).agg(a=tc.count())
    bins = axes_session.agg(a=tc.histogram("x", [0, 2, 10]))
    one, other = axes_plan_of(axes_session, by, bins)
    assert np.allclose(one.column("a")["value"], [23, 66], atol=0.01)
    assert np.allclose(other.column("a")["value"][0], [10, 79], atol=0.01)


def changed(certificate, change):
    body = {**certificate.body, "chains": [change(chain) for chain in certificate.body["chains"]]}
    return tc.Certificate({**body, "digest": digest(body)})


def without_axes(chain):
    return {**chain, "steps": [{k: s[k] for k in s if k != "axes"} for s in chain["steps"]]}


def other_edges(chain):
    return {
        **chain,
        "steps": [
            {**s, "axes": [{**a, "edges": ["0", "7", "10"]} for a in s["axes"]]}
            if s.get("axes")
            else s
            for s in chain["steps"]
        ],
    }


def test_verify_derives_the_edges_and_refuses_what_confused_two_axes(axes_session):
    both = [axes_session.agg(a=tc.histogram("x", edges)) for edges in ([0, 2, 10], [5, 8, 10])]
    one, two = (
        axes_plan_of(axes_session, both[0])[0].certificate,
        axes_plan_of(axes_session, *both)[0].certificate,
    )
    for certificate in (one, two):
        assert certificate.verify()
        (*_, failure) = changed(certificate, other_edges).verify().failures
        assert "edges" in failure
    assert changed(one, without_axes).verify()  # as earlier versions wrote it
    failures = changed(two, without_axes).verify().failures
    assert any("two of its axes have one name" in failure for failure in failures)


# What is no list where a list is asked for is refused in a sentence, and nothing is spent.


_NO_LISTS: list[Any] = [None, 3, 0.5, Fraction(1, 3), np.float64(2), np.array(1.0), ..., int]


@pytest.fixture
def odd_arguments_session() -> tc.Session:
    return tc.Session(pa.table({"age": [31, 45]}), tc.one_row_each, tc.rho(1))


@pytest.mark.parametrize("given", _NO_LISTS, ids=repr)
def test_what_is_no_list_is_refused_in_a_sentence(
    odd_arguments_session: tc.Session, given: Any
) -> None:
    question = odd_arguments_session.agg(n=tc.count())
    plan = odd_arguments_session.plan([question])
    for ask, told in (
        (lambda: plan.preview(rho=1, rows=given), "rows is a list"),
        (lambda: question.preview(rho=1, rows=given), "rows is a list"),
        (lambda: plan.free_answers(given), "a list of certificates"),
        (lambda: plan.free_errors(given), "a list of certificates"),
        (lambda: question.free_answer(given), "a list of certificates"),
        (lambda: tc.synthetic_table(given), "a list of answers"),
    ):
        with pytest.raises(tc.errors.UsageError, match=told):
            ask()
    assert odd_arguments_session.spent.amount == 0


@pytest.mark.parametrize("size", [None, "3", b"1", [1], 1j, float("nan"), float("inf"), 0, -1])
def test_what_is_no_size_is_refused_in_a_sentence(
    odd_arguments_session: tc.Session, size: Any
) -> None:
    with pytest.raises(tc.errors.UsageError, match="rows"):
        odd_arguments_session.plan([odd_arguments_session.agg(n=tc.count())]).preview(
            rho=1, rows=[size]
        )


@pytest.mark.parametrize("weights", [True, 3, 0.5, [["n"]], ["n"], np.array([1, 2]), object()])
def test_weights_that_name_no_label_are_refused(
    odd_arguments_session: tc.Session, weights: Any
) -> None:
    with pytest.raises(tc.errors.UsageError, match="weights name labels"):
        odd_arguments_session.plan([odd_arguments_session.agg(n=tc.count())], weights)


@pytest.mark.parametrize(
    "rows", [None, "3", [1], 1j, float("nan"), 0, -1, True, np.array(3), 0.5, 10**400], ids=repr
)
def test_what_is_no_size_of_the_table_is_refused_in_a_sentence(
    odd_arguments_session: tc.Session, rows: Any
) -> None:
    plan = odd_arguments_session.plan(
        [odd_arguments_session.agg(n=tc.count(), age=tc.mean("age", 0, 100))]
    )
    for ask in (
        lambda: plan.to_html(rho=1, rows=rows),
        lambda: plan.plot(rho=1, rows=rows),
        lambda: plan.cheapest({"n": 5, "age": 2}, rows=rows),
    ):
        with pytest.raises(tc.errors.UsageError, match="rows is the size of the table"):
            ask()


def test_arrays_and_huge_numbers_are_refused_in_a_sentence(
    odd_arguments_session: tc.Session,
) -> None:
    questions = [odd_arguments_session.agg(n=tc.count())]
    odd: Any = np.array([1, 2])
    none: Any = np.array(3)
    for ask, told in (
        (lambda: odd_arguments_session.plan(none), "a plan takes a list of questions"),
        (lambda: odd_arguments_session.plan(questions, least=odd), "least is"),
        (lambda: odd_arguments_session.plan(questions, unlisted=odd), "unlisted is"),
        (lambda: odd_arguments_session.plan(questions, nonnegative=odd), "nonnegative is"),
        (lambda: odd_arguments_session.plan(questions, {"n": 10**400}), "a weight is at most"),
        (
            lambda: odd_arguments_session.plan(questions).preview(rho=1, rows=[10**400]),
            "at most 10",
        ),
        (
            lambda: odd_arguments_session.plan(questions).preview(rho=1, rows=[True]),
            "rows is a list of sizes",
        ),
    ):
        with pytest.raises(tc.errors.UsageError, match=told):
            ask()


@pytest.mark.parametrize("tag", [2026, 1.5, float("nan"), True, ["a"], ("a",), {}, {"a": 1}, b"a"])
def test_a_tag_that_is_no_text_is_refused_before_it_is_paid(
    odd_arguments_session: tc.Session, tag: Any
) -> None:
    question = odd_arguments_session.agg(n=tc.count())
    plan = odd_arguments_session.plan([question])
    days: Any = {"column": "age", "start": 0, "every": 10, "periods": 9}
    for ask in (
        lambda: question.release(rho="1/10", tag=tag),
        lambda: plan.release(rho="1/10", tag=tag),
        lambda: plan.cost(rho="1/10", tag=tag),
        lambda: question.free_answer(tag=tag),
        lambda: plan.free_answers(tag=tag),
        lambda: odd_arguments_session.filter(tc.col("age") > 3).count_over_time(
            **days, rho="1/10", tag=tag
        ),
    ):
        with pytest.raises(tc.errors.UsageError, match="a tag is text"):
            ask()
    assert odd_arguments_session.spent.amount == 0
