"""Weights split what a release may spend, exactly, and never pass the total."""

import json
import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tables.answers.released import enough
from tacit.cli import run
from tacit.tables.answers.base import kind_of
from tacit.tables.answers.counts import RowsPart
from tacit.tables.plan.plan import Plan, by_weight, even_share
from tacit.tables.plan.query import Query

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
        assert not question.is_charged(**split)
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
        law = part.law(noise)
        drawn = draw.laplace if kind == "laplace" else draw.normal
        noisy = drawn(0, law.scale, (RUNS, part.width))
        noisy[:, 0] += exact
        estimates.append(part.estimates([noisy.ravel()], noise))
    found = kind_of("count").estimate(uneven.parts, estimates, uneven.noises)
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
