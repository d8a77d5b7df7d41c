"""Quantiles of few possible values, from noisy counts of them: map, intervals, choice."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from support.certificates.certificate_changes import changed
from tacit import noise
from tacit.core import AbsoluteDistance, Number, Space
from tacit.errors import MismatchError, UsageError
from tacit.expressions.grid import Grid
from tacit.report.issued import planner
from tacit.tables.statistics.counted_quantiles import (
    CellTables,
    CountedQuantilesPart,
    SumCells,
    SumOfCountChanges,
    chosen,
    counted,
)
from tacit.tables.statistics.part import Noise
from tacit.tables.statistics.percentiles import PercentilesPart
from tacit.tables.statistics.quantiles import QuantilePart

from .released import enough

GRID = Grid.for_bounds(0, 30, bits=31, whole=True)
NOISES = {
    "laplace": Noise("laplace", Fraction(1), 1),
    "laplace, people": Noise("laplace", Fraction(1, 2), 3, 4),
    "gaussian": Noise("gaussian", Fraction(1, 8), 1),
}
QUARTILES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))


def part(*shares: Fraction, kind: str = "percentiles") -> CountedQuantilesPart:
    return CountedQuantilesPart("x", GRID, shares, (kind,))


def released(made: CountedQuantilesPart, spent: Noise, values, runs: int) -> np.ndarray:
    """Draw what is released of one group, many times over."""
    strategy = made.strategy(spent.norm)
    exact = strategy.combined(np.bincount(values, minlength=made.cells) * spent.one)
    scale = spent.scale(spent.rows * spent.one * strategy.sensitivity)
    draw = noise.discrete_laplace if spent.kind == "laplace" else noise.discrete_gaussian
    drawn = np.asarray(draw(scale, runs * len(exact)), dtype=object).reshape(runs, -1)
    return drawn + np.asarray(exact, dtype=object)


SHAPES = {
    "even": lambda n: np.arange(n) * 31 // max(n, 1),
    "one value": lambda n: np.full(n, 7),
    "two values": lambda n: np.where(np.arange(n) % 2, 3, 29),
    "steep": lambda n: np.minimum((np.arange(n) % 37) ** 2 // 40, 30),
}


def check_coverage(spent: Noise, size: int, runs: int) -> None:
    for shape, make in SHAPES.items():
        values = make(size)
        made = part(*QUARTILES)
        found = made.estimates([released(made, spent, values, runs)], spent)["percentiles"]
        between = part(Fraction(1, 4), Fraction(3, 4), kind="interquartile_range")
        (range_,) = between.estimates([released(between, spent, values, runs)], spent).values()
        assert (found.lower <= found.value).mean() > 0.9
        assert (np.diff(found.value, axis=1) >= 0).all()
        if not size:
            continue
        for how in ("linear", "lower", "higher"):
            true = np.quantile(values, [float(q) for q in QUARTILES], method=how)
            held = (found.lower <= true) & (true <= found.upper)
            assert (held.sum(axis=0) >= enough(runs)).all(), (shape, how, held.mean(axis=0))
            apart = true[2] - true[0]
            held = (range_.lower <= apart) & (apart <= range_.upper)
            assert held.sum() >= enough(runs), (shape, how, held.mean())


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 1, 3, 40, 400, 10_000])
@pytest.mark.parametrize("spent", NOISES.values(), ids=NOISES)
def test_intervals_cover(spent: Noise, size: int) -> None:
    check_coverage(spent, size, 2000)


@pytest.mark.parametrize(("name", "size"), [("laplace, people", 60), ("gaussian", 400)])
def test_intervals_cover_in_short(name: str, size: int) -> None:
    check_coverage(NOISES[name], size, 100)


@pytest.mark.parametrize("spent", NOISES.values(), ids=NOISES)
def test_the_map_is_the_loss_of_one_row_and_is_attained(spent: Noise) -> None:
    made = part(Fraction(1, 2))
    ((cells, sums),) = made.chains(1, (), spent)
    space = Space(CellTables(2, GRID.cells), SumOfCountChanges())
    assert isinstance(sums, SumCells)
    claimed = float((space >> sums).map(spent.rows * spent.one))
    assert claimed == pytest.approx(float(spent.loss), rel=1e-6)
    assert claimed <= spent.loss
    # each row moves one column of the sums
    unit = np.eye(made.cells, dtype=int) * spent.rows * spent.one
    moved = np.array([sums.strategy.combined(one) for one in unit], dtype=float)
    if spent.kind == "laplace":
        losses = np.abs(moved).sum(axis=1) / float(sums.scale)
    else:
        losses = (moved**2).sum(axis=1) / float(sums.scale) ** 2 / 2
    assert losses.max() == pytest.approx(claimed, rel=1e-6)
    assert cells.size == sums.strategy.combinations


def test_what_is_drawn_is_the_sums_with_noise_of_the_scale() -> None:
    space = Space(CellTables(2, 3), SumOfCountChanges())
    step = SumCells([[1, 0, 0, 0], [1, 1, 1, 1]], "1/40")
    groups = [(np.array([0, 3]), np.array([5, 2])), (np.array([], int), np.array([], int))]
    assert (space >> step)(groups) == [5, 7, 0, 0]  # noise of this scale is zero nearly surely
    with pytest.raises(UsageError):
        space >> SumCells([[1, 0]], 1)
    with pytest.raises(MismatchError):
        Space(Number("int", 0, 4, grid=Fraction(1)), AbsoluteDistance()) >> step


def test_the_mechanism_that_is_expected_to_reach_least_is_chosen() -> None:
    spent, half = NOISES["laplace"], Fraction(1, 2)
    first = QuantilePart("x", GRID, "median", half)
    few = counted("x", GRID, [half], "median")
    assert chosen([first, *few], None) is first
    best = chosen([first, *few], spent)
    assert isinstance(best, CountedQuantilesPart)
    assert best.interval(spent, 0.95) < first.interval(spent, 0.95)
    assert "31 possible values" in best.chosen_because
    wide = Grid.for_bounds(0, 1000, bits=31, whole=True)
    assert counted("x", wide, [half], "median") == []
    assert counted("x", Grid.for_bounds(0, 30), [half], "median") == []
    assert counted("x", GRID, [Fraction(1)], "max") == []
    several = PercentilesPart("x", GRID, QUARTILES)
    assert several.interval(spent, 0.95) > part(*QUARTILES).interval(spent, 0.95)


def test_an_open_charge_of_the_exponential_mechanism_draws_what_was_paid_for() -> None:
    rows, budget = pd.DataFrame({"x": [*range(30)] * 5}), tc.epsilon_delta(20, "1e-6")
    with tc.Session(rows, tc.one_row_each, budget, ledger=tc.in_memory) as session:
        asked = session.agg(m=tc.median("x", 0, 30))
        charge = asked._priced(epsilon=1)
        first = replace(charge.requested_plan(), rules=1)
        assert first.cost.parts != charge.requested_plan().cost.parts
        session.ledger.charge(charge.key, first.cost, charge.public)
        answer = asked.release(epsilon=1)
        certificate, ledger = answer.certificate, session.ledger
    assert certificate.body["chains"][0]["steps"][-1]["step"] == "choose_quantile"
    assert "intervals" not in certificate.body
    assert certificate.verify(ledger), str(certificate.verify(ledger))


def test_a_certificate_of_gaussian_noise_on_many_cells_has_a_page() -> None:
    rows = pd.DataFrame({"x": [*range(100)] * 5})
    with tc.Session(rows, tc.one_row_each, tc.rho(9), ledger=tc.in_memory) as session:
        certificate = session.agg(m=tc.median("x", 0, 100)).release(rho=1).certificate
    assert certificate.verify()
    assert "in 101 ways" in certificate.to_html()


def test_a_preview_names_a_choice_in_words_or_not_at_all() -> None:
    rows = pd.DataFrame({"x": [*range(30)] * 5})
    with tc.Session(rows, tc.one_row_each, tc.epsilon(20)) as session:
        for bounds in ((0, 30), (0, 1000)):
            asked = session.agg(m=tc.median("x", *bounds), far=tc.value_range("x", *bounds))
            for preview in (asked.preview(epsilon=9), session.plan([asked]).preview(epsilon=9)):
                assert "<" not in str(preview) + str(preview.to_json())


@pytest.mark.parametrize("sums", [[[1] * 6], [[1, 0, 0, 0, 0, 0]]])
def test_sums_that_do_not_determine_the_counts_are_refused(sums: list[list[int]]) -> None:
    with tc.Session(pd.DataFrame({"x": [5] * 50}), tc.one_row_each, tc.epsilon(20)) as session:
        body = session.agg(m=tc.median("x", 0, 5)).release(epsilon=1).certificate.body
    made = CountedQuantilesPart("x", Grid.for_bounds(0, 5, bits=31, whole=True), (), ("median",))
    step = body["chains"][0]["steps"][-1]
    made.use_stated([step])
    with pytest.raises(UsageError, match="do not say how many rows each value or bin has"):
        made.use_stated([{**step, "sums": sums}])


def test_the_smallest_integer_is_no_number_of_a_strategy() -> None:
    space = Space(CellTables(1, 1), SumOfCountChanges())
    with pytest.raises(UsageError, match="at most 2\\^20"):
        SumCells([[-(2**63), 0], [0, 1]], 1, "PureDP").build(space)


def test_a_release_says_which_and_is_checked_without_the_data() -> None:
    rows = pd.DataFrame({"x": [*range(30)] * 5, "g": ["a", "b", "c"] * 50})
    with tc.Session(rows, tc.one_row_each, tc.epsilon(20), ledger=tc.in_memory) as session:
        asked = session.group_by("g", keys=["a", "b"]).agg(
            m=tc.median("x", 0, 30), far=tc.interquartile_range("x", 0, 30), low=tc.min("x", 0, 30)
        )
        assert "noisy counts of all 31 possible values" in str(asked.preview(epsilon=9))
        answer = asked.release(epsilon=9)
        certificate, ledger = answer.certificate, session.ledger
    assert certificate.verify(ledger), str(certificate.verify(ledger))
    plan = planner().replan(certificate.body)
    numbers = certificate.body["answer"]["keys"], certificate.body["answer"]["released"]
    narrow, wide = (plan.answer(*numbers, level)["columns"][0] for level in (0.5, 0.999))
    assert all(a <= b for a, b in zip(wide["low"], narrow["low"], strict=True))
    assert all(a >= b for a, b in zip(wide["high"], narrow["high"], strict=True))
    chains = certificate.body["chains"]
    assert [chain["steps"][-1]["step"] for chain in chains][:2] == ["sum_cells", "sum_cells"]
    for field, value in (("scale", "1"), ("sums", [[1] * 31])):
        path = ("chains", 0, "steps", len(chains[0]["steps"]) - 1, field)
        assert not changed(certificate.body, path, value).verify()
