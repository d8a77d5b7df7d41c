"""Plans whose counts are not below zero: they add up, hold, and are derived again."""

import copy
import json

import pyarrow as pa
import pytest

import tacit as tc
from tacit.errors import UsageError

pytestmark = pytest.mark.full
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


def test_a_certificate_that_leaves_it_out_does_not_hold():
    with tc.Session(FEW, tc.one_row_each, tc.rho(1), tc.in_memory, name="few") as session:
        body = plan_of(session).release(rho="1/2")[0].certificate.body
    forged = json.loads(json.dumps(copy.deepcopy(body)))
    for _, asked in forged["question"]["query"]["aggregates"]:
        asked.pop("nonnegative", None)
    assert not tc.Certificate(forged).verify()


def test_errors_and_intervals_are_those_of_least_squares():
    with tc.Session(FEW, tc.one_row_each, tc.rho(1), tc.in_memory, name="few") as session:
        one, two = plan_of(session), plan_of(session, nonnegative=False)
        assert one.preview(rho=1).errors == two.preview(rho=1).errors
        assert one.cost(rho=1) == two.cost(rho=1)


def test_it_is_a_choice_of_yes_or_no():
    session = tc.Session(FEW, tc.one_row_each, tc.rho(1), tc.in_memory, name="few")
    with session, pytest.raises(UsageError, match="nonnegative"):
        session.plan([session.agg(n=tc.count())], nonnegative="no")


def test_more_cells_than_can_be_fitted_are_refused_before_the_charge():
    with tc.Session(FEW, tc.one_row_each, tc.rho(1), tc.in_memory, name="few") as session:
        sites, ages = list(range(440)), range(1000)
        asked = session.group_by("site", keys=sites).agg(ages=tc.histogram("age", ages))
        with pytest.raises(UsageError, match="262,144 cells"):
            session.plan([asked], nonnegative=True).release(rho="1/2")
        assert session.remaining == tc.rho(1)
