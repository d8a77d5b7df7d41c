"""Covariance and correlation: estimate and interval against the definition, and whole releases."""

import json

import numpy as np
import pytest

import tacit as tc
from tables.answers.released import (
    PRODUCT_NOISES,
    enough,
    noisy_products,
    product_sums,
    shapes,
)
from tacit.cli import run
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.tables.answers.covariance_and_regression import CovariancePart

RUNS = 2000
GRIDS = Grid.for_bounds(-2, 10, bits=20), Grid.for_bounds(0, 5, bits=20)
BOTH = frozenset({"covariance", "correlation"})
PART = CovariancePart(("x", "y"), GRIDS, BOTH)


def values(s):
    return PART.middles + PART.halves * s


def truth(s):
    if len(s) < 2:
        return {"covariance": 0.0, "correlation": 0.0}
    x, y = values(s).T
    flat = not (x.std() > 1e-12 and y.std() > 1e-12)
    return {
        "covariance": np.cov(x, y)[0, 1],
        "correlation": 0.0 if flat else np.corrcoef(x, y)[0, 1],
    }


@pytest.mark.parametrize("spent", PRODUCT_NOISES.values(), ids=PRODUCT_NOISES)
def test_without_noise_they_are_those_of_the_definition(spent):
    for name, s in shapes(4000, 2).items():
        found = PART.estimates([product_sums(PART, spent, s)], spent)
        for kind, true in truth(s).items():
            if name != "constant" or kind == "covariance":
                assert found[kind].value[0] == pytest.approx(true, abs=1e-9), (name, kind)


SIZES = [0, 1, 2, 8, 60, 500, 5_000, 100_000]


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("spent", PRODUCT_NOISES.values(), ids=PRODUCT_NOISES)
def test_intervals_cover(spent, size):
    check_coverage(spent, size, RUNS)


@pytest.mark.few(4)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("spent", ["laplace", "gaussian, strong"])
def test_intervals_cover_in_short(spent, size):
    check_coverage(PRODUCT_NOISES[spent], size, 300)


def check_coverage(spent, size, runs):
    for shape, s in shapes(size, 2).items():
        found = PART.estimates([noisy_products(PART, spent, s, runs)], spent)
        for kind, true in truth(s).items():
            slack = 1e-9 * (1 + abs(true))
            held = (found[kind].lower <= true + slack) & (true - slack <= found[kind].upper)
            assert held.sum() >= enough(runs), (shape, kind, held.mean())
            assert np.isfinite(found[kind].value).all()
            assert (found[kind].lower <= found[kind].upper).all()
            assert (found[kind].standard_error > 0).all()


@pytest.mark.few(2)
@pytest.mark.parametrize("spent", PRODUCT_NOISES.values(), ids=PRODUCT_NOISES)
def test_errors_are_what_is_measured_and_intervals_not_needlessly_wide(spent):
    s = shapes(200_000, 2)["related"]
    found = PART.estimates([noisy_products(PART, spent, s, RUNS)], spent)
    for kind, true in truth(s).items():
        wrong = found[kind].value - true
        claimed = found[kind].standard_error.mean()
        assert np.sqrt((wrong**2).mean()) == pytest.approx(claimed, rel=0.1)
        assert (found[kind].upper - found[kind].lower).mean() < 4.7 * claimed


def test_answers_stay_within_what_is_possible():
    spent = PRODUCT_NOISES["laplace"]
    for size in (0, 1, 2, 30):
        s = shapes(size, 2)["corners"]
        found = PART.estimates([noisy_products(PART, spent, s, RUNS)], spent)
        assert (np.abs(found["correlation"].value) <= 1).all()
        assert (np.abs(found["covariance"].value) <= 2 * 6 * 2.5).all()
        assert (found["correlation"].lower >= -1).all()


def test_a_column_that_is_constant_has_a_correlation_of_which_nothing_is_known():
    spent = PRODUCT_NOISES["gaussian, strong"]
    s = shapes(1000, 2)["constant"]
    found = PART.estimates([noisy_products(PART, spent, s, 200)], spent)["correlation"]
    assert (found.lower == -1).mean() > 0.9
    assert (found.upper == 1).mean() > 0.9


@pytest.fixture
def table(tmp_path):
    source = np.random.default_rng(3)
    path = tmp_path / "people.csv"
    lines = ["person,site,age,pay"]
    for i in range(3000):
        age = source.integers(20, 80)
        pay = "" if i % 10 == 0 else f"{10 * age + source.normal(0, 60):.1f}"
        lines.append(f"{i // 2},{'ab'[i % 2]},{age},{pay}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


BOUNDS = {"age": (0, 100), "pay": (0, 1000)}


def definition(path, site):
    with open(path, encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split(",") for line in list(lines)[1:]]
    x = [float(age) for _, s, age, pay in rows if s == site and pay]
    y = [min(max(float(pay), 0), 1000) for _, s, _, pay in rows if s == site and pay]
    return np.cov(x, y)[0, 1], np.corrcoef(x, y)[0, 1]


@pytest.mark.parametrize(
    ("budget", "price"),
    [(tc.epsilon(400), {"epsilon": 200}), (tc.rho(9000), {"rho": 4000})],
    ids=["epsilon", "rho"],
)
def test_by_groups_of_people_both_come_out_of_one_vector(table, budget, price):
    with tc.Session(table, unit=tc.unit("person", rows=2), budget=budget) as session:
        asked = session.group_by("site", keys=["a", "b", "nobody"]).agg(
            n=tc.count(),
            together=tc.covariance("age", "pay", BOUNDS),
            r=tc.correlation("age", "pay", BOUNDS),
        )
        expected = asked.preview(**price)
        assert expected.errors["together"][0] > expected.errors["together"][-1] > 0
        answer = asked.release(**price)
        assert asked.release(**price).replayed
    assert len(answer.certificate.body["chains"]) == 2  # of the rows, and of the products
    for site in "ab":
        for label, true in zip(("together", "r"), definition(table, site), strict=True):
            assert answer.value(label, site) == pytest.approx(true, rel=0.05)
            low, high = answer.interval(label, site)
            assert low <= true * (1 + 1e-3)  # but for one release in 20, and the grid
            assert high >= true * (1 - 1e-3)
    assert answer.interval("r", "nobody") == (-1, 1)
    checked = answer.certificate.verify()
    assert checked, str(checked)
    page = answer.certificate.to_html()
    assert "the correlation of age and pay (values clamped: age to [0, 100]" in page
    column = answer.certificate.body["answer"]["columns"][1]
    column["value"][0] += 1
    assert not tc.Certificate(answer.certificate.body).verify()


def test_of_x_and_y_and_of_y_and_x_are_paid_for_once(table):
    with tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(9)) as session:
        asked = {
            "c": tc.covariance("age", "pay", BOUNDS),
            "r": tc.correlation("pay", "age", BOUNDS),
        }
        answer = session.agg(**asked, again=tc.covariance("pay", "age", BOUNDS)).release(epsilon=9)
    assert len(answer.certificate.body["chains"]) == 1
    assert answer.value("c") == pytest.approx(answer.value("again"))
    assert answer.certificate.verify()


def test_with_groups_that_nobody_listed(table):
    budget = tc.epsilon_delta(20, "1e-5")
    with tc.Session(table, unit=tc.one_row_each, budget=budget) as session:
        asked = session.group_by("site").agg(r=tc.correlation("age", "pay", BOUNDS))
        answer = asked.release(epsilon=8, delta="1e-6")
    assert answer.keys == [("a",), ("b",)]
    assert answer.certificate.verify()


def test_of_a_derived_column_the_bounds_follow(table):
    with tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(99)) as session:
        asked = session.with_column("tenth", (tc.col("pay") / 10).clamp(0, 100))
        answer = asked.agg(c=tc.covariance("age", "tenth", {"age": (0, 100)})).release(epsilon=50)
    assert 200 < answer.value("c") < 400


def test_on_the_command_line_and_in_a_plan(table, tmp_path, capsys):
    ledger = str(tmp_path / "a.ledger")
    flags = ["--covariance", "age:0:100,pay:0:1000", "--by", "site", "--keys", "a,b"]
    spent = ["--one-row-each", "--epsilon", "4", "--budget-epsilon", "8", "--ledger", ledger]
    assert run(["release", table, *flags, *spent, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["releases"][0]
    assert first["answers"][0]["covariance_age_pay"]["standard_error"] > 0
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f"""
        source = {{ path = "{table}" }}
        unit = "row"
        budget = {{ ledger = "{ledger}" }}
        [[question]]
        by = ["site"]
        keys = ["a", "b"]
        epsilon = 4
        [question.answers.covariance_age_pay]
        statistic = "covariance"
        x = "age"
        y = "pay"
        bounds = {{ age = [0, 100], pay = [0, 1000] }}
        """,
        encoding="utf-8",
    )
    assert run(["release", "--plan", str(plan), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)["releases"][0]
    assert again["replayed"]
    assert again["answers"] == first["answers"]


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "text", ["age:0:100", "age:0:100,pay", "age,pay", "age:0:100,age:0:100", "age:0,pay:0:9", ","]
)
def test_a_flag_that_is_not_whole_is_refused(table, text, capsys):
    assert run(["release", table, "--covariance", text, "--epsilon", "1"]) == 2
    assert "--covariance age:0:100,pay:0:1000" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: tc.covariance("age", "age"),
        lambda: tc.covariance("age", 3),
        lambda: tc.covariance("age", "pay", {"agee": (0, 1)}),
        lambda: tc.covariance("age", "pay", {"age": (1, 0)}),
        lambda: tc.covariance("age", "pay", {"age": 5}),
        lambda: tc.covariance("age", "pay", {"age": "01"}),
        lambda: tc.covariance("age", "pay", (0, 1)),
        lambda: tc.sensitivity(tc.correlation("age", "pay"), over=tc.Records([1, 2], size=2)),
    ],
)
def test_what_cannot_be_asked_is_refused(wrong):
    with pytest.raises(UsageError):
        wrong()


def test_a_column_without_bounds_says_how_to_give_them(table):
    with (
        tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(9)) as session,
        pytest.raises(UsageError, match=r"bounds=\{'pay': \(0, 100\)\}"),
    ):
        session.agg(c=tc.covariance("age", "pay", {"age": (0, 100)}))
