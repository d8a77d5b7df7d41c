"""A release builds each of its chains once: for the price, the noise and the certificate."""

from __future__ import annotations

import datetime
import json
import math
import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow
import pytest

import tacit as tc
from tables.statistics.released import enough
from tacit.accounting.budget import Budget
from tacit.cli import run
from tacit.errors import UsageError
from tacit.expressions import operations
from tacit.expressions.schema import Column, Schema
from tacit.expressions.value_range import range_of
from tacit.tables.plan import query as declared
from tacit.tables.plan.methods import as_stated, has_choice
from tacit.tables.plan.plan import Plan, by_weight, even_share
from tacit.tables.plan.query import NOTHING_DECLARED, Declared, Query
from tacit.tables.question import charge_of
from tacit.tables.release.release import PlanRunner
from tacit.tables.statistics.counts import RowsPart

PEOPLE = pyarrow.table({"site": ["a", "b", "b"], "age": [31, 45, 52]})


@pytest.fixture
def built(monkeypatch):
    ends = []
    chains = Plan._full_chains

    def counted(plan, given, people):
        ends.extend(given)
        return chains(plan, given, people)

    monkeypatch.setattr(Plan, "_full_chains", counted)
    return ends


def test_with_public_keys(built):
    session = tc.Session(PEOPLE, unit=tc.one_row_each, budget=tc.epsilon(1))
    asked = session.group_by("site", keys=["a", "b"]).agg(
        n=tc.count(), age=tc.median("age", 0, 999), low=tc.min("age", 0, 999)
    )
    asked.release(epsilon=1)
    assert len(built) == len(set(built)) > 2


def test_with_keys_that_are_found(built):
    session = tc.Session(PEOPLE, unit=tc.one_row_each, budget=tc.epsilon_delta(50, "1e-3"))
    answer = session.group_by("site").agg(age=tc.sum("age", 0, 99)).release(50, "1e-3")
    # the chain of the keys once, the sum's for the price, and again for the groups that came out
    assert len(built) == 2 + (len(answer.keys) != 1)


# Weights split what a release may spend, exactly, and never pass the total.


ASKED = {
    "n": tc.count(),
    "people": tc.count_people(),
    "age": tc.mean("age", 0, 100),
    "sum": tc.sum("age", 0, 100),
    "mid": tc.median("age", 0, 100),
    "pay": tc.mean("pay", 0, 10),
}
RUNS = 400


@pytest.fixture
def table():
    draw = random.Random(3)
    rows = [(i // 2, "ab"[i % 2], draw.randrange(80), draw.randrange(10)) for i in range(600)]
    return pd.DataFrame(rows, columns=["person", "site", "age", "pay"])


def planned(session, weights, request, asked=ASKED, **more):
    query = Query(
        session.source.schema,
        more.pop("unit", tc.one_row_each),
        aggregates=tuple(asked.items()),
        weights=tuple(weights.items()),
        **more,
    )
    return Plan(query, request)


def losses(plan):
    """What each part loses, by its own chains."""
    return [sum(m.map(1) for m in chain) for chain in plan.measurements(plan.size)]


@pytest.fixture
def session(table):
    with tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(99), name="t") as opened:
        yield opened


@pytest.mark.parametrize("seed", range(4))
def test_the_parts_lose_their_shares_and_never_more_than_the_total(session, seed):
    draw = random.Random(seed)
    weights = {label: draw.choice([1, 2, 3, 7, 10**6]) for label in ASKED}
    unit = tc.unit("person", rows=3, groups=2)
    pure = planned(session, weights, tc.epsilon("1/3"), unit=unit)
    assert pure.cost.amount == Fraction(1, 3) == sum(losses(pure))
    heaviest = {  # the mean and the sum of one column are one part, which counts rows too
        "people": weights["people"],
        "age": max(weights["age"], weights["sum"], weights["n"]),
        "pay": max(weights["pay"], weights["n"]),
        "mid": weights["mid"],
    }
    expected = {Fraction(w, 3 * sum(heaviest.values())) for w in heaviest.values()}
    assert set(losses(pure)) == expected
    near = planned(session, weights, tc.rho("1/3"), unit=unit)
    assert Fraction(999_999, 3_000_000) < near.cost.amount <= Fraction(1, 3)
    for loss, share in zip(losses(near), losses(pure), strict=True):
        assert share * Fraction(999_999, 10**6) < loss <= share


def test_unknown_keys_keep_their_even_share_and_a_delta_is_not_weighted(session):
    asked = {"n": tc.count(), "mid": tc.median("age", 0, 100, method="smooth")}
    plans = [
        planned(session, weights, tc.epsilon_delta(1, "1e-6"), asked, by=("site",))
        for weights in ({}, {"n": 1, "mid": 9})
    ]
    even, uneven = plans
    assert even.keys == uneven.keys
    assert [noise.delta for noise in uneven.noises] == [noise.delta for noise in even.noises]
    assert [noise.loss for noise in even.noises] == [Fraction(1, 3)] * 2
    # of the median, and of the count
    assert [noise.loss for noise in uneven.noises] == [
        Fraction(9, 15),
        Fraction(1, 15),
    ]
    for plan in plans:
        assert plan.cost.amount <= 1
        assert plan.cost.delta <= Fraction(1, 10**6)


def test_even_weights_are_even_shares():
    noise = even_share(tc.epsilon(1), tc.one_row_each, [RowsPart()] * 3, unknown_keys=True)
    assert [each.loss for each in by_weight(noise, [5, 5, 5])] == [Fraction(1, 4)] * 3
    assert by_weight(noise, [1, 1, 1]) == (noise,) * 3


def test_weights_in_lowest_terms_are_the_identity(table, tmp_path):
    protects, ledger = tc.unit("person", rows=2), str(tmp_path / "t.ledger")
    options = {"unit": protects, "budget": tc.epsilon(9), "name": "t", "ledger": ledger}
    with tc.Session(table, **options) as session:
        question = session.group_by("site", keys=["a", "b"]).agg(
            n=tc.count(), people=tc.count_people()
        )
        plain = question.release(epsilon="1/2")
        even = {"epsilon": {"n": 2, "people": 2}, "total": 0.5}
        assert question.is_answered(**even)
        assert question.release(**even).replayed
        assert even["epsilon"] == {"n": 2, "people": 2}
        assert "weights" not in plain.certificate.body["question"]["query"]
        split = {"epsilon": {"people": "3/2", "n": "1/2"}, "total": "1/2"}
        assert not charge_of(question, **split).look().is_charged
        before = question.preview(epsilon="1/2").errors
        expected = question.preview(**split)
        assert expected.cost == tc.epsilon("1/2")
        assert expected.errors["people"] < before["people"]
        assert expected.errors["n"] > before["n"]
        answer = question.release(**split)
        assert not answer.replayed
        assert session.remaining == tc.epsilon(8)
        again = question.release(epsilon={"n": 2, "people": 6}, total=0.5)
        assert again.replayed
        assert again.to_dict() == answer.to_dict()
        other = question.release(epsilon={"n": 1, "people": 4}, total="1/2")
        assert not other.replayed
    error = answer.column("people")["standard_error"][0]
    assert error == expected.errors["people"][0]


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("budget", "price"),
    [
        (tc.epsilon(9), {"epsilon": {"n": 1, "age": 3, "pay": 2}, "total": 1}),
        (tc.rho(9), {"rho": {"n": 1, "age": 3, "pay": 2}, "total": "1/2"}),
        (tc.rho(9), {"epsilon": {"n": 1, "age": 3, "pay": 2}, "total": "1/2"}),
        (
            tc.epsilon_delta(9, "1e-5"),
            {"epsilon": {"n": 1, "age": 3, "pay": 2}, "delta": "1e-6", "total": 1},
        ),
    ],
    ids=["epsilon", "rho", "epsilon of rho", "unknown keys"],
)
def test_certificates_derive_the_split_again(table, budget, price):
    with tc.Session(table, unit=tc.unit("person", rows=2), budget=budget, name="t") as session:
        keys = None if "delta" in price else ["a", "b"]
        question = session.group_by("site", keys=keys).agg(
            n=tc.count(), age=tc.mean("age", 0, 100), pay=tc.sum("pay", 0, 10)
        )
        body = question.release(**price).certificate.body
    checked = tc.Certificate(body).verify()
    assert checked, str(checked)
    assert "split by the weights n 1, age 3 and pay 2" in tc.Certificate(body).to_html()
    for forged in ([["n", 1], ["age", 3], ["pay", 1]], [["n", 2], ["age", 6], ["pay", 4]], []):
        query = {**body["question"]["query"], "weights": forged}
        changed = {**body, "question": {**body["question"], "query": query}}
        assert not tc.Certificate(changed).verify()


def test_a_choice_of_method_is_made_for_its_own_share(table):
    with tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(99), name="t") as session:
        question = session.agg(n=tc.count_people(), age=tc.mean("age", 0, 100, method="auto"))
        answer = question.release(epsilon={"n": 1, "age": 3}, total=2)
    assert answer.column("age")["method"]["shares"] == ["3/2", "3/2"]
    assert answer.certificate.verify()


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_a_count_out_of_uneven_parts_is_covered(session, kind):
    """Rows are counted with both columns; the part with more of the loss counts for more."""
    request = tc.epsilon(2) if kind == "laplace" else tc.rho(1)
    asked = {"n": tc.count(), "age": tc.mean("age", 0, 100), "pay": tc.var("pay", 0, 10)}
    uneven = planned(session, {"n": 1, "age": 1, "pay": 12}, request, asked)
    draw = np.random.default_rng(5)
    exact = 600.0
    estimates = []
    for part, noise in zip(uneven.parts, uneven.noises, strict=True):
        law = part.distribution(noise)
        drawn = draw.laplace if kind == "laplace" else draw.normal
        noisy = drawn(0, law.scale, (RUNS, part.width))
        noisy[:, 0] += exact
        estimates.append(part.estimates([noisy.ravel()], noise))
    found = tc.count().estimate(uneven.parts, estimates, uneven.noises)
    error = uneven.expected_error(asked["n"], 600)
    assert found.standard_error[0] == pytest.approx(error)
    assert np.std(found.value - exact) == pytest.approx(error, rel=0.2)
    covered = (found.lower <= exact) & (exact <= found.upper)
    assert covered.sum() >= enough(RUNS)
    alone = zip(uneven.parts, uneven.noises, strict=True)
    assert error < min(part.expected_error("count", noise, 600) for part, noise in alone)


@pytest.mark.full
def test_on_the_command_line_and_in_a_plan(table, tmp_path, capsys):
    path, ledger = str(tmp_path / "t.csv"), str(tmp_path / "t.ledger")
    table.to_csv(path, index=False)
    flags = [path, "--person", "person", "--rows", "2", "--count-people", "--sum", "age:0:100"]
    flags += ["--budget-epsilon", "2", "--ledger", ledger]
    price = ["--epsilon", "people=1,sum_age=3", "--total", "0.5"]
    assert run(["preview", *flags, *price, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["previews"][0]["cost"]["exact"]["epsilon"] == "1/2"
    assert run(["release", *flags, *price, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["remaining"]["exact"]["epsilon"] == "3/2"
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f"""
        source = {{ path = "{path}" }}
        unit = {{ person = "person", rows = 2 }}
        budget = {{ ledger = "{ledger}" }}
        [[question]]
        epsilon = {{ people = 2, sum_age = 6 }}
        total = 0.5
        [question.answers]
        people = {{ statistic = "count_people" }}
        sum_age = {{ statistic = "sum", column = "age", lower = 0, upper = 100 }}
        """,
        encoding="utf-8",
    )
    assert run(["release", "--plan", str(plan), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)["releases"][0]
    assert again["replayed"]
    assert again["answers"] == first["releases"][0]["answers"]
    for wrong, told in (
        (["--epsilon", "people=1,sum_age=3"], "--total"),
        (["--epsilon", "1", "--total", "1"], "--total goes with weights"),
        (["--epsilon", "people=1,=3", "--total", "1"], "a weight is like"),
        (["--epsilon", "people=1,sum=3", "--total", "1"], "did you mean 'sum_age'"),
        (["--epsilon", "people=x,sum_age=3", "--total", "1"], "a weight of 'people'"),
    ):
        assert run(["release", *flags, *wrong]) == 2
        assert told in " ".join(capsys.readouterr().err.split())


# The least epsilon for a target: met there, not met below, and no data touched.


GROUPS, SIZE = 200, 100
TARGETS = {
    "n": (tc.count(), 3),
    "people": (tc.count_people(), "2.5"),
    "total": (tc.sum("x", -5, 20), 100),
    "mean": (tc.mean("x", 0, 100), 1),
    "var": (tc.var("x", 0, 100), 60),
    "std": (tc.std("x", 0, 100), "1/2"),
    "bins": (tc.histogram("x", [0, 50, 100]), 7),
    "middle": (tc.median("x", 0, 100), 25),
    "most": (tc.max("x", 0, 100), 40),
    "spread": (tc.interquartile_range("x", 0, 100), 60),
    "kinds": (tc.count_distinct("x"), 9),
}


@pytest.fixture(scope="module")
def target_table():
    place = np.arange(GROUPS * SIZE)
    return pd.DataFrame(
        {"g": place // SIZE, "x": (place % SIZE) + 0.5, "y": place % 7, "p": place // 2}
    )


@pytest.fixture
def target_session(target_table, monkeypatch):
    def refuse(*args):
        raise AssertionError("no row is read for a target")

    monkeypatch.setattr(PlanRunner, "collect", refuse)
    with tc.Session(target_table, unit=tc.one_row_each, budget=tc.epsilon(99), name="t") as opened:
        yield opened


@pytest.mark.parametrize("label", TARGETS)
def test_the_preview_meets_the_target_and_a_hundredth_less_does_not(target_session, label):
    asked, target = TARGETS[label]
    question = target_session.agg(**{label: asked})
    for confidence, rows in (("0.95", 1000), (0.8, 5000)):
        least = question.epsilon_for({label: target}, confidence, rows=rows)
        assert isinstance(least, Fraction)
        digits = least / Fraction(10) ** math.floor(math.log10(least)) * 1000
        assert digits.denominator == 1  # four digits
        seen = [
            question.preview(epsilon, rows=[rows], confidence=confidence)
            for epsilon in (least, least * Fraction(99, 100))
        ]
        met, missed = (each.intervals[label][0] for each in seen)
        assert met <= Fraction(target) < missed
        assert f"{label}: within" in str(seen[0])
        assert target_session.remaining == target_session.budget


def test_several_targets_are_met_together_and_weights_change_the_total(target_session):
    question = target_session.agg(n=tc.count_people(), x=tc.mean("x", 0, 100))
    alone = [question.epsilon_for({"n": 5}), question.epsilon_for({"x": 1})]
    assert question.epsilon_for({"n": 5, "x": 1}) == max(alone)
    weights = {"n": 1, "x": 9}
    split = question.epsilon_for({"n": 5, "x": 1}, weights=weights)
    found = question.preview(weights, total=split, rows=[1000], confidence="0.95").intervals
    assert found["n"][0] <= 5
    assert found["x"][0] <= 1
    even = question.epsilon_for({"n": 5}, weights={"n": 2, "x": 2})
    assert even == alone[0]


def test_a_count_is_as_near_as_the_quantile_of_its_noise(target_session):
    question = target_session.agg(n=tc.count())
    least = float(question.epsilon_for({"n": 3}, "0.95"))

    def beyond(epsilon):  # of discrete Laplace noise: P(|X| > 3)
        r = math.exp(-epsilon)
        return 2 * r**4 / (1 + r)

    assert beyond(least) <= 0.05 < beyond(least * 0.999)


@pytest.mark.parametrize("kind", ["pure", "concentrated"])
def test_intervals_never_grow_with_what_may_be_spent(target_session, kind):
    asked = {label: each for label, (each, _) in TARGETS.items()} | {"y": tc.mean("y", 0, 6)}
    query = target_session.agg(**asked)._query
    losses = [Fraction(n, 16) for n in (1, 3, 4, 40, 4000)]
    plans = [Plan(query, Budget(kind, loss)) for loss in losses]
    for each in asked.values():
        halves = [plan.half_width(each, 800, 0.9) for plan in plans]
        assert halves == sorted(halves, reverse=True)
        assert halves[-1] < halves[0]


@pytest.mark.parametrize(
    ("asked", "target"), [(tc.mean("x", 0, 100), 8), (tc.count(), 12)], ids=["mean", "count"]
)
def test_releases_are_within_the_target_as_often_as_was_said(target_table, asked, target):
    """Each group holds the 100 values 0.5, 1.5, ..., 99.5, spread evenly over the bounds."""
    with tc.Session(target_table, unit=tc.one_row_each, budget=tc.epsilon(99), name="t") as session:
        question = session.group_by("g", keys=list(range(GROUPS))).agg(it=asked)
        least = question.epsilon_for({"it": target}, "0.9", rows=SIZE)
        values = question.release(least).to_dict()["it"]
    truth = 50 if asked.kind == "mean" else SIZE
    near = sum(abs(value - truth) <= target for value in values)
    assert enough(GROUPS, 0.9) <= near


def test_targets_that_are_none(target_session):
    question = target_session.agg(
        n=tc.count(), x=tc.mean("x", 0, 100), s=tc.median("x", 0, 9, method="smooth")
    )
    for targets, more, message in (
        ({}, {}, "name a target"),
        ({"nn": 1}, {}, "no answer 'nn'.*did you mean 'n'"),
        ({"n": 0}, {}, "target of 'n' must be above zero"),
        ({"n": "-1"}, {}, "target of 'n' must be above zero"),
        ({"n": 1}, {"confidence": 1}, "confidence must be above 0 and below 1"),
        ({"n": 1}, {"confidence": 0}, "confidence must be above 0 and below 1"),
        ({"x": 1}, {"rows": 0}, "size of a group"),
        ({"x": 1}, {"rows": True}, "size of a group"),
        ({"x": "1e-12"}, {}, "no epsilon brings 'x' within 1e-12 in 95 of 100 releases"),
        ({"s": 1}, {}, "depends on the data"),
        ({"n": 1}, {"weights": {"n": 1}}, "'x', 's' has none"),
    ):
        with pytest.raises(UsageError, match=message):
            question.epsilon_for(targets, **more)
    with pytest.raises(UsageError, match="confidence must be above"):
        question.preview(epsilon=1, confidence=2)


@pytest.mark.full
def test_on_the_command_line(target_table, tmp_path, capsys):
    path = str(tmp_path / "t.csv")
    target_table.head(50).to_csv(path, index=False)
    flags = ["preview", path, "--one-row-each", "--mean", "x:0:100", "--count"]
    target = ["--target", "mean_x=1,count=20", "--confidence", "0.95"]
    assert run([*flags, *target, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["previews"][0]
    with tc.Session(target_table, unit=tc.one_row_each, budget=tc.epsilon(99), name="t") as session:
        question = session.agg(mean_x=tc.mean("x", 0, 100), count=tc.count())
        least = question.epsilon_for({"mean_x": 1, "count": 20})
    assert found["epsilon"] == str(least)
    assert found["intervals"]["mean_x"][1] <= 1
    assert run([*flags, *target, "--target-rows", "10000", "--sizes", "10000"]) == 0
    told = capsys.readouterr().out
    assert "This takes --epsilon 0." in told
    assert "in 95 of 100 releases" in told
    assert "that is left" not in told
    for wrong, message in (
        ([*target, "--epsilon", "1"], "leave --epsilon out"),
        (["--target", "mean=1"], "did you mean 'mean_x'"),
        (["--target", "1"], "a target is like"),
        (["--target", "count=1", "--confidence", "95"], "above 0 and below 1"),
    ):
        assert run([*flags, *wrong]) == 2
        assert message in " ".join(capsys.readouterr().err.split())


# The method that is chosen: the least expected error, from public facts alone.


BOTH = tc.epsilon_delta(100, "1e-3")
EVEN = pd.DataFrame({"x": (np.arange(4000) + 0.5) / 40, "site": [1, 2] * 2000})


def methods_session(table=EVEN, budget=BOTH, unit=tc.one_row_each, **given):
    return tc.Session(table, budget=budget, unit=unit, **given)


@pytest.mark.full
def test_auto_takes_the_least_expected_error_and_records_them_all():
    price = {"epsilon": 9, "delta": "1e-6"}
    question = methods_session().agg(
        v=tc.median("x", 0, 100, method="auto", rows=10_000),
        m=tc.mean("x", 0, 100, method="auto", rows=500),
        p=tc.median("x", 0, 100, method="auto", bound="1/2", rows=500),
    )
    preview = question.preview(**price)
    answer = question.release(**price)
    for column in answer.certificate.body["answer"]["columns"]:
        told = column["method"]
        assert told["asked"] == "auto"
        assert told["errors"][told["used"]] == min(told["errors"].values())
        assert set(told["errors"]) | set(told["left_out"]) == {
            "global", "smooth", "ptr", "sample_and_aggregate"
        }  # fmt: skip
        assert preview.methods[column["label"]].startswith(told["used"])
    methods = {c["label"]: c["method"] for c in answer.certificate.body["answer"]["columns"]}
    assert methods["v"]["used"] == "smooth"
    assert methods["v"]["shapes"] == ["even", "bell", "low", "high"]
    assert methods["m"]["rows"] == 500
    assert answer.certificate.verify()


@pytest.mark.full
def test_auto_reads_public_facts_alone():
    tables = [EVEN, EVEN.assign(x=3.0), EVEN.iloc[:2]]
    told = [
        methods_session(t)
        .agg(x=tc.std("x", 0, 100, method="auto", rows=500))
        .release(epsilon=1)
        .certificate.body["answer"]["columns"][0]["method"]
        for t in tables
    ]
    assert told[0] == told[1] == told[2]


@pytest.mark.full
@pytest.mark.parametrize("rows", [20_190, 32_561])
def test_auto_does_not_take_evenly_spread_rows_for_the_only_ones(rows):
    question = methods_session().agg(x=tc.std("x", 0, 100, method="auto", rows=rows))
    answer = question.release(epsilon=1, delta="1e-6")
    assert answer.certificate.body["answer"]["columns"][0]["method"]["used"] == "global"


@pytest.mark.full
def test_auto_without_a_delta_says_why_a_test_is_left_out():
    preview = methods_session(budget=tc.epsilon(1)).agg(x=tc.median("x", 0, 100, method="auto"))
    answer = preview.release(epsilon="1/2")
    told = answer.certificate.body["answer"]["columns"][0]["method"]
    assert "delta" in told["left_out"]["ptr"]


def test_a_count_comes_with_the_moments_that_auto_leaves_global():
    answer = (
        methods_session()
        .agg(m=tc.mean("x", 0, 100, method="auto"), n=tc.count())
        .release(epsilon=9)
    )
    assert len(answer.certificate.body["chains"]) == 1
    assert abs(answer.value("n") - 4000) < 30


# Methods as a certificate states them: only what a choice may have led to is planned with.


AUTO = tc.mean("x", 0, 1, method="auto")
SMOOTH = tc.mean("x", 0, 1, method="smooth")
BINS = tc.mean("x", 0, 1, method="sample_and_aggregate")


def test_what_is_left_to_be_chosen():
    assert [has_choice(a) for a in (AUTO, SMOOTH, BINS)] == [True, True, True]
    given = tc.mean("x", 0, 1, method="smooth", distribution="laplace")
    assert [has_choice(a) for a in (tc.mean("x", 0, 1), given)] == [False, False]
    assert as_stated(given, {"used": "ptr"}) is given


def test_a_choice_is_taken_over_as_it_is_stated():
    assert as_stated(AUTO, {"used": "global"}).method is None
    smooth = as_stated(AUTO, {"used": "smooth", "distribution": "laplace"}).method
    assert (smooth.name, smooth.distribution) == ("smooth", "laplace")
    assert as_stated(BINS, {"used": "sample_and_aggregate", "bins": 7}).method.bins == 7


@pytest.mark.parametrize(
    ("asked", "stated"),
    [
        (AUTO, None),
        (AUTO, {"used": "auto"}),
        (AUTO, {"used": "better"}),
        (SMOOTH, {"used": "ptr"}),
        (SMOOTH, {"used": "smooth"}),
        (BINS, {"used": "sample_and_aggregate", "bins": None}),
    ],
    ids=str,
)
def test_what_is_no_answer_to_the_question_is_refused(asked, stated):
    with pytest.raises(UsageError):
        as_stated(asked, stated)


# A question knows its columns, and works them out once each however many are derived.


AGES = Schema([Column("age", "integer", "BIGINT"), Column("name", "text", "VARCHAR")])


def chained(many: int) -> Query:
    """Return a question with many derived columns, each of which reads the one before."""
    query, last = Query(AGES, tc.one_row_each), "age"
    for number in range(many):
        query = query.with_columns(**{f"c{number}": tc.col(last) + number})
        last = f"c{number}"
    return query


def test_derived_columns_are_looked_at_once_each_as_they_are_added(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = []
    kind = operations.kind
    monkeypatch.setattr(operations, "kind", lambda *asked: looked.append(asked) or kind(*asked))

    def work(many: int) -> int:
        looked.clear()
        chained(many).columns.column(f"c{many - 1}")
        return len(looked)

    assert work(200) == 10 * work(20)


def test_all_columns_are_made_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    init = Schema.__init__
    monkeypatch.setattr(
        Schema, "__init__", lambda self, columns: made.append(len(columns)) or init(self, columns)
    )

    def work(many: int) -> int:
        query = Query(AGES, tc.one_row_each, derived=chained(many).derived)
        made.clear()
        assert len(query.columns) == many + 2
        return sum(made)

    assert work(200) == work(20)  # the columns of the source are copied, and none of the derived


def test_columns_added_one_by_one_are_those_of_the_whole_question() -> None:
    one_by_one = chained(5)
    at_once = Query(AGES, tc.one_row_each, derived=one_by_one.derived)
    assert dict(one_by_one.columns) == dict(at_once.columns)
    assert list(one_by_one.columns) == ["age", "name", "c0", "c1", "c2", "c3", "c4"]
    assert list(AGES) == ["age", "name"]
    assert one_by_one.describe() == at_once.describe()


def test_a_derived_column_reads_only_those_before_it() -> None:
    ahead = (("a", tc.col("b") + 1), ("b", tc.col("age") + 1))
    with pytest.raises(UsageError, match="there is no column 'b'"):
        Query(AGES, tc.one_row_each, derived=ahead).columns  # noqa: B018
    with pytest.raises(UsageError, match="there is no column 'b'"):
        Query(AGES, tc.one_row_each).with_columns(a=tc.col("b") + 1)


def test_what_is_asked_of_the_columns_does_not_look_at_them_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    query = chained(20)
    known = query.columns
    monkeypatch.setattr(operations, "kind", lambda *asked: pytest.fail("looked at again"))
    grouped = query.asking(by=("name",), keys=(("a",),), where=(tc.col("c3") > 2,))
    assert grouped.columns is known
    assert grouped.by == ("name",)


def test_bounds_are_worked_out_of_the_columns_that_an_answer_reads_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    columns = (*chained(20).derived, ("double", tc.col("c1") * 2))
    said = Declared(bounds={"age": (Fraction(0), Fraction(100))})
    looked = []
    monkeypatch.setattr(declared, "range_of", lambda *a: looked.append(a[0]) or range_of(*a))
    assert said.bounded(tc.sum("double"), columns).upper == 202
    assert [str(each) for each in looked] == ["(age + 0)", "(c0 + 1)", "(c1 * 2)"]


DAY = datetime.date(2024, 1, 1)


def test_a_date_and_its_text_are_one_key_where_the_column_declares_dates_alone() -> None:
    kinds = {"declared": "date", "undeclared": "undeclared"}
    schema = Schema([Column(name, kind, kind) for name, kind in kinds.items()])

    def keys(name: str, *keys: object) -> object:
        query = Query(schema, tc.one_row_each, by=(name,), keys=tuple((key,) for key in keys))
        return query.describe()["keys"]

    assert keys("declared", DAY) == keys("declared", "2024-01-01") == [["2024-01-01"]]
    # what an older ledger holds is text, and stays so
    assert keys("undeclared", "2024-01-01", "a", 1, True, None) == [
        *(["2024-01-01"], ["a"], [1], [True], [None])
    ]
    assert keys("undeclared", DAY) == [[{"date": "2024-01-01"}]]
    noon = datetime.datetime(2024, 1, 1, 12)
    assert keys("undeclared", noon) == keys("undeclared", DAY)


def test_the_answer_to_text_is_not_replayed_for_dates(tmp_path) -> None:
    path = tmp_path / "days.csv"
    path.write_text("day\n2024-01-01\n2024-01-01 18:30\n2024-01-02\n", encoding="utf-8")
    session = tc.Session(path, tc.one_row_each, tc.epsilon(10**4), tc.in_memory)
    for cost, key in ((1000, "2024-01-01"), (2000, DAY)):
        answer = session.group_by("day", keys=[key]).agg(tc.count()).release(epsilon=1000)
        assert answer.to_pandas()["count"].tolist() == [2]
        assert answer.to_pandas()["day"].tolist() == ["2024-01-01"]
        assert answer.certificate.verify(session.ledger)
        assert session.remaining.amount == 10**4 - cost
    assert "2024-01-01" in str(answer.certificate)


# What a data set declares, for what a question leaves out; a question that goes beyond is told.


C = tc.col
DECLARED = Declared(
    bounds={"age": (Fraction(0), Fraction(100)), "zero": (Fraction(0), Fraction(0))},
    keys={"site": ["a", "b"], "age_group": ["x"]},
)


def ends(aggregate):
    found = DECLARED.bounded(*aggregate) if isinstance(aggregate, tuple) else DECLARED.bounded(
        aggregate
    )  # fmt: skip
    return found.lower, found.upper


def test_a_statistic_takes_the_bounds_of_its_column_unless_it_has_its_own():
    assert ends(tc.mean("age")) == (0, 100)
    assert ends(tc.mean("age", 5, 7)) == (5, 7)
    assert DECLARED.bounded(tc.count()) == tc.count()


def test_bounds_follow_for_columns_that_are_computed():
    derived = [("double", C("age") * 2), ("far", C("double") + 1)]
    assert ends((tc.mean("far"), derived)) == (1, 201)
    assert DECLARED.ranges(derived)["double"] == (0, 200)


@pytest.mark.parametrize(
    ("column", "expected"), [("zero", (0, 1)), ("five", (0, 5)), ("minus", (-5, 0))]
)
def test_a_column_that_is_always_the_same_has_bounds_that_rise(column, expected):
    derived = [("five", C("zero") + 5), ("minus", C("zero") - 5)]
    assert ends((tc.mean(column), derived)) == expected


def test_several_columns_take_the_bounds_that_each_lacks():
    found = DECLARED.bounded(tc.covariance("age", "pay", {"pay": (0, 9)}))
    assert [(c.column, c.lower, c.upper) for c in found.clamped] == [("age", 0, 100), ("pay", 0, 9)]


@pytest.mark.parametrize(
    ("aggregate", "derived", "message"),
    [
        (tc.mean("pay"), [], r"tc\.mean\('pay', 0, 100\), or declare them"),
        (tc.mean("x"), [("x", C("pay") * 2)], r"clip it.*declare bounds of 'pay'"),
        (tc.covariance("age", "pay"), [], r"bounds=\{'pay': \(0, 100\)\}"),
        (tc.geometric_mean("pay"), [], r"tc\.geometric_mean\('pay', 1, 100\)"),
    ],
)
def test_a_statistic_without_bounds_is_told_its_remedies(aggregate, derived, message):
    with pytest.raises(UsageError, match=message):
        DECLARED.bounded(aggregate, derived)


def test_categories_are_known_of_all_columns_or_of_none():
    assert DECLARED.keys_of(["site"]) == {"site": ["a", "b"]}
    assert DECLARED.keys_of(["site", "sex"]) is None
    assert NOTHING_DECLARED.keys_of(["site"]) is None
    weekday = [("weekday", C("day").dt.weekday())]
    found = DECLARED.keys_of(["site", "weekday"], weekday)
    assert found is not None
    assert set(found["weekday"]) >= set(range(1, 8))


def test_columns_that_a_join_adds_are_declared_too_and_the_first_stay():
    more = DECLARED.with_columns(
        {"pay": (Fraction(0), Fraction(9))}, {}, {"pay": {"unit": "euro"}}, {"pay": {"0": "none"}}
    )
    assert more.labels["pay"] == {"0": "none"}
    assert more.bounds["pay"] == (0, 9)
    assert more.bounds["age"] == (0, 100)
    assert "pay" not in DECLARED.bounds
