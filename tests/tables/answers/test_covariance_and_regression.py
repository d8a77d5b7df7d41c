"""Linear regression: estimate and intervals against the definition, and whole releases."""

import json
import random

import numpy as np
import pytest

import tacit as tc
from support.certificates.certificate_changes import OPEN, changed, changes, named
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
from tacit.tables.answers.covariance_and_regression import LinearRegressionPart

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
@pytest.mark.parametrize("spent", PRODUCT_NOISES.values(), ids=PRODUCT_NOISES)
@pytest.mark.parametrize("columns", [2, 3, 4, 6])
def test_without_noise_it_is_that_of_the_definition(spent, columns):
    part = part_of(columns)
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


@pytest.mark.few(2)
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
    s = shapes(20_000, 3)["free"]
    s[:, 2] = np.clip(s[:, 1] * (1 - apart) + apart * s[:, 2], -1, 1)
    found, true = fitted(part, s, spent), truth(part, s)
    said = ~np.isnan(found.lower)
    if true is None:
        assert (~said).sum() >= enough(RUNS) * 3
    else:
        held = ~said | ((found.lower <= true) & (true <= found.upper))
        assert (held.sum(axis=0) >= enough(RUNS)).all()
    assert np.isfinite(found.value).all()


@pytest.fixture
def table(tmp_path):
    source = np.random.default_rng(3)
    path = tmp_path / "people.csv"
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


@pytest.mark.parametrize(
    ("budget", "price"),
    [(tc.epsilon(900), {"epsilon": 400}), (tc.rho(9000), {"rho": 4000})],
    ids=["epsilon", "rho"],
)
def test_by_groups_of_people(table, budget, price):
    with tc.Session(table, unit=tc.unit("person", rows=2), budget=budget) as session:
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
