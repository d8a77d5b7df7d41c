"""A question that names its method: what it publishes, refuses, records and costs."""

import json
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tacit.accounting.ledger_chain import key_of
from tacit.errors import UsageError
from tacit.tables.answers.base import Aggregate

BOTH = tc.epsilon_delta(100, "1e-3")
EVEN = pd.DataFrame({"x": (np.arange(4000) + 0.5) / 40, "site": [1, 2] * 2000})
KINDS = {
    "mean": (tc.mean, 50, 10),
    "var": (tc.var, 833, 300),
    "std": (tc.std, 29, 10),
    "median": (tc.median, 50, 10),
    "p90": (lambda *a, **k: tc.percentile(a[0], 90, *a[1:], **k), 90, 10),
}
METHODS = [
    {"method": "smooth"},
    {"method": "smooth", "distribution": "cauchy"},
    {"method": "ptr", "bound": "5"},
    {"method": "ptr", "bound": "search"},
    {"method": "sample_and_aggregate", "bins": 40},
    {"method": "auto", "rows": 400},
]


def session(table=EVEN, budget=BOTH, unit=tc.one_row_each, **given):
    return tc.Session(table, budget=budget, unit=unit, **given)


def saved(answer, tmp_path):
    answer.certificate.save(tmp_path / "c.json")
    return tc.Certificate.load(tmp_path / "c.json")


@pytest.mark.few(18)
@pytest.mark.parametrize("how", METHODS, ids=lambda how: "-".join(map(str, how.values())))
@pytest.mark.parametrize("kind", KINDS)
def test_every_method_answers_and_its_certificate_holds(kind, how, tmp_path):
    ask, truth, room = KINDS[kind]
    if kind == "var" and how.get("bound") == "5":
        how = {**how, "bound": 100}
    question = session().agg(x=ask("x", 0, 100, **how), n=tc.count())
    answer = question.release(epsilon=20, delta="1e-5")
    assert abs(answer.value("x") - truth) < room
    assert answer.cost.amount == 20
    certificate = saved(answer, tmp_path)
    assert certificate.verify(), str(certificate.verify())
    told = certificate.body["answer"]["columns"][0]["method"]
    assert told["asked"] == how["method"]
    assert told["used"] == how["method"] or how["method"] == "auto"
    assert answer.certificate.to_html().count(" x")


@pytest.mark.parametrize("unit", [tc.one_row_each, tc.unit("site", rows=2)], ids=str)
def test_a_rho_for_sample_and_aggregate_alone_is_charged_as_rho(unit):
    """All of its chains lose a pure epsilon; that number was once charged as if it were a rho."""
    with session(budget=tc.rho(1), unit=unit) as opened:
        ask = tc.median("x", 0, 100, method="sample_and_aggregate", bins=10)
        answer = opened.agg(x=ask).release(rho="1/1000")
        assert 0.00099 < answer.cost.amount <= Fraction(1, 1000)
        assert answer.certificate.verify(opened.ledger)
        beside = opened.agg(x=ask, n=tc.count()).release(rho="1/1000")
        assert beside.cost.amount <= Fraction(1, 1000)


@pytest.mark.few(6)
@pytest.mark.parametrize("budget", [tc.epsilon(100), tc.rho(100)], ids=str)
@pytest.mark.parametrize("name", ["smooth", "sample_and_aggregate", "auto"])
def test_pure_and_concentrated_budgets(budget, name, tmp_path):
    keys = session(budget=budget).group_by("site", keys=[1, 2, 3])
    question = keys.agg(x=tc.median("x", 0, 100, method=name, bins=None), m=tc.mean("x", 0, 100))
    price = {"rho": 8} if budget.kind == "concentrated" else {"epsilon": 8}
    answer = question.release(**price)
    assert saved(answer, tmp_path).verify()
    assert answer.cost.amount <= 8
    assert all(abs(answer.value("x", site) - 50) < 12 for site in (1, 2))
    assert 0 <= answer.value("x", 3) <= 100  # nobody is there, and nothing tells


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "unit",
    [tc.unit("person", rows=1), tc.unit("person", rows=3), tc.unit("person", rows=3, groups=1)],
    ids=str,
)
@pytest.mark.parametrize("how", METHODS[::2], ids=lambda how: how["method"])
def test_people_with_several_rows(unit, how, tmp_path):
    table = EVEN.assign(person=np.arange(4000) % 2500)
    asked = session(table, unit=unit).group_by("site", keys=[1, 2])
    question = asked.agg(x=tc.median("x", 0, 100, **how))
    answer = question.release(epsilon=60, delta="1e-4")
    assert saved(answer, tmp_path).verify()
    assert answer.cost.amount <= 60
    assert answer.cost.delta <= tc.epsilon_delta(1, "1e-4").delta
    assert all(abs(answer.value("x", site) - 50) < 12 for site in (1, 2))


def test_unknown_keys_share_the_delta(tmp_path):
    question = (
        session()
        .group_by("site")
        .agg(
            x=tc.median("x", 0, 100, method="smooth", distribution="laplace"),
            y=tc.mean("x", 0, 100, method="ptr", bound=1),
        )
    )
    answer = question.release(epsilon=20, delta="1e-4")
    assert answer.keys == [(1,), (2,)]
    assert answer.cost.delta <= tc.epsilon_delta(1, "1e-4").delta
    assert saved(answer, tmp_path).verify()


def test_a_refusal_is_missing_everywhere_and_costs_the_same():
    few = pd.DataFrame({"x": [1.0, 50.0, 99.0]})
    s = session(few)
    question = s.agg(x=tc.median("x", 0, 100, method="ptr", bound="1/2"), n=tc.count())
    answer = question.release(epsilon=1, delta="1e-6")
    assert answer.refused("x")
    assert not answer.refused("n")
    assert answer.value("x") is None
    assert answer.interval("x") == (None, None)
    assert "refused by the test" in str(answer)
    assert answer.to_dict()["x"] == [None]
    assert answer.to_pandas()["x"].isna().all()
    assert answer.to_csv().splitlines()[1].startswith(",,,,")
    assert "refused by the test" in answer.certificate.to_html()
    assert answer.plot() is not None
    assert s.spent.amount == 1
    again = question.release(epsilon=1, delta="1e-6")
    assert again.replayed
    assert again.refused("x")
    told = answer.certificate.body["answer"]["columns"][0]
    assert set(told) == {
        "label", "kind", "value", "standard_error", "low", "high", "method", "refused"
    }  # fmt: skip
    assert told["method"] == {"asked": "ptr", "used": "ptr", "bound": "1/2"}


def test_smooth_noise_tells_nothing_of_its_size():
    answer = session().agg(x=tc.median("x", 0, 100, method="smooth")).release(epsilon=1)
    column = answer.column("x")
    assert (column["standard_error"], column["low"], column["high"]) == ([None], [None], [None])
    assert "[" not in str(answer).splitlines()[1]


def test_a_tested_bound_has_an_interval_that_follows_from_it():
    question = session().agg(x=tc.mean("x", 0, 100, method="ptr", bound="1/4"))
    answer = question.release(epsilon=2, delta="1e-6")
    low, high = answer.interval("x")
    assert high - low == pytest.approx(2 * 0.25 * math.log(20), rel=0.01)
    assert answer.column("x")["standard_error"][0] == pytest.approx(0.25 * math.sqrt(2), rel=0.01)


@pytest.mark.parametrize(
    ("make", "hint"),
    [
        (lambda: tc.median("x", 0, 100, method="smoth"), "did you mean 'smooth'"),
        (lambda: tc.median("x", 0, 100, method=None), "unknown"),
        (lambda: tc.sum("x", 0, 100, method="smooth"), "one method"),
        (lambda: tc.histogram("x", [0, 1], method="ptr"), "one method"),
        (lambda: tc.count(method="auto"), "one method"),
        (lambda: tc.min("x", 0, 100, method="smooth"), "one method"),
        (lambda: tc.max("x", 0, 100, method="average"), "unknown"),
        (lambda: tc.mean("x", 0, 100, method="ptr"), 'bound="search"'),
        (lambda: tc.mean("x", 0, 100, method="ptr", bound=0), "above"),
        (lambda: tc.mean("x", 0, 100, method="ptr", bound=-1), "above"),
        (lambda: tc.mean("x", 0, 100, method="smooth", bound=1), "method='ptr'"),
        (lambda: tc.mean("x", 0, 100, bins=10), "method='sample_and_aggregate'"),
        (lambda: tc.mean("x", 0, 100, method="sample_and_aggregate", bins=1), "at least 2"),
        (lambda: tc.mean("x", 0, 100, method="sample_and_aggregate", bins=2**30), "at most"),
        (lambda: tc.mean("x", 0, 100, method="auto", bins=50, rows=20), "at most the rows"),
        (lambda: tc.mean("x", 0, 100, method="auto", rows=0), "rows"),
        (lambda: tc.mean("x", 0, 100, method="auto", rows=10**9), "at most"),
        (lambda: tc.mean("x", 0, 100, rows=100), "auto"),
        (lambda: tc.mean("x", 0, 100, method="smooth", distribution="gauss"), "unknown"),
        (lambda: tc.mean(method="smooth"), "name the column"),
        (lambda: tc.percentile(90, method="auto"), "name the column"),
    ],
)
def test_bad_methods_are_refused_with_what_to_do(make, hint):
    with pytest.raises(UsageError, match=hint):
        make()


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("aggregate", "budget", "price", "hint"),
    [
        (tc.mean("x", 0, 100, method="ptr", bound=1), tc.epsilon(9), {"epsilon": 1}, "delta"),
        (tc.mean("x", 0, 100, method="ptr", bound=1), BOTH, {"epsilon": 1}, "delta"),
        (tc.mean("x", 0, 100, method="ptr", bound=1), tc.rho(9), {"rho": 1}, "delta"),
        (tc.mean("x", 0, 100, method="ptr", bound=50), BOTH, {"epsilon": 1, "delta": "1e-6"}, "50"),
        (tc.std("x", 0, 100, method="ptr", bound=99), BOTH, {"epsilon": 1, "delta": "1e-6"}, "50"),
        (
            tc.median("x", 0, 100, method="smooth", distribution="laplace"),
            BOTH,
            {"epsilon": 1},
            "student_t",
        ),
        (
            tc.median("x", 0, 100, method="smooth", distribution="arsinh_normal"),
            BOTH,
            {"epsilon": 1},
            "rho",
        ),
        (
            tc.median("x", 0, 100, method="smooth", distribution="laplace"),
            tc.rho(9),
            {"rho": 1},
            "delta",
        ),
        (tc.median("site_name", 0, 9, method="smooth"), BOTH, {"epsilon": 1}, "needs numbers"),
    ],
    ids=str,
)
def test_what_a_budget_cannot_pay_is_refused_before_anything_is_spent(
    aggregate, budget, price, hint
):
    s = session(EVEN.assign(site_name="a"), budget=budget)
    question = s.agg(x=aggregate)
    with pytest.raises(UsageError, match=hint):
        question.preview(**price)
    with pytest.raises(UsageError, match=hint):
        question.release(**price)
    assert not s.history()


@pytest.mark.few(2)
@pytest.mark.parametrize("values", [[], [math.nan] * 4, [math.inf, -math.inf, 1e300], [7.0] * 9])
@pytest.mark.parametrize("how", METHODS, ids=lambda how: "-".join(map(str, how.values())))
def test_no_data_can_make_it_fail(values, how):
    table = pd.DataFrame({"x": np.array(values, dtype=np.float64)})
    answer = (
        session(table)
        .agg(
            **{kind: ask("x", 0, 10, **how) for kind, (ask, _, _) in KINDS.items() if kind != "var"}
        )
        .release(epsilon=5, delta="1e-6")
        if how.get("bound") != "5"
        else session(table).agg(a=tc.median("x", 0, 10, **how)).release(epsilon=5, delta="1e-6")
    )
    for label in answer.labels:
        value = answer.value(label)
        assert value is None or 0 <= value <= 10


@pytest.mark.few(2)
@pytest.mark.parametrize("epsilon", [100, 1000, 160_000])
def test_much_epsilon_for_people_with_many_rows_is_paid_or_refused(epsilon):
    people = EVEN.assign(person=np.arange(4000) // 4)
    price = {"epsilon": epsilon, "delta": "1e-6"}

    def asked(**how):
        s = tc.Session(
            people, unit=tc.unit("person", rows=4), budget=tc.epsilon_delta(10**6, "1e-6")
        )
        return s.agg(x=tc.median("x", 0, 100, **how))

    assert abs(asked(method="smooth").release(**price).value("x") - 50) < 1
    for how in ({"method": "smooth", "distribution": "laplace"}, {"method": "ptr", "bound": 1}):
        if epsilon == 100:
            assert abs(asked(**how).release(**price).value("x") - 50) < 5
            continue
        with pytest.raises(UsageError, match="give less epsilon or fewer rows"):
            asked(**how).release(**price)


def test_the_global_method_is_what_it_was():
    plain, named = tc.median("age", 0, 100), tc.median("age", 0, 100, method="global")
    assert plain == named == Aggregate("median", "age", plain.lower, plain.upper, plain.q)
    assert named.to_json() == {
        "kind": "median", "column": "age", "lower": "0", "upper": "100", "q": "50"
    }  # fmt: skip
    s = session()
    first = s.agg(x=tc.mean("x", 0, 100)).release(epsilon=1)
    assert "method" not in first.certificate.body["answer"]["columns"][0]
    again = s.agg(x=tc.mean("x", 0, 100, method="global")).release(epsilon=1)
    assert again.replayed


@pytest.mark.full
def test_questions_of_other_methods_are_other_questions():
    s = session()
    asked = [s.agg(x=tc.mean("x", 0, 100, **how))._query.describe() for how in [{}, *METHODS]]
    assert len({key_of(question) for question in asked}) == len(asked)
    for how in METHODS:
        answer = s.agg(x=tc.mean("x", 0, 100, **how)).release(epsilon=1, delta="1e-6")
        assert not answer.replayed
        again = s.agg(x=tc.mean("x", 0, 100, **how)).release(epsilon=1, delta="1e-6")
        assert again.replayed
        assert again.value("x") == answer.value("x")


@pytest.mark.full
def test_a_certificate_that_hides_a_chain_or_another_method_fails():
    question = session().agg(
        x=tc.median("x", 0, 100, method="smooth"), y=tc.mean("x", 0, 100, method="auto")
    )
    body = question.release(epsilon=2, delta="1e-6").certificate.body
    assert tc.Certificate(body).verify()
    for change in (
        lambda b: b["chains"].pop(0),
        lambda b: b["chains"].pop(1),
        lambda b: b["answer"]["columns"][1]["method"].update(used="smooth"),
        lambda b: b["question"]["query"]["aggregates"][0][1]["method"].update(name="ptr"),
        lambda b: b["chains"][0]["steps"][-1]["inner"].update(epsilon="1/1000"),
    ):
        changed = json.loads(json.dumps(body))
        change(changed)
        failures = tc.Certificate(changed).verify().failures
        assert len(failures) > 1, failures  # more than the seal


@pytest.mark.full
def test_preview_tells_errors_refusals_and_choices():
    question = session().agg(
        a=tc.median("x", 0, 100, method="ptr", bound=1), b=tc.mean("x", 0, 100, method="smooth")
    )
    preview = question.preview(epsilon=1, delta="1e-6", rows=[100, 1000, 100_000])
    assert preview.refusals["a"][0] > 0.99 > 0.01 > preview.refusals["a"][2]
    assert preview.errors["b"][0] > preview.errors["b"][1] > preview.errors["b"][2]
    assert "mean absolute error" in str(preview)
    assert "a: refused with probability" in str(preview)
    assert preview.methods["a"] == "ptr, bound 1"
    with pytest.raises(UsageError, match="at most"):
        question.preview(epsilon=1, delta="1e-6", rows=[10**9])


@pytest.mark.few(4)
@pytest.mark.parametrize("how", METHODS, ids=lambda how: how["method"])
def test_derived_columns_filters_and_whole_numbers(how):
    table = pd.DataFrame({"age": np.arange(1000) % 90, "pay": np.arange(1000.0)})
    question = (
        session(table).filter(tc.col("pay") >= 100).with_column("half", tc.col("age") / 2)
        .agg(**{
            c: tc.median(c, 0, 100, **how) for c in ("age", "half")
        })
    )  # fmt: skip
    answer = question.release(epsilon=20, delta="1e-4")
    assert answer.certificate.verify()
    for label in answer.labels:
        truth = 45 if label.startswith("age") else 22
        assert answer.refused(label) or abs(answer.value(label) - truth) < 12


def test_noise_beyond_the_range_leaves_nothing_certain() -> None:
    names = [f"{i}" for i in range(400)]
    asked = session(pd.DataFrame({"site": names, "x": [5.0] * 400})).group_by("site", keys=names)
    found = asked.agg(v=tc.var("x", 0, 10, method="ptr", bound="search"))
    answer = found.release(epsilon=1, delta="1e-6")
    ends = [answer.interval("v", name) for name in names]
    assert all(low < high for low, high in ends)
