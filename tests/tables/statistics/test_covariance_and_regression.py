"""Linear regression: estimate and intervals against the definition, and whole releases."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tacit as tc
from support.certificates.certificate_changes import OPEN, changed, changes, named
from tables.statistics.released import (
    PRODUCT_NOISES,
    enough,
    noisy_products,
    product_sums,
    shapes,
)
from tacit.cli import run
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.tables.noise import GridNoise
from tacit.tables.statistics.covariance_and_regression import (
    Covariance,
    CovariancePart,
    LinearRegressionPart,
    covariance,
    of_columns,
)
from tacit.tables.statistics.noisy_sums import NoisySums
from tacit.tables.statistics.part import Noise
from tacit.tables.steps import Basis

RUNS = 2000
ENDS = [(0, 5), (-2, 10), (-1, 3), (100, 107), (0, 1), (-4, 0)]


def part_of(columns):
    grids = tuple(Grid.for_bounds(*ends, bits=16) for ends in ENDS[:columns])
    return LinearRegressionPart(tuple("yabcde"[:columns]), grids)


def truth(part, s):
    """The coefficients, or None where they are not unique."""
    values = part.middles + part.halves * s
    design = np.column_stack([np.ones(len(s)), values[:, 1:]])
    # Older releases of NumPy know no rank of a matrix without rows.
    if len(s) < design.shape[1] or np.linalg.matrix_rank(design) < design.shape[1]:
        return None
    return np.linalg.lstsq(design, values[:, 0], rcond=None)[0]


def fitted(part, s, spent, runs=RUNS):
    return part.estimates([noisy_products(part, spent, s, runs)], spent)["linear_regression"]


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        (3, "laplace"),
        (2, "gaussian"),
        (4, "laplace, people"),
        (6, "laplace"),
        (6, "gaussian, strong"),
    ],
)
def test_without_noise_it_is_that_of_the_definition(columns, kind):
    part, spent = part_of(columns), PRODUCT_NOISES[kind]
    for name in ("free", "related", "skewed"):
        s = shapes(200_000, columns)[name]
        found = part.estimates([product_sums(part, spent, s)], spent)["linear_regression"]
        expected = truth(part, s)
        assert found.value[0] == pytest.approx(expected, rel=1e-6, abs=1e-6), name
        assert (found.lower[0] < expected).all()
        assert (expected < found.upper[0]).all()


SIZES = [0, 2, 9, 300, 3_000, 100_000]


@pytest.mark.slow
@pytest.mark.parametrize("columns", [2, 3, 5])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("spent", PRODUCT_NOISES.values(), ids=PRODUCT_NOISES)
def test_intervals_cover_each_coefficient(spent, size, columns):
    check_coverage(spent, size, columns, RUNS)


@pytest.mark.few(4)
@pytest.mark.parametrize(("size", "columns"), [*((n, 3) for n in SIZES), (3_000, 5), (20_000, 2)])
@pytest.mark.parametrize("spent", ["laplace", "gaussian, strong"])
def test_intervals_cover_each_coefficient_in_short(spent, size, columns):
    check_coverage(PRODUCT_NOISES[spent], size, columns, 200)


def check_coverage(spent, size, columns, runs):
    part = part_of(columns)
    for shape, s in shapes(size, columns).items():
        found, true = fitted(part, s, spent, runs), truth(part, s)
        assert np.isfinite(found.value).all()
        said = ~np.isnan(found.lower)
        assert (said == ~np.isnan(found.standard_error)).all()
        if true is None:  # any coefficient fits, so an interval would be wrong
            assert (~said).sum() >= enough(runs) * columns, shape
            continue
        held = ~said | ((found.lower <= true + 1e-9) & (true - 1e-9 <= found.upper))
        assert (held.sum(axis=0) >= enough(runs)).all(), (shape, held.mean(axis=0))


@pytest.mark.few(4)
@pytest.mark.parametrize("spent", PRODUCT_NOISES.values(), ids=PRODUCT_NOISES)
def test_errors_are_what_is_measured_and_intervals_not_needlessly_wide(spent):
    part = part_of(3)
    s = shapes(300_000, 3)["related"]
    found, true = fitted(part, s, spent), truth(part, s)
    wrong = found.value - true
    claimed = found.standard_error.mean(axis=0)
    assert np.sqrt((wrong**2).mean(axis=0)) == pytest.approx(claimed, rel=0.1)
    assert ((found.upper - found.lower).mean(axis=0) < 4.8 * claimed).all()


@pytest.mark.full
@pytest.mark.parametrize("apart", [0.5, 0.1, 0.02, 0.0])
def test_predictors_that_hardly_differ(apart):
    part, spent = part_of(3), PRODUCT_NOISES["gaussian, strong"]
    s = shapes(20_000, 3)["free"].copy()
    s[:, 2] = np.clip(s[:, 1] * (1 - apart) + apart * s[:, 2], -1, 1)
    found, true = fitted(part, s, spent), truth(part, s)
    said = ~np.isnan(found.lower)
    if true is None:
        assert (~said).sum() >= enough(RUNS) * 3
    else:
        held = ~said | ((found.lower <= true) & (true <= found.upper))
        assert (held.sum(axis=0) >= enough(RUNS)).all()
    assert np.isfinite(found.value).all()


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    source = np.random.default_rng(3)
    path = tmp_path_factory.mktemp("pay") / "people.csv"
    lines = ["person,site,age,years,pay"]
    for i in range(6000):
        age, years = source.integers(20, 80), source.integers(0, 20)
        pay = "" if i % 10 == 0 else f"{4 * age + 20 * years + source.normal(0, 60):.1f}"
        lines.append(f"{i // 2},{'ab'[i % 2]},{age},{years},{pay}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


BOUNDS = {"age": (0, 100), "years": (0, 20), "pay": (0, 1000)}


def definition(path, site):
    with open(path, encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split(",") for line in list(lines)[1:]]
    used = [(float(a), float(b), float(pay)) for _, s, a, b, pay in rows if s == site and pay]
    age, years, pay = np.array(used).T
    design = np.column_stack([np.ones(len(age)), age, years])
    return np.linalg.lstsq(design, np.clip(pay, 0, 1000), rcond=None)[0]


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("budget", "price"),
    [(tc.epsilon(900), {"epsilon": 400}), (tc.rho(9000), {"rho": 4000})],
    ids=["epsilon", "rho"],
)
def test_by_groups_of_people(table, budget, price):
    with tc.Session(
        table, unit=tc.unit("person", rows=2), budget=budget, ledger=tc.in_memory
    ) as session:
        asked = session.group_by("site", keys=["a", "b", "nobody"]).agg(
            fit=tc.linear_regression("pay", ["age", "years"], BOUNDS), n=tc.count()
        )
        expected = asked.preview(**price)
        assert expected.units["fit"] == "largest standard error of a coefficient"
        assert expected.errors["fit"][0] > expected.errors["fit"][-1] > 0
        answer = asked.release(**price)
    columns = answer.to_dict()
    for place, site in enumerate("ab"):
        true = dict(zip(("intercept", "age", "years"), definition(table, site), strict=True))
        for name, value in true.items():
            error = columns[f"fit {name}_error"][place]
            assert abs(columns[f"fit {name}"][place] - value) < 7 * error + 1e-2 * abs(value)
            assert columns[f"fit {name}_low"][place] < columns[f"fit {name}_high"][place]
    assert columns["fit age_low"][2] is None  # nobody is there: nothing can be said
    assert columns["fit age_error"][2] is None
    checked = answer.certificate.verify()
    assert checked, str(checked)
    page = answer.certificate.to_html()
    assert "the coefficients of pay on age and years by least squares" in page
    assert "coefficient" in str(answer.certificate) or "intercept" in page
    answer.plot()
    assert "-" in str(answer)


def test_on_the_command_line_and_in_a_plan(table, tmp_path, capsys):
    ledger = str(tmp_path / "a.ledger")
    flags = ["--linear-regression", "pay:0:1000,age:0:100,years:0:20"]
    spent = ["--one-row-each", "--epsilon", "9", "--budget-epsilon", "10", "--ledger", ledger]
    asked = ["release", table, *flags, *spent]
    assert run([*asked, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["releases"][0]
    found = first["answers"][0]["linear_regression_pay_age_years"]
    assert found["bins"] == ["intercept", "age", "years"]
    assert len(found["value"]) == 3
    assert run(asked) == 0
    shown = capsys.readouterr().out
    assert "intercept" in shown
    assert "value" in shown
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f"""
        source = {{ path = "{table}" }}
        unit = "row"
        budget = {{ ledger = "{ledger}" }}
        [[question]]
        epsilon = 9
        [question.answers.linear_regression_pay_age_years]
        statistic = "linear_regression"
        y = "pay"
        x = ["age", "years"]
        bounds = {{ age = [0, 100], years = [0, 20], pay = [0, 1000] }}
        """,
        encoding="utf-8",
    )
    assert run(["release", "--plan", str(plan), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)["releases"][0]
    assert again["replayed"]
    assert again["answers"] == first["answers"]


def test_a_declared_data_set_fills_in_the_bounds(table, tmp_path, capsys):
    declared = tmp_path / "people.toml"
    declared.write_text(
        f"""
        name = "people"
        unit = "row"
        budget = {{ epsilon = 100 }}
        [tables.people]
        path = "{table}"
        [tables.people.columns]
        person = {{ kind = "integer" }}
        site = {{ kind = "text" }}
        age = {{ kind = "integer", bounds = [0, 100] }}
        years = {{ kind = "integer", bounds = [0, 20] }}
        pay = {{ kind = "float", bounds = [0, 1000] }}
        """,
        encoding="utf-8",
    )
    with tc.open(str(declared)) as session:
        asked = session.agg(fit=tc.linear_regression("pay", ["age", "years"]))
        whole = session.agg(fit=tc.linear_regression("pay", ["age", "years"], BOUNDS))
        answer = asked.release(epsilon=50)
        assert whole.release(epsilon=50).replayed
        assert answer.value("fit")[1] == pytest.approx(4, abs=2)
    flags = ["--linear-regression", "pay,age,years", "--epsilon", "9"]
    assert run(["release", str(declared), *flags, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["releases"][0]["answers"][0]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: tc.linear_regression("pay", []),
        lambda: tc.linear_regression("pay", ["pay"]),
        lambda: tc.linear_regression("pay", 7),
        lambda: tc.linear_regression("pay", [f"x{i}" for i in range(13)]),
        lambda: tc.linear_regression("pay", "age", {"years": (0, 1)}),
    ],
)
def test_what_cannot_be_asked_is_refused(wrong):
    with pytest.raises(UsageError):
        wrong()


@pytest.mark.slow
def test_twelve_predictors_are_within_the_widths_of_the_engine(tmp_path):
    import pandas as pd

    source = np.random.default_rng(1)
    frame = pd.DataFrame(source.uniform(0, 1, (2000, 13)), columns=[f"x{i}" for i in range(13)])
    bounds = dict.fromkeys(frame, (0, 1))
    with tc.Session(frame, unit=tc.one_row_each, budget=tc.rho(10**9)) as session:
        asked = session.agg(fit=tc.linear_regression("x0", list(frame)[1:], bounds))
        answer = asked.release(rho=10**8)
    design = np.column_stack([np.ones(2000), frame.to_numpy()[:, 1:]])
    expected = np.linalg.lstsq(design, frame["x0"], rcond=None)[0]
    assert answer.value("fit") == pytest.approx(expected, abs=0.01)
    assert answer.certificate.verify()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    path = tmp_path_factory.mktemp("forged") / "people.csv"
    lines = [f"{i % 40},{'ab'[i % 2]},{i % 7},{i % 11 * 9}" for i in range(400)]
    path.write_text("\n".join(["person,site,x,y", *lines]) + "\n", encoding="utf-8")
    bounds = {"x": (0, 7), "y": (0, 100)}
    with tc.Session(
        str(path), unit=tc.unit("person", rows=9), budget=tc.rho(9), ledger=tc.in_memory
    ) as session:
        asked = session.filter(tc.col("x") > 0).group_by("site", keys=["a", "b"])
        answer = asked.agg(
            fit=tc.linear_regression("y", ["x"], bounds), r=tc.correlation("x", "y", bounds)
        ).release(rho=4)
    return answer.certificate


@pytest.mark.few(5)
@pytest.mark.parametrize("seed", range(5))
def test_every_change_of_its_certificate_is_refused_or_named(certificate, seed):
    body = certificate.body
    assert certificate.verify(), str(certificate.verify())
    for path, value in random.Random(seed).sample(list(changes(body)), 8):
        report = changed(body, path, value).verify()
        assert not report or named(path, report.unchecked, OPEN), (path, value)


# Covariance and correlation: estimate and interval against the definition, and whole releases.


GRIDS = Grid.for_bounds(-2, 10, bits=20), Grid.for_bounds(0, 5, bits=20)
BOTH = frozenset({"covariance", "correlation"})
PART = CovariancePart(("x", "y"), GRIDS, BOTH)


def values(s):
    return PART.middles + PART.halves * s


def covariance_truth(s):
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
        for kind, true in covariance_truth(s).items():
            if name != "constant" or kind == "covariance":
                assert found[kind].value[0] == pytest.approx(true, abs=1e-9), (name, kind)


COVARIANCE_SIZES = [0, 1, 2, 8, 60, 500, 5_000, 100_000]


@pytest.mark.slow
@pytest.mark.parametrize("size", COVARIANCE_SIZES)
@pytest.mark.parametrize("spent", PRODUCT_NOISES.values(), ids=PRODUCT_NOISES)
def test_intervals_cover(spent, size):
    covariance_check_coverage(spent, size, RUNS)


@pytest.mark.few(4)
@pytest.mark.parametrize("size", COVARIANCE_SIZES)
@pytest.mark.parametrize("spent", ["laplace", "gaussian, strong"])
def test_intervals_cover_in_short(spent, size):
    covariance_check_coverage(PRODUCT_NOISES[spent], size, 300)


def covariance_check_coverage(spent, size, runs):
    for shape, s in shapes(size, 2).items():
        found = PART.estimates([noisy_products(PART, spent, s, runs)], spent)
        for kind, true in covariance_truth(s).items():
            slack = 1e-9 * (1 + abs(true))
            held = (found[kind].lower <= true + slack) & (true - slack <= found[kind].upper)
            assert held.sum() >= enough(runs), (shape, kind, held.mean())
            assert np.isfinite(found[kind].value).all()
            assert (found[kind].lower <= found[kind].upper).all()
            assert (found[kind].standard_error > 0).all()


@pytest.mark.few(4)
@pytest.mark.parametrize("name", list(reversed(PRODUCT_NOISES)))
def test_covariance_errors_are_what_is_measured_and_intervals_not_needlessly_wide(name):
    s, spent = shapes(200_000, 2)["related"], PRODUCT_NOISES[name]
    found = PART.estimates([noisy_products(PART, spent, s, RUNS)], spent)
    for kind, true in covariance_truth(s).items():
        wrong = found[kind].value - true
        claimed = found[kind].standard_error.mean()
        assert np.sqrt((wrong**2).mean()) == pytest.approx(claimed, rel=0.1)
        assert (found[kind].upper - found[kind].lower).mean() < 4.7 * claimed


def test_intervals_of_few_rows_are_short_and_do_not_contradict_each_other():
    # half-widths over the error in 95 of 100 releases, at epsilon 1
    source, spent, runs = np.random.default_rng(4), Noise("laplace", Fraction(1), 1), 200
    x, free = source.normal(0, 0.28, (2, 400))
    s = np.clip(np.stack((x, 0.77 * x + (1 - 0.77**2) ** 0.5 * free), axis=1), -1, 1)
    found = PART.estimates([noisy_products(PART, spent, s, runs)], spent)
    r, c = found["correlation"], found["covariance"]
    error = np.diff(np.quantile(r.value, [0.025, 0.975]))[0] / 2
    assert np.median(r.upper - r.lower) / 2 < 1.7 * error  # 1.3 of 10,000 releases
    assert (((r.lower <= 0) & (r.upper >= 0)) == ((c.lower <= 0) & (c.upper >= 0))).all()
    assert ((c.lower > 0) & (r.lower > 0)).mean() > 0.9
    part = part_of(2)
    # 1.97 deviations are the error in 95 of 100 releases, of a slope
    part = part_of(2)
    for rows, most in ((200, 1.5), (2000, 1.15)):
        s = np.stack((np.linspace(-0.6, 0.6, rows), np.linspace(-1, 1, rows)), axis=1)
        fit = fitted(part, s, spent, runs)
        half = np.median(fit.upper - fit.lower, axis=0)[1] / 2
        assert half < most * 1.97 * np.median(fit.standard_error[:, 1])


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


@pytest.fixture(scope="module")
def covariance_table(tmp_path_factory):
    source = np.random.default_rng(3)
    path = tmp_path_factory.mktemp("age") / "people.csv"
    lines = ["person,site,age,pay"]
    for i in range(3000):
        age = source.integers(20, 80)
        pay = "" if i % 10 == 0 else f"{10 * age + source.normal(0, 60):.1f}"
        lines.append(f"{i // 2},{'ab'[i % 2]},{age},{pay}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


COVARIANCE_BOUNDS = {"age": (0, 100), "pay": (0, 1000)}


def covariance_definition(path, site):
    with open(path, encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split(",") for line in list(lines)[1:]]
    x = [float(age) for _, s, age, pay in rows if s == site and pay]
    y = [min(max(float(pay), 0), 1000) for _, s, _, pay in rows if s == site and pay]
    return np.cov(x, y)[0, 1], np.corrcoef(x, y)[0, 1]


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("budget", "price"),
    [(tc.rho(9000), {"rho": 4000}), (tc.epsilon(400), {"epsilon": 200})],
    ids=["rho", "epsilon"],
)
def test_by_groups_of_people_both_come_out_of_one_vector(covariance_table, budget, price):
    with tc.Session(
        covariance_table, unit=tc.unit("person", rows=2), budget=budget, ledger=tc.in_memory
    ) as session:
        asked = session.group_by("site", keys=["a", "b", "nobody"]).agg(
            n=tc.count(),
            together=tc.covariance("age", "pay", COVARIANCE_BOUNDS),
            r=tc.correlation("age", "pay", COVARIANCE_BOUNDS),
        )
        expected = asked.preview(**price)
        assert expected.errors["together"][0] > expected.errors["together"][-1] > 0
        answer = asked.release(**price)
        assert asked.release(**price).replayed
    assert len(answer.certificate.body["chains"]) == 2  # of the rows, and of the products
    for site in "ab":
        for label, true in zip(
            ("together", "r"), covariance_definition(covariance_table, site), strict=True
        ):
            assert answer.value(label, site) == pytest.approx(true, rel=0.05)
            low, high = answer.interval(label, site)
            # But for the grid, and the length more on either side: 1e-7.
            assert 2 * low - high <= true * (1 + 1e-3)
            assert 2 * high - low >= true * (1 - 1e-3)
    assert answer.interval("r", "nobody") == (-1, 1)
    checked = answer.certificate.verify()
    assert checked, str(checked)
    page = answer.certificate.to_html()
    assert "the correlation of age and pay (values clamped: age to [0, 100]" in page
    column = answer.certificate.body["answer"]["columns"][1]
    column["value"][0] += 1
    assert not tc.Certificate(answer.certificate.body).verify()


def test_of_x_and_y_and_of_y_and_x_are_paid_for_once(covariance_table):
    with tc.Session(
        covariance_table, unit=tc.one_row_each, budget=tc.epsilon(9), ledger=tc.in_memory
    ) as session:
        asked = {
            "c": tc.covariance("age", "pay", COVARIANCE_BOUNDS),
            "r": tc.correlation("pay", "age", COVARIANCE_BOUNDS),
        }
        answer = session.agg(**asked, again=tc.covariance("pay", "age", COVARIANCE_BOUNDS)).release(
            epsilon=9
        )
    assert len(answer.certificate.body["chains"]) == 1
    assert answer.value("c") == pytest.approx(answer.value("again"))
    assert answer.certificate.verify()


def test_with_groups_that_nobody_listed(covariance_table):
    budget = tc.epsilon_delta(20, "1e-5")
    with tc.Session(
        covariance_table, unit=tc.one_row_each, budget=budget, ledger=tc.in_memory
    ) as session:
        asked = session.group_by("site").agg(r=tc.correlation("age", "pay", COVARIANCE_BOUNDS))
        answer = asked.release(epsilon=8, delta="1e-6")
    assert answer.keys == [("a",), ("b",)]
    assert answer.certificate.verify()


def test_of_a_derived_column_the_bounds_follow(covariance_table):
    with tc.Session(
        covariance_table, unit=tc.one_row_each, budget=tc.epsilon(99), ledger=tc.in_memory
    ) as session:
        asked = session.with_columns(tenth=(tc.col("pay") / 10).clip(0, 100))
        answer = asked.agg(c=tc.covariance("age", "tenth", {"age": (0, 100)})).release(epsilon=50)
    assert 200 < answer.value("c") < 400


def test_covariance_on_the_command_line_and_in_a_plan(covariance_table, tmp_path, capsys):
    ledger = str(tmp_path / "a.ledger")
    flags = ["--covariance", "age:0:100,pay:0:1000", "--by", "site", "--keys", "a,b"]
    spent = ["--one-row-each", "--epsilon", "4", "--budget-epsilon", "8", "--ledger", ledger]
    assert run(["release", covariance_table, *flags, *spent, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["releases"][0]
    assert first["answers"][0]["covariance_age_pay"]["standard_error"] > 0
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f"""
        source = {{ path = "{covariance_table}" }}
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
def test_a_flag_that_is_not_whole_is_refused(covariance_table, text, capsys):
    assert run(["release", covariance_table, "--covariance", text, "--epsilon", "1"]) == 2
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
def test_covariance_what_cannot_be_asked_is_refused(wrong):
    with pytest.raises(UsageError):
        wrong()


def test_a_column_without_bounds_says_how_to_give_them(covariance_table):
    with (
        tc.Session(
            covariance_table, unit=tc.one_row_each, budget=tc.epsilon(9), ledger=tc.in_memory
        ) as session,
        pytest.raises(UsageError, match=r"bounds=\{'pay': \(0, 100\)\}"),
    ):
        session.agg(c=tc.covariance("age", "pay", {"age": (0, 100)}))


# Statistics of several columns: how they are asked, described, and what is refused.


def test_columns_stand_in_their_order_with_the_bounds_of_each() -> None:
    asked = of_columns(Covariance, ["age", "pay"], {"pay": (0, "1/2"), "age": (0, 100)})
    assert [one.column for one in asked.clamped] == ["age", "pay"]
    assert str(asked) == "covariance(age, 0, 100, pay, 0, 0.5)"
    assert of_columns(Covariance, ["age", "pay"], None).lacks_bounds


@pytest.mark.parametrize(
    ("columns", "bounds", "message"),
    [
        (["age"], None, "two columns or more"),
        (["age", ""], None, "named by text"),
        (["age", 5], None, "named by text"),
        (["age", "age"], None, "'age' is given twice"),
        (["age", "pay"], [(0, 1), (0, 1)], "by column"),
        (["age", "pay"], {"apy": (0, 1)}, "did you mean 'pay'"),
        (["age", "pay"], {"pay": 5}, "a lower and an upper"),
        (["age", "pay"], {"pay": "01"}, "a lower and an upper"),
        (["age", "pay"], {"pay": (1, 0)}, "pay"),
        (["age", "pay"], {"pay": (0, "x")}, "must be a number"),
    ],
)
def test_what_is_not_of_several_columns_is_refused(columns: Any, bounds: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        of_columns(Covariance, columns, bounds)


def test_a_question_comes_back_from_its_description_and_has_words() -> None:
    asked = covariance("age", "pay", {"age": (0, 100), "pay": (-1, 1)})
    told = asked.to_json()
    assert Covariance.read(told) == asked
    assert asked.label() == "covariance_age_pay"
    assert Covariance.words(told).endswith("(values clamped: age to [0, 100], pay to [-1, 1])")
    with pytest.raises(UsageError, match="takes several columns"):
        asked.statistic  # noqa: B018


def test_bands_hold_the_sums_and_quantiles_grow_with_the_weights() -> None:
    grids = [Grid.for_bounds(0, 8, bits=3, whole=True)] * 2
    basis = Basis.smallest(tuple(grid.cells for grid in grids), (), "L1")
    law = GridNoise("laplace", 2.0, 1.0)
    noisy = np.arange(2.0 * basis.width).reshape(2, basis.width)
    sums = NoisySums(noisy, basis, law)
    middle, half = sums.band(0.01)
    assert middle.shape == (2, len(basis.decoding))
    assert (half > 0).all()
    assert (sums.band(0.0001)[1] >= half).all()
    weights = np.ones(len(basis.decoding))
    none = np.zeros_like(weights)
    one, two = (float(sums.quantile(w * weights, none, 0.05)) for w in (1, 2))
    assert 0 < one < two
    assert two == pytest.approx(2 * one, rel=0.05)
    wider = float(sums.quantile(weights, none + 0.5, 0.05))
    assert wider >= one
    deviation = float(sums.deviation(weights))
    assert deviation == pytest.approx(
        np.sqrt(((weights @ basis.decoding) ** 2).sum() * law.variance)
    )
