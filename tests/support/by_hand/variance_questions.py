"""Questions on variances, and witnesses held against the definition."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import reject
from hypothesis import strategies as st

from support.by_hand.variance_enumeration import (
    RELATIONS,
    exact_variance,
)
from tacit.arithmetic.roots_and_bisection import Root, gap
from tacit.errors import InfeasibleError
from tacit.statistics import sensitivity
from tacit.statistics.dispersion_candidates import Contest, SpreadMeasure
from tacit.statistics.prefix_moments import PrefixMoments
from tacit.statistics.question import Question
from tacit.statistics.result import differing_pair
from tacit.statistics.samples import Sample
from tacit.statistics.statistic import Statistic
from tacit.statistics.variances import StandardDeviation, Variance

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


def variance(values, ddof=0):
    total, n = Fraction(sum(values)), len(values)
    return (sum(v * v for v in values) - total * total / n) / (n - ddof)


def best_of(population, n, k, shapes):
    """The largest bounded change of variance at distance ``k`` that a family finds."""
    contest = Contest(PrefixMoments(Sample(population)), SpreadMeasure())
    shapes(contest, n - k, k, k)
    return contest.winner().value
