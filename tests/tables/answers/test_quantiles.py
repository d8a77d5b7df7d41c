"""The interquartile range of a column: its loss, estimate and interval, and a whole release."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

import tacit as tc
from tables.answers.released import enough
from tacit.cli import run
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.tables.answers.base import Noise
from tacit.tables.answers.quantiles import InterquartileRangePart
from tacit.tables.steps import Answers, BoundContributions, table_space

RUNS = 200
PART = InterquartileRangePart("x", Grid.for_bounds(0, 40, bits=8))
KIND = "interquartile_range"


def on_grid(values):
    """The places of values from 0 to 40 on the grid."""
    return np.floor(np.asarray(values, dtype=float) / float(PART.grid.step) + 0.5).astype(np.int64)


def counted(values):
    return np.unique(on_grid(values), return_counts=True)


def ranges(values):
    """The least and the greatest range of quartiles by their definition, and interpolated ones."""
    points = (on_grid(values) * float(PART.grid.step)).tolist()

    def quartiles(share):
        found = [
            c
            for c in points
            if sum(v < c for v in points) <= share * len(points)
            and sum(v > c for v in points) <= (1 - share) * len(points)
        ]
        return [*found, float(np.quantile(points, float(share)))]

    first, third = quartiles(Fraction(1, 4)), quartiles(Fraction(3, 4))
    return max(min(third) - max(first), 0), max(third) - min(first)


def released(values, spent):
    """What the part releases on a column, many times over."""
    space = table_space({"x": "float"}, "p" if spent.rows > 1 else None)
    chain = space >> BoundContributions(spent.rows, spent.rows)
    cells = [
        (chain >> costs >> choice)(Answers({costs: [counted(values)] * RUNS}))
        for costs, choice in PART.chains(RUNS, (), spent)
    ]
    return PART.estimates(cells, spent)[KIND]


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_six_choices_spend_what_was_granted(kind):
    for rows, one in ((1, 1), (5, 1 << 20)):
        spent = Noise(kind, Fraction(3, 10), rows, one)
        chain = table_space({"x": "float"}, "p" if rows > 1 else None)
        chain = chain >> BoundContributions(rows, rows)
        losses = [(chain >> costs >> choice).map(1) for costs, choice in PART.chains(1, (), spent)]
        assert len(losses) == 6
        assert spent.loss * Fraction(999_999, 1_000_000) <= sum(losses) <= spent.loss


@pytest.mark.few(4)
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    "values",
    [
        np.linspace(3, 33, 400),
        [10] * 150 + [30] * 150,
        [7] * 200,
        [0, 12, 13, 40],
        [],
    ],
    ids=["even", "two values", "one value", "four rows", "no rows"],
)
def test_the_interval_holds_the_range_as_often_as_it_says(kind, values):
    found = released(values, Noise(kind, Fraction(4), 1))
    least, most = ranges(values) if len(values) else (0, 0)
    assert ((found.lower <= least) & (most <= found.upper)).sum() >= enough(RUNS)
    assert (found.lower >= 0).all()
    assert (found.coherent().lower <= found.value).all()
    assert (found.value <= found.coherent().upper).all()
    assert np.isnan(found.standard_error).all()


def test_with_enough_rows_the_answer_and_its_interval_are_near():
    found = released(np.linspace(0, 40, 20_001), Noise("laplace", Fraction(4), 1))
    assert np.abs(found.value - 20).max() < 0.5
    assert (found.upper - found.lower).max() < 2


def test_the_error_in_rank_holds_for_both_quartiles():
    spent, rows = Noise("laplace", Fraction(2), 1), 2000
    values = np.linspace(0, 40, rows)
    said = PART.expected_error(KIND, spent, rows)
    at = on_grid(values)
    upto = np.concatenate([[0], np.cumsum(np.bincount(at, minlength=PART.grid.cells + 1))])
    chain = table_space({"x": "float"}, None) >> BoundContributions(1, 1)
    off = []
    for share, (costs, choice) in zip((0.25, 0.75), PART.chains(RUNS, (), spent), strict=False):
        cells = np.array((chain >> costs >> choice)(Answers({costs: [counted(values)] * RUNS})))
        below, within = upto[cells], upto[cells + 1]
        off.append(np.maximum(np.maximum(below - share * rows, share * rows - within), 0))
    assert (np.maximum(*off) <= said).sum() >= enough(RUNS)

    def missed(rank):  # by one quartile or the other: epsilon 1/2 each, and a row moves costs by 3
        return 2 * (PART.grid.cells + 1) * math.exp(-4 * rank * 0.5 / (2 * 3))

    assert missed(said) <= 0.05 < missed(said - 1)


def test_quartiles_that_crossed_make_no_range_below_zero():
    spent = Noise("laplace", Fraction(1), 1)
    cells = [[9], [5], [0], [10], [2], [20]]
    found = PART.estimates(cells, spent)[KIND].coherent()
    assert (found.value[0], found.lower[0]) == (0, 0)
    assert found.upper[0] == 20 * float(PART.grid.step)


def test_it_is_a_statistic_without_a_column():
    at = tc.sensitivity(tc.interquartile_range(), over=tc.Values([0, 1, 5], size=4))
    assert at.value == tc.sensitivity("iqr", over=tc.Values([0, 1, 5], size=4)).value
    with pytest.raises(UsageError, match="both bounds"):
        tc.interquartile_range("x", 0)
    with pytest.raises(UsageError, match="one method"):
        tc.interquartile_range("x", 0, 1, method="smooth")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("iqr") / "people.csv"
    rows = [f"{i // 2},{i % 80},{'abc'[i % 3]}" for i in range(3000)]
    path.write_text("person,age,site\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return str(path)


def question(session):
    adults = session.filter(tc.col("age") >= 20)
    return adults.agg(spread=tc.interquartile_range("age", 0, 100), n=tc.count())


@pytest.mark.parametrize(
    ("budget", "price"),
    [(tc.epsilon(20), {"epsilon": 6}), (tc.rho(20), {"rho": 2})],
    ids=["epsilon", "rho"],
)
def test_by_public_groups_of_people(table, budget, price):
    protects = tc.unit("person", rows=2)
    with tc.Session(table, unit=protects, budget=budget, ledger=tc.in_memory) as session:
        asked = question(session).group_by("site", keys=["a", "b", "c", "nobody"])
        expected = asked.preview(**price)
        assert expected.units["spread"] == "rows in rank"
        answer = asked.release(**price)
        left = session.remaining
        again = asked.release(**price)
        assert again.replayed
        assert again.value("spread", "a") == answer.value("spread", "a")
        assert session.remaining == left
    assert 20 < answer.value("spread", "a") < 40  # the rows of adults lie evenly in 20..79
    low, high = answer.interval("spread", "a")
    assert 0 <= low <= answer.value("spread", "a") <= high <= 100
    assert answer.value("n", "a") > 500
    checked = answer.certificate.verify()
    assert checked, str(checked)
    page = answer.certificate.to_html()
    assert "the interquartile range of age" in page


def test_with_groups_that_nobody_listed(table):
    budget = tc.epsilon_delta(20, "1e-5")
    with tc.Session(table, unit=tc.one_row_each, budget=budget, ledger=tc.in_memory) as session:
        answer = question(session).group_by("site").release(epsilon=8, delta="1e-6")
    assert answer.keys == [("a",), ("b",), ("c",)]
    assert answer.certificate.verify()


def test_a_certificate_that_was_changed_does_not_hold(table):
    with tc.Session(
        table, unit=tc.one_row_each, budget=tc.epsilon(9), ledger=tc.in_memory
    ) as session:
        body = question(session).release(epsilon=4).certificate.body
    first, *others = body["answer"]["columns"]
    forged = {**first, "value": [first["value"][0] + 1]}
    answer = {**body["answer"], "columns": [forged, *others]}
    assert not tc.Certificate({**body, "answer": answer}).verify()


def test_on_the_command_line_and_in_a_plan(table, tmp_path, capsys):
    ledger = str(tmp_path / "a.ledger")
    flags = ["--interquartile-range", "age:0:100", "--by", "site", "--keys", "a,b"]
    spent = ["--epsilon", "4", "--budget-epsilon", "8", "--ledger", ledger]
    assert run(["release", table, "--one-row-each", *flags, *spent, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["releases"][0]
    assert 0 <= first["answers"][0]["interquartile_range_age"]["value"] <= 100
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f"""
        source = {{ path = "{table}" }}
        budget = {{ ledger = "{ledger}" }}
        [[question]]
        by = ["site"]
        keys = ["a", "b"]
        epsilon = 4
        [question.answers.interquartile_range_age]
        statistic = "interquartile_range"
        column = "age"
        lower = 0
        upper = 100
        """,
        encoding="utf-8",
    )
    assert run(["release", "--plan", str(plan), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)["releases"][0]
    assert again["replayed"]
    assert again["answers"] == first["answers"]
