"""Variance and standard deviation against exhaustive enumeration in exact rationals."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from support.examples import examples
from tacit.arithmetic.square_root import Root, gap
from tacit.errors import InfeasibleError
from tacit.statistics import Interval, Records, Values, sensitivity
from tacit.statistics.base.extreme_pair import differing_pair
from tacit.statistics.base.question import Question
from tacit.statistics.base.statistic import Statistic
from tacit.statistics.samples.sample import Sample
from tacit.statistics.variances.standard_deviation import StandardDeviation
from tacit.statistics.variances.variance import Variance

RELATIONS = ["unbounded", "add", "remove", "bounded"]


def exact_variance(values, ddof):
    n, total = len(values), sum(values)
    return Fraction(sum(v * v for v in values) - Fraction(total * total, n)) / (n - ddof)


def asked_moves(relation, k, within, n):
    if relation == "bounded":
        return {(d, d) for d in (range(1, k + 1) if within else [k])}
    if not within:
        return {"add": {(0, k)}, "remove": {(k, 0)}}.get(relation, {(0, k), (k, 0)})
    every = {(r, a) for r in range(n + 1) for a in range(k + 1) if 1 <= r + a <= k}
    if relation == "unbounded":
        return every
    return {(r, a) for r, a in every if (r if relation == "add" else a) == 0}


@lru_cache(maxsize=16)
def masks_of(size):
    masks = np.arange(1 << size)
    bits = (masks[:, None] >> np.arange(size)) & 1
    return masks, bits, bits.sum(axis=1)


def largest_gap(pairs, root):
    """The largest gap between paired variances, floats first, exact among the closest."""
    if not root:
        return max(abs(v - w) for v, w in pairs)
    rough = [abs(math.sqrt(v) - math.sqrt(w)) for v, w in pairs]
    least = max(rough) - 1e-9 * math.sqrt(max(max(p) for p in pairs))
    close = {p for p, value in zip(pairs, rough, strict=True) if value >= least}
    v, w = max(close, key=lambda pair: far_apart(*pair))
    return gap(Root(v), Root(w))


def far_apart(v, w):
    """The gap of two roots to 300 bits: rounding one gap up must not make it beat another."""
    return abs(Root(v).enclose(300)[0] - Root(w).enclose(300)[0])


def over_records(population, n, relation, k, within, ddof, root, at=None):
    """The truth by listing every pair of sets of people, or None where there is none."""
    masks, bits, sizes = masks_of(len(population))
    wanted = asked_moves(relation, k, within, n)
    xs = masks[sizes == n] if at is None else [at]
    variances = {}

    def variance(mask):
        if mask not in variances:
            chosen = [v for v, b in zip(population, bits[mask], strict=True) if b]
            variances[mask] = exact_variance(chosen, ddof)
        return variances[mask]

    pairs = set()
    for x in xs:
        removed, added = sizes[x & ~masks], sizes[masks & ~x]
        for r, a in wanted:
            for y in masks[(removed == r) & (added == a) & (sizes > ddof)].tolist():
                pairs.add((variance(int(x)), variance(y)))
    return largest_gap(pairs, root) if pairs else None


def ask(asked, domain, at, k, relation, within):
    """The answer; a question that no pair of releases can satisfy is not drawn."""
    try:
        Question(domain, None if at is None else Sample(at), k, relation, within)
    except InfeasibleError:
        reject()
    return sensitivity(asked, domain, at, k, relation, within)


def check_witness(answer, value, ddof, root):
    assert answer.exact
    if answer.witness is None:  # no release can be changed
        assert value == answer.value == 0
        assert differing_pair(answer.question, 1 + ddof) is None
        return None
    x, y = answer.witness
    ends = [exact_variance([Fraction(v) for v in side], ddof) for side in (x, y)]
    reached = gap(Root(ends[0]), Root(ends[1])) if root else abs(ends[0] - ends[1])
    assert reached == value == answer.value
    return list(x), list(y)


def statistic(ddof, root) -> Statistic:
    return StandardDeviation(ddof) if root else Variance(ddof)


def counted(population, part):
    rest = list(population)
    for v in part:
        rest.remove(v)
    return rest


def distance_of(x, y):
    """How many records must go and come, at least."""
    shared = list(y)
    gone = 0
    for v in x:
        if v in shared:
            shared.remove(v)
        else:
            gone += 1
    return gone, len(shared)


whole = st.integers(-6, 6)
wide = st.one_of(whole, st.integers(-1000, 1000), st.sampled_from([10**9, 10**9 + 1, -(10**12)]))
ratio = st.fractions(-5, 5, max_denominator=7)
populations = st.one_of(
    st.lists(whole, min_size=2, max_size=7),
    st.lists(wide, min_size=2, max_size=7),
    st.lists(ratio, min_size=2, max_size=6),
    st.lists(st.floats(-100, 100, width=32), min_size=2, max_size=7),
)
questions = st.fixed_dictionaries(
    {
        "relation": st.sampled_from(RELATIONS),
        "within": st.booleans(),
        "ddof": st.sampled_from([0, 1]),
        "root": st.booleans(),
    }
)


@pytest.mark.full
@examples(7)
@given(populations, questions, st.data())
def test_global_over_records(population, question, data):
    population = sorted(Fraction(v) for v in population)
    ddof, root = question["ddof"], question["root"]
    n = data.draw(st.integers(1 + ddof, len(population)), "size")
    k = data.draw(st.integers(1, len(population)), "distance")
    relation, within = question["relation"], question["within"]
    truth = over_records(population, n, relation, k, within, ddof, root)
    assume(truth is not None)
    answer = ask(statistic(ddof, root), Records(population, size=n), None, k, relation, within)
    pair = check_witness(answer, truth, ddof, root)
    if pair is None:
        return
    x, y = pair
    assert len(x) == n
    counted(population, x)
    r, a = distance_of(x, y)
    moves = asked_moves(relation, k, within, n)
    assert any(r <= p and a <= q and p - r == q - a for p, q in moves)


@pytest.mark.full
@examples(7)
@given(populations, questions, st.data())
def test_local_over_records(population, question, data):
    population = sorted(Fraction(v) for v in population)
    ddof, root = question["ddof"], question["root"]
    assume(len(population) > ddof)
    mask = data.draw(st.integers(1, (1 << len(population)) - 1), "at")
    at = [v for i, v in enumerate(population) if mask >> i & 1]
    assume(len(at) > ddof)
    k = data.draw(st.integers(1, len(population)), "distance")
    relation, within = question["relation"], question["within"]
    truth = over_records(population, len(at), relation, k, within, ddof, root, at=mask)
    assume(truth is not None)
    answer = ask(statistic(ddof, root), Records(population), at, k, relation, within)
    pair = check_witness(answer, truth, ddof, root)
    if pair is None:
        return
    x, y = pair
    assert x == at
    counted(population, y)


def over_values(values, n, relation, k, within, ddof, root, at=None):
    """The truth by listing every pair of multisets (an equal value may replace a value)."""
    pairs, seen = set(), {}

    def variance(items):
        if items not in seen:
            seen[items] = exact_variance(items, ddof)
        return seen[items]

    for r, a in asked_moves(relation, k, within, n):
        if r > n or n - r + a <= ddof:
            continue
        cores = combinations_with_replacement(values, n - r)
        if at is not None:
            cores = {tuple(sorted(c)) for c in combinations(at, n - r)}
        for core in cores:
            new = combinations_with_replacement(values, a)
            ys = [variance(tuple(sorted(core + extra))) for extra in new]
            old = combinations_with_replacement(values, r)
            xs = [variance(tuple(sorted(core + extra))) for extra in old]
            if at is not None:
                xs = [variance(tuple(sorted(at)))]
            pairs.update((x, y) for x in xs for y in ys)
    return largest_gap(pairs, root) if pairs else None


value_sets = st.lists(st.one_of(whole, ratio), min_size=1, max_size=3, unique=True)


@examples(2.5)
@given(value_sets, questions, st.integers(1, 5), st.integers(1, 4))
def test_global_over_values(values, question, n, k):
    values = sorted(Fraction(v) for v in values)
    ddof, root = question["ddof"], question["root"]
    relation, within = question["relation"], question["within"]
    assume(n > ddof)
    truth = over_values(values, n, relation, k, within, ddof, root)
    assume(truth is not None)
    answer = ask(statistic(ddof, root), Values(values, size=n), None, k, relation, within)
    if answer.method == "upper bound":
        assert answer.value >= truth
        return
    pair = check_witness(answer, truth, ddof, root)
    if pair is None:
        return
    x, y = pair
    assert len(x) == n
    assert set(x) | set(y) <= set(values)


@examples(2.5)
@given(value_sets, questions, st.data())
def test_local_over_values(values, question, data):
    values = sorted(Fraction(v) for v in values)
    ddof, root = question["ddof"], question["root"]
    at = sorted(data.draw(st.lists(st.sampled_from(values), min_size=1 + ddof, max_size=5), "at"))
    k = data.draw(st.integers(1, 4), "distance")
    relation, within = question["relation"], question["within"]
    truth = over_values(values, len(at), relation, k, within, ddof, root, at=at)
    assume(truth is not None)
    answer = ask(statistic(ddof, root), Values(values), at, k, relation, within)
    pair = check_witness(answer, truth, ddof, root)
    if pair is None:
        return
    x, y = pair
    assert x == at
    assert set(y) <= set(values)


@examples(1.5)
@given(questions, st.integers(1, 5), st.integers(1, 4), st.integers(3, 7))
def test_global_over_an_interval_is_attained_and_never_beaten_on_a_grid(question, n, k, steps):
    ddof, root = question["ddof"], question["root"]
    relation, within = question["relation"], question["within"]
    assume(n > ddof)
    grid = [Fraction(i, steps - 1) for i in range(steps)]
    assume(steps ** (n + min(k, 3)) < 200_000)
    below = over_values(grid, n, relation, k, within, ddof, root)
    assume(below is not None)
    answer = ask(statistic(ddof, root), Interval(0, 1, size=n), None, k, relation, within)
    assert answer.value >= below
    if answer.exact:
        pair = check_witness(answer, answer.value, ddof, root)
        if pair is None:
            return
        x, y = pair
        assert min(x + y) >= 0
        assert max(x + y) <= 1
        assert len(x) == n


@examples(1.5)
@given(questions, st.data())
def test_local_over_an_interval_is_attained_and_never_beaten_on_a_grid(question, data):
    ddof, root = question["ddof"], question["root"]
    relation, within = question["relation"], question["within"]
    grid = [Fraction(i, 4) for i in range(5)]
    at = sorted(data.draw(st.lists(st.sampled_from(grid), min_size=1 + ddof, max_size=5), "at"))
    k = data.draw(st.integers(1, 3), "distance")
    below = over_values(grid, len(at), relation, k, within, ddof, root, at=at)
    assume(below is not None)
    answer = ask(statistic(ddof, root), Interval(0, 1), at, k, relation, within)
    assert answer.value >= below
    pair = check_witness(answer, answer.value, ddof, root)
    if pair is None:
        return
    _, y = pair
    assert min(y) >= 0
    assert max(y) <= 1


@examples(1.2)
@given(st.lists(whole, min_size=2, max_size=6), questions, st.integers(1, 6))
def test_of_any_size_is_the_worst_of_all_sizes(population, question, k):
    population = sorted(population)
    ddof, root = question["ddof"], question["root"]
    relation, within = question["relation"], question["within"]
    truths = [
        over_records(population, n, relation, k, within, ddof, root)
        for n in range(1 + ddof, len(population) + 1)
    ]
    truths = [t for t in truths if t is not None]
    assume(truths)
    answer = ask(statistic(ddof, root), Records(population), None, k, relation, within)
    check_witness(answer, max(truths), ddof, root)


@pytest.mark.few(4)
@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("root", [False, True])
def test_values_of_any_size_are_the_worst_of_many_sizes(ddof, root):
    for relation in RELATIONS:
        for k in (1, 2, 3):
            for within in (True, False):
                question = (relation, k, within, ddof, root)
                answer = sensitivity(
                    statistic(ddof, root), Values([0, 1]), None, k, relation, within
                )
                truths = [over_values([0, 1], n, *question) for n in range(1 + ddof, 10)]
                assert answer.value == max(t for t in truths if t is not None), question
