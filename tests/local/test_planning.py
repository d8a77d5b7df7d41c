"""Amplification by shuffling: a proven number, held against the definition; and the shuffler."""

from __future__ import annotations

import csv
import math
from fractions import Fraction
from itertools import combinations_with_replacement, permutations
from pathlib import Path

import numpy as np
import pytest

from local.every_mechanism import ALIKE, NAMES, truth
from local.local_laws import reproducible
from support.tables.shared_data import shared_file
from tacit.arithmetic.enclosure import exp
from tacit.errors import DataSourceError, RefusedError, UsageError
from tacit.local import (
    Collector,
    DirectEncoding,
    HadamardResponse,
    Items,
    OptimizedLocalHashing,
    PureOracle,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
    amplified,
    amplified_delta,
    append_reports,
    choose,
    nonnegative,
    norm_sub,
    normalised,
    shuffle_reports,
    simplex,
    write_reports,
)
from tacit.local import Estimate as PostprocessEstimate
from tacit.local.batch_file import Header, random_order
from tacit.local.estimate import Estimate


def clone_delta(ratio: Fraction, n: int, e: Fraction) -> Fraction:
    """The divergence of the theorem, by its definition, in fractions."""
    law: dict[tuple[int, int], list[Fraction]] = {}
    w, m = ratio / (ratio + 1), n - 1
    for c in range(m + 1):
        pc = math.comb(m, c) * (1 / ratio) ** c * (1 - 1 / ratio) ** (m - c)
        for a in range(c + 1):
            p = pc * Fraction(math.comb(c, a), 1 << c)
            for x, share in ((1, w), (0, 1 - w)):
                law.setdefault((a + x, c - a + 1 - x), [Fraction(0)] * 2)[0] += p * share
                law.setdefault((a + 1 - x, c - a + x), [Fraction(0)] * 2)[1] += p * share
    return sum((max(Fraction(0), p - e * q) for p, q in law.values()), Fraction(0))


@pytest.mark.few(3)
@pytest.mark.parametrize("ratio", [Fraction(3), Fraction(3, 2), Fraction(20)])
@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_delta_is_that_of_the_definition_and_never_below(ratio: Fraction, n: int) -> None:
    oracle = RandomizedResponse(p=1 - 1 / (ratio + 1))
    ratio = oracle.ratio
    for epsilon in (Fraction(0), Fraction(1, 10), Fraction(1, 3), Fraction(1)):
        if ratio > exp(epsilon).upper:
            e = exp(epsilon, 96)
            found = amplified_delta(oracle, n, epsilon)
            assert found >= clone_delta(ratio, n, e.lower)
            most = clone_delta(ratio, n, e.upper)
            assert found <= most * (1 + Fraction(1, 10**9)) + Fraction(1, 10**15)


def shuffled_delta(n: int, p: Fraction, e: Fraction) -> Fraction:
    """The true divergence of n shuffled randomized responses, the others answering "no"."""

    def law(first: int) -> list[Fraction]:
        q = 1 - p
        rest = [math.comb(n - 1, j) * q**j * p ** (n - 1 - j) for j in range(n)]
        yes = p if first else q
        return [
            yes * (rest[t - 1] if t else 0) + (1 - yes) * (rest[t] if t < n else 0)
            for t in range(n + 1)
        ]

    one, two = law(1), law(0)
    return max(
        sum((max(Fraction(0), a - e * b) for a, b in zip(u, v, strict=True)), Fraction(0))
        for u, v in ((one, two), (two, one))
    )


@pytest.mark.few(3)
@pytest.mark.parametrize("n", [2, 20, 200])
def test_shuffled_two_coins_are_at_least_as_private_as_promised(n: int) -> None:
    coins = RandomizedResponse(p="3/4")
    for delta in ("1e-2", "1e-6"):
        epsilon = amplified(coins, n, delta)
        assert shuffled_delta(n, coins.p, exp(epsilon, 96).lower) <= Fraction(delta)


@pytest.mark.full
def test_reference_value_and_the_closed_form() -> None:
    found = float(amplified(1, 10**6, "1e-6"))
    assert 0.00432 < found < 0.00436
    e0, n, delta = math.e, 10**6, 1e-6
    root = 8 * math.sqrt(e0 * math.log(4 / delta) / n) + 8 * e0 / n
    closed = math.log(1 + (e0 - 1) / (e0 + 1) * root)
    assert closed == pytest.approx(0.0235, abs=5e-5)
    assert closed / found == pytest.approx(5.4, abs=0.05)


@pytest.mark.full
def test_more_people_and_less_epsilon_protect_more() -> None:
    by_people = [amplified(2, n, "1e-6") for n in (1, 10, 100, 1000, 10**5)]
    assert by_people == sorted(by_people, reverse=True)
    assert by_people[0] >= 2
    by_loss = [amplified(e, 10**4, "1e-6") for e in ("0.1", 1, 4)]
    assert by_loss == sorted(by_loss)
    by_delta = [amplified(1, 10**4, d) for d in ("1e-12", "1e-3")]
    assert by_delta == sorted(by_delta, reverse=True)
    assert amplified_delta(1, 100, 1) == 0


def shuffled(laws: list[dict]) -> dict:
    """The law of the multiset of one report from each law: what a shuffler lets out."""
    found: dict = {(): Fraction(1)}
    for law in laws:
        longer: dict = {}
        for seen, share in found.items():
            for report, p in law.items():
                key = tuple(sorted((*seen, report)))
                longer[key] = longer.get(key, Fraction(0)) + share * p
        found = longer
    return found


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("oracle", "n"),
    [
        (DirectEncoding(3, epsilon=1), 4),
        (DirectEncoding(3, epsilon=3), 5),
        (RandomizedResponse(p="1/8"), 7),
        (UnaryEncoding(2, epsilon=1), 4),
        (SubsetSelection(4, epsilon=1), 4),
        (HadamardResponse(3, epsilon=2, blocks=1), 4),
    ],
    ids=lambda v: type(v).__name__ if not isinstance(v, int) else str(v),
)
def test_the_bound_holds_for_all_neighbours_of_few_people(oracle: PureOracle, n: int) -> None:
    """Every pair of answers of one person, whatever all others answer, by enumeration."""
    laws = [oracle.distribution(label) for label in oracle.domain.labels]
    k, greatest = len(laws), Fraction(0)
    for others in combinations_with_replacement(range(k), n - 1):
        rest = shuffled([laws[i] for i in others])
        outputs = [_with(rest, law) for law in laws]
        for epsilon in (Fraction(0), Fraction(1, 10), Fraction(1, 2)):
            bound, e = amplified_delta(oracle, n, epsilon), exp(epsilon, 96).upper
            for u, v in permutations(outputs, 2):
                true = sum((max(Fraction(0), p - e * v[y]) for y, p in u.items()), Fraction(0))
                assert true <= bound
                greatest = max(greatest, true / bound)
    assert greatest > Fraction(1, 3)  # the bound is of the right size as well


def _with(rest: dict, law: dict) -> dict:
    found: dict = {}
    for seen, share in rest.items():
        for report, p in law.items():
            key = tuple(sorted((*seen, report)))
            found[key] = found.get(key, Fraction(0)) + share * p
    return found


@pytest.mark.full
def test_epsilon_and_delta_agree() -> None:
    epsilon = amplified(1, 10**5, "1e-8")
    assert amplified_delta(1, 10**5, epsilon) <= Fraction(1, 10**8) * Fraction(10001, 10000)
    assert amplified_delta(1, 10**5, epsilon * Fraction(99, 100)) > Fraction(1, 10**8)


@pytest.mark.parametrize(
    ("loss", "n", "delta"),
    [(0, 9, "1e-6"), (-1, 9, "1e-6"), (25, 9, "1e-6"), (1, 0, "1e-6"), (1, 9, 0), (1, 9, 1),
     (float("nan"), 9, "1e-6"), (1, 2.5, "1e-6")],
)  # fmt: skip
def test_bad_questions(loss: object, n: object, delta: object) -> None:
    with pytest.raises(UsageError):
        amplified(loss, n, delta)  # type: ignore[arg-type]


def test_every_order_is_equally_likely() -> None:
    n, draws = 4, 24_000
    counts = dict.fromkeys(permutations(range(n)), 0)
    for _ in range(draws):
        counts[tuple(random_order(n).tolist())] += 1
    expected = draws / 24
    statistic = sum((c - expected) ** 2 / expected for c in counts.values())
    assert statistic < 70  # chi-squared with 23 degrees: beyond it once in a million runs


def test_the_shuffler_keeps_reports_and_drops_order_and_ids(tmp_path: Path) -> None:
    oracle = DirectEncoding(5000, epsilon=1)
    first, second, out = (tmp_path / name for name in ("1", "2", "out"))
    reports = oracle.perturb_many(range(5000))
    append_reports(first, oracle, reports[:3000])
    write_reports(second, oracle, reports[3000:], ids=False)
    with second.open("ab") as file:
        file.write(b"\xff\xff\xff")  # one report out of range, and one cut short
    (tmp_path / "junk").write_bytes(b"junk")
    write_reports(tmp_path / "other", UnaryEncoding(3, epsilon=1), [[1]])
    n, refused = shuffle_reports(
        [first, second, tmp_path / "junk", tmp_path / "other"], out, oracle
    )
    assert n == 5000
    assert refused == {"range": 1, "length": 1, "not a report": 1, "mechanism": 1}
    body = np.frombuffer(out.read_bytes()[Header.of(oracle, False).size :], "<u2")
    assert sorted(body) == sorted(reports)
    assert (body == reports).mean() < 0.05
    collector = Collector(oracle)
    assert collector.add_file(out) == 5000
    assert collector.state == oracle.aggregate(reports)
    with pytest.raises(DataSourceError, match="exists"):
        shuffle_reports([first], out, oracle)
    with pytest.raises(DataSourceError, match="cannot be read"):
        shuffle_reports([tmp_path / "none"], tmp_path / "new", oracle)


# The mechanism of least variance for a question.


def test_choosing_ranks_by_exact_variance():
    choice = choose(1024, n=1000, epsilon=1)
    variances = [o.variance for o in choice.options]
    assert variances == sorted(variances)
    assert len(choice.options) == 9
    assert isinstance(choice.best, OptimizedLocalHashing)
    by_name = {o.name: o for o in choice.options}
    poisoned = {"direct encoding (GRR)": 596, "optimised local hashing": 3.3,
               "unary encoding, optimised": 3.2, "Hadamard response": 2.2}  # fmt: skip
    for name, people in poisoned.items():
        assert float(by_name[name].influence) == pytest.approx(people, abs=0.5)
    assert "error of a count" in str(choice)
    with pytest.raises(UsageError):
        choose(1024, n=1000, epsilon=-1)


# Estimates: no bias, intervals that cover, pictures.


@pytest.mark.few(9)
@pytest.mark.parametrize("oracle", ALIKE, ids=NAMES)
def test_intervals_cover_as_often_as_they_say(oracle):
    answers = truth(12, 2000)
    counts = np.bincount(answers, minlength=12)
    runs, inside, together, errors = 60, 0, 0, []
    with reproducible(11):
        for _ in range(runs):
            e = oracle.estimate(oracle.perturb_many(answers))
            low, high = e.interval("0.9")
            inside += int(((low <= counts) & (counts <= high)).sum())
            low, high = e.simultaneous("0.9")
            together += bool(((low <= counts) & (counts <= high)).all())
            errors.append((e.counts - counts) / e.standard_error)
    assert 0.9 - 0.05 < inside / (12 * runs) < 0.9 + 0.045
    assert together / runs >= 0.78
    assert abs(np.mean(errors)) < 5 / math.sqrt(12 * runs)
    assert 0.85 < np.std(errors) < 1.15


def test_estimates_are_not_clipped():
    """Clipping would bias: the mean of the counts of an item nobody has stays near zero."""
    oracle = UnaryEncoding(4, epsilon="1/2")
    with reproducible(3):
        found = [oracle.estimate(oracle.perturb_many([0] * 200)).counts[3] for _ in range(200)]
    assert min(found) < 0
    assert abs(np.mean(found)) < 5 * math.sqrt(oracle.variance(200) / 200)


def test_dropping_missing_answers_would_bias():
    """Counting only those who answered, as some code does, is off by far more than chance."""
    n, yes, missing = 30_000, 3_000, 10_000
    oracle = RandomizedResponse(p="3/4")
    answers = np.arange(n) < yes  # the missing answer "no": they are reports as well
    with reproducible(4):
        state = oracle.aggregate(oracle.perturb_many(answers))
    spread = math.sqrt(oracle.variance(n))
    assert abs(oracle.estimate(state)[True] - yes) < 5 * spread
    wrong = (state.sums[1] - (n - missing) / 4) * 2
    assert abs(wrong - yes) > 20 * spread


def test_figures_are_drawn():
    pytest.importorskip("matplotlib")
    oracle = DirectEncoding([f"item {i}" for i in range(60)], epsilon=3)
    e = oracle.estimate(oracle.perturb_many(["item 3"] * 500))
    for figure in (e.plot(), norm_sub(e).plot(), choose(4, n=10, epsilon=1).plot()):
        assert figure.axes


@pytest.mark.full
def test_two_coins_on_the_census():
    path = shared_file("adult.csv")
    if path is None:
        pytest.skip("the shared adult.csv is not beside this checkout")
    with path.open(newline="") as file:
        jobs = [row["occupation"] for row in csv.DictReader(file)]
    check_occupations(jobs, missing=1843, sales=3650)


@pytest.mark.full
def test_two_coins_on_generated_answers():
    counts = [3770, 4066, 1370, 4140, 3295, 3650, 4099, 1597, 994, 2002, 928, 649, 9, 149]
    jobs = [f"job {i}" for i, c in enumerate(counts) for _ in range(c)]
    check_occupations([*jobs, *[""] * 1843], missing=1843, sales=3650, name="job 5")


def check_occupations(jobs, missing, sales, name="Sales"):
    """Randomized response on one job, and unary encoding of all 14, with the missing as an item."""
    n = len(jobs)
    named = [None if job in ("", "?") else job for job in jobs]
    labels = sorted({job for job in named if job is not None})
    assert (n, len(labels), named.count(None)) == (32_561, 14, missing)
    coins = RandomizedResponse(p="3/4")
    assert round(math.sqrt(coins.variance(n))) == 156
    unary = UnaryEncoding(Items(labels, missing="missing"), p="3/4", q="1/4")
    assert unary.ratio == 9
    asked = np.array([job == name for job in named])
    places = unary.domain.indices(named)
    counts = np.bincount(places, minlength=15)
    with reproducible(12):
        yes = [coins.estimate(coins.perturb_many(asked))[True] for _ in range(60)]
        rows = [unary.estimate(unary.perturb_many(named)) for _ in range(25)]
    assert abs(np.mean(yes) - sales) < 4 * 156 / math.sqrt(60)
    assert 156 * 0.7 < np.std(yes) < 156 * 1.3
    z = np.array([(e.counts - counts) / e.standard_error for e in rows])
    assert np.abs(z.mean(axis=0)).max() < 4.5 / math.sqrt(25)
    assert 0.85 < z.std() < 1.15


def test_an_estimate_below_zero_is_drawn_within_its_interval():
    found = Estimate(("a", "b"), 100, np.array([-30.0, 130.0]), 25.0, 0.0)
    (one,) = found.plot().axes
    ends = [[point[0] for point in path.vertices] for path in one.collections[0].get_paths()]
    points = one.lines[0].get_xdata()
    assert sorted(points) == [-30, 130]
    assert all(any(low <= p <= high for low, high in ends) for p in points)
    (table, _) = found.card().parts
    assert [row[:3] for row in table.rows][1] == ["a", "-30.0", "-30.0 to 0.0"]


# What is done to estimates afterwards is asked for and labelled.


def test_postprocessing_is_asked_for_and_labelled():
    e = UnaryEncoding(6, epsilon="1/4").estimate(UnaryEncoding(6, epsilon="1/4").empty())
    e = PostprocessEstimate(e.items, 100, np.array([90.0, -20, 30, -5, 2, 1]), 10.0)
    for function in (nonnegative, norm_sub, normalised, simplex):
        done = function(e)
        assert done.method != "unbiased"
        with pytest.raises(RefusedError, match="biased"):
            done.interval()
        with pytest.raises(RefusedError):
            _ = done.standard_error
    for function in (norm_sub, simplex, normalised):
        assert function(e).counts.sum() == pytest.approx(100)
    assert norm_sub(e).counts == pytest.approx(simplex(e).counts)
    assert norm_sub(e).counts.min() >= 0
