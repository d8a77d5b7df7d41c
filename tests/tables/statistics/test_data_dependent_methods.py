"""A question that names its method: what it publishes, refuses, records and costs."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from support.by_hand.methods_by_hand import (
    CONCENTRATED,
    GROUPS,
    HOWS,
    UNITS,
    Release,
    renyi,
    rows_of,
    table_of,
    tables,
    worst,
)
from support.tables.small_groups import (
    ON_RECORDS,
    PEOPLE,
    TESTED,
    bins_of,
    data_sets,
    records_of,
    vectors,
)
from tacit.accounting.ledger_chain import key_of
from tacit.audit import verify
from tacit.core import Space, step_from
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms import user_measurement
from tacit.mechanisms.smooth import SmoothNoise
from tacit.tables import privacy_unit as contributions
from tacit.tables.statistics.data_dependent_steps import (
    ChangedRecords,
    CountedRecords,
    EachGroup,
    MeanOfPeople,
    PeopleInBins,
    RecordsByGroup,
    SampleMean,
)
from tacit.tables.statistics.quantiles import MedianOfColumn
from tacit.tables.steps import UnitDistance, table_space

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


ODD = {"nan": [math.nan] * 4, "far": [math.inf, -math.inf, 1e300], "same": [7.0] * 9, "none": []}


@pytest.mark.few(2)
@pytest.mark.parametrize("how", METHODS, ids=lambda how: "-".join(map(str, how.values())))
def test_no_data_can_make_it_fail(how):
    rows = [(name, value) for name, values in ODD.items() for value in values]
    table = pd.DataFrame(rows, columns=["g", "x"])
    how = {**how, "rows": 40} if "rows" in how else how
    kinds = ["median"] if how.get("bound") == "5" else [kind for kind in KINDS if kind != "var"]
    asked = {kind: KINDS[kind][0]("x", 0, 10, **how) for kind in kinds}
    for opened in (
        session(table).group_by("g", keys=list(ODD)),
        session(table.iloc[:0].astype({"g": "str"})),
    ):
        answer = opened.agg(**asked).release(epsilon=5, delta="1e-6")
        for label in answer.labels:
            assert all(v is None or 0 <= v <= 10 for v in answer.column(label)["value"])


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
    assert plain == named == MedianOfColumn("age", plain.lower, plain.upper, q=plain.q)
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
        session(table).filter(tc.col("pay") >= 100).with_columns(half=tc.col("age") / 2)
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


# Releases by ``method=``, end to end: small tables, people with several rows, unknown keys.
#
# The joint law of the keys and of all groups' answers, by hand, on every pair of neighbouring
# tables, against what the session is charged.


@pytest.fixture
def one_salt(monkeypatch: pytest.MonkeyPatch) -> None:
    """The claim holds for every salt, so for their mixture: neighbours are compared under one."""
    monkeypatch.setattr(contributions, "new_salt", lambda: "salt of this test")


FEW = [  # all of them in tests/slow
    (HOWS[0], UNITS[1], False),
    (HOWS[1], tc.one_row_each, True),
    (HOWS[2], UNITS[2], True),
    (HOWS[3], UNITS[1], False),
    (HOWS[4], UNITS[0], True),
    (HOWS[5], tc.one_row_each, False),
    (HOWS[5], UNITS[1], False),
]


@pytest.mark.usefixtures("one_salt")
@pytest.mark.full
@pytest.mark.few(7)
@pytest.mark.parametrize(("how", "unit", "known"), FEW)
def test_no_pair_of_tables_exceeds_what_is_charged(
    how: dict[str, Any], unit: Any, known: bool
) -> None:
    release = Release("median", tuple(how.items()), unit, known)
    cost = release.plan.cost
    assert cost.amount <= 4
    assert cost.delta <= tc.epsilon_delta(1, "1/5").delta
    assert worst(release) <= 1e-12


@pytest.mark.usefixtures("one_salt")
@pytest.mark.full
@pytest.mark.parametrize(
    ("unit", "distribution"), [(UNITS[1], CONCENTRATED[2]), (UNITS[2], CONCENTRATED[1])]
)
def test_no_pair_of_tables_exceeds_the_rho_that_is_charged(distribution: str, unit: Any) -> None:
    how = (("method", "smooth"), ("distribution", distribution))
    release = Release("median", how, unit, known=True, budget=tc.rho(1))
    for pair in tables(unit)[::3]:
        laws = [release.counted(rows)[1][GROUPS] for rows in pair]
        for one, other in (laws, laws[::-1]):
            for order in (1.01, 2.0, 8.0, 32.0):
                loss = sum(
                    renyi(release.law(p), release.law(q), order)
                    for p, q in zip(one, other, strict=True)
                )
                assert loss <= float(release.plan.cost.amount) * order + 1e-9


@pytest.mark.usefixtures("one_salt")
def test_the_engine_counts_every_row_of_people_within_the_limit() -> None:
    release = Release("median", tuple(HOWS[0].items()), UNITS[1])
    rows = rows_of((("a", 4), ("b", 0)), (("a", 0), ("a", 4)), (("b", 4),))
    people, found = release.counted(rows)
    assert people == {("a",): 2, ("b",): 2}
    assert found[GROUPS] == [((0, 4, 4),), ((0, 4),)]
    assert found[GROUPS[:1]] == [((0, 4, 4),)]


@pytest.mark.usefixtures("one_salt")
@pytest.mark.full
def test_noise_that_is_too_small_exceeds_what_is_charged() -> None:
    for how, sharp in ((HOWS[1], 0.6), (HOWS[5], 0.4)):
        release = Release("median", tuple(how.items()), tc.one_row_each, True, tc.epsilon(4), sharp)
        assert worst(release) > 1e-3


@pytest.mark.usefixtures("one_salt")
@pytest.mark.few(4)
@pytest.mark.parametrize("how", HOWS, ids=lambda how: "-".join(map(str, how.values())))
def test_where_no_key_passes_the_answer_has_no_groups(how: dict[str, Any]) -> None:
    release = Release("median", tuple(how.items()), UNITS[1])
    session = tc.Session(table_of(()), unit=UNITS[1], budget=release.budget)
    asked = session.group_by("g").agg(x=release.aggregate)
    assert asked.release(epsilon=4, delta="1/5").keys == []


# Bins of people: whole rows, one bin each, and the mean of people by its map.


def binned(groups, bins, most):
    return list(data_sets(groups * bins, most))


@pytest.mark.full
@pytest.mark.parametrize("statistic", ["median", "mean", "std"])
@pytest.mark.parametrize(("groups", "bins"), [(1, 2), (2, 1)])
def test_the_mean_of_people_keeps_its_map_and_attains_it(statistic, groups, bins):
    m = bins_of(groups, bins) >> MeanOfPeople(statistic, 1, "1/2")
    verdict = verify(m, binned(groups, bins, 2), d_in=2).or_raise()
    assert verdict.kind == "exact"
    assert verdict.tight


def test_a_map_that_is_cut_is_caught():
    right = bins_of(1, 2) >> MeanOfPeople("median", 1, "1/2")
    wrong = user_measurement(
        right.input,
        right.function,
        lambda d: right.map(d) * 2 / 3,
        distribution=right.law,
    )
    assert verify(wrong, binned(1, 2, 2)).broken


@pytest.mark.full
def test_a_person_keeps_whole_rows_and_one_bin():
    table = pd.DataFrame(
        {"person": [7] * 6 + [8], "g": list("aabbcaa"), "x": [0, 1, 2, 3, 4, 0, 2], "y": 0.0}
    )
    unit = tc.unit("person", rows=2, groups=1)
    for _ in range(10):
        for _, step, found in vectors(table, unit):
            if isinstance(step, PeopleInBins):
                used = [sum(len(part[0]) for part in found[i : i + 3]) for i in (0, 3, 6)]
                bins = [i % 3 for i, part in enumerate(found) if len(part[0])]
                assert len(set(bins)) <= 2
                assert sum(used) <= 3
            elif step.column == "x":
                assert sum(int(counts.sum()) for _, counts in found) == 3  # 2 of one, 1 of another


def test_bins_of_several_groups_are_bins_of_each():
    records = Space(CountedRecords(3, Fraction(0), Fraction(4), 4), ChangedRecords())
    built = records >> EachGroup(SampleMean("mean", bins=2, epsilon=1))
    assert built.map(6) == 6


# Mechanisms on records of groups, held to their maps: exact laws, and what an engine counts.


@pytest.mark.parametrize(
    ("space", "step"),
    [
        *((records_of(1), EachGroup(inner)) for inner in [*ON_RECORDS, TESTED]),
        (bins_of(1, 2), MeanOfPeople("std", 1, "1/2")),
    ],
    ids=str,
)
def test_mechanisms_are_built_again_from_their_description_and_grow(space, step):
    again = step_from(step.describe())
    losses = [(space >> step).map(d) for d in range(4)]
    assert losses == [(space >> again).map(d) for d in range(4)]
    assert losses[0] in (0, (0, 0))
    assert losses == sorted(losses)
    assert (space >> step).distribution(
        [(np.array([1]), np.array([2]))] * (2 if step.name == "mean_of_people" else 1)
    )


def test_distances_of_domains_with_themselves_are_zero():
    for space in (records_of(2), bins_of(2, 3)):
        drawn = space.domain.sample(random.Random(5))
        assert space.domain.contains(drawn)
        assert space.metric.distance(drawn, drawn) == 0
        assert str(space)


def test_steps_are_refused_on_other_spaces():
    people = table_space({"x": "integer"}, "person")
    with pytest.raises(MismatchError, match="SymmetricDistance"):
        people >> RecordsByGroup("x", "0", "1", 4, 1)
    with pytest.raises(MismatchError, match="counted records"):
        people >> EachGroup(ON_RECORDS[0])
    with pytest.raises(MismatchError, match="bins"):
        records_of(1) >> MeanOfPeople("median", 1)


def draw_table(source):
    rows = [
        {
            "person": source.choice(PEOPLE),
            "g": source.choice("abcd"),
            "x": source.choice([-3, 0, 1, 4, 9]),
            "y": source.choice([float("nan"), -0.5, 0.25, float("inf")]),
        }
        for _ in range(source.randint(0, 14))
    ]
    return pd.DataFrame(rows, columns=["person", "g", "x", "y"]).astype(
        {"person": "int64", "g": "str", "x": "int64", "y": "float64"}
    )


def other_table(table, source, unit):
    if unit.column is None:
        kept = table.drop(index=list(table.index[: source.randint(0, 2)]))
        return pd.concat([kept, draw_table(source).iloc[: source.randint(0, 2)]])
    gone = source.sample(PEOPLE, source.randint(0, 2))
    new = draw_table(source)
    return pd.concat([table[~table["person"].isin(gone)], new[new["person"].isin(gone)]])


@pytest.mark.full
@pytest.mark.parametrize(
    "unit",
    [
        tc.one_row_each,
        tc.unit("person", rows=1),
        tc.unit("person", rows=2, groups=1),
        tc.unit("person", rows=3, groups=2),
    ],
    ids=str,
)
def test_records_and_bins_keep_their_maps_whatever_the_salt(unit, monkeypatch):
    moved = 0
    for seed in range(12):
        monkeypatch.setattr(contributions, "new_salt", lambda seed=seed: f"salt {seed}")
        source = random.Random(f"{unit} {seed}")
        u = draw_table(source)
        v = other_table(u, source, unit)
        d_in = UnitDistance(unit.column).distance(u.to_dict("list"), v.to_dict("list"))
        for (chain, step, left), (_, _, right) in zip(
            vectors(u, unit), vectors(v, unit), strict=True
        ):
            limit = Fraction(d_in)
            for link in chain.links[:-1]:
                limit = link.map(limit)
            metric = chain.links[-2].output.metric
            assert metric.distance(left, right) <= limit, (step, seed)
            moved += metric.distance(left, right) > 0
    assert moved > 10


# Records of groups: each group keeps the map of one, and no distance of anything with itself.


@pytest.mark.full
@pytest.mark.parametrize("inner", ON_RECORDS, ids=str)
@pytest.mark.parametrize(("groups", "most"), [(1, 3), (2, 2)])
def test_each_group_keeps_the_map_of_one(inner, groups, most):
    m = records_of(groups) >> EachGroup(inner)
    verdict = verify(m, list(data_sets(groups, most)), d_in=2).or_raise()
    assert verdict.kind == "exact"


@pytest.mark.full
def test_each_group_keeps_the_map_of_a_tested_bound():
    few = [([], []), ([0], [1]), ([0, 2], [1, 1])]
    data = [[(np.array(cells, np.int64), np.array(counts, np.int64))] for cells, counts in few]
    assert verify(records_of(1) >> EachGroup(TESTED), data).or_raise().kind == "exact"


def test_noise_of_half_the_scale_in_each_group_is_caught():
    m = records_of(2) >> EachGroup(SmoothNoise("median", 2, distribution="cauchy", grid=2))
    wrong = user_measurement(m.input, m.function, lambda d: m.map(d) / 2, distribution=m.law)
    assert verify(wrong, list(data_sets(2, 2))).broken


def test_one_person_attains_the_map_of_the_records():
    rows = pd.DataFrame({"person": [1, 1], "g": ["a", "b"], "x": [1, 4], "y": [0.0, 0.1]})
    unit = tc.unit("person", rows=2)
    with_one, without = vectors(rows, unit), vectors(rows.iloc[:0], unit)
    for (chain, _, left), (_, _, right) in zip(with_one, without, strict=True):
        assert chain.links[-2].output.metric.distance(left, right) == 2
