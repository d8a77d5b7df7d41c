"""Whatever can be wrong: refused in words, on the device or at construction, and never told on."""

import math
from fractions import Fraction

import numpy as np
import pytest

from local.every_mechanism import CASES, ORACLES
from tacit import local
from tacit.arithmetic.enclosure import exp
from tacit.errors import TacitError, UsageError
from tacit.local import (
    AttributeSampling,
    DirectEncoding,
    Duchi,
    Items,
    KeyValue,
    LaplaceMean,
    PaddedSets,
    Piecewise,
    SquareWave,
    UnaryEncoding,
    Wire,
)

FROM_EPSILON = [name for name in CASES if name != "rappor"]
BAD_EPSILONS = [0, -1, "-1e-9", math.nan, math.inf, -math.inf, 1e308, 25, 10**400, "1e999", "x",
                True, [1], 1j, "1e-7", 1e-300]  # fmt: skip
ODD = [None, math.nan, "secretword", 10**400, -1, math.inf, -math.inf, [1], {"a": "secretword"},
       {"a": math.inf}, object(), 2.5, True, b"secretword", np.float32(0.5), {"q": 1}, {}, set(),
       ("a", "secretword"), 1j, np.array([1, 2])]  # fmt: skip


def test_every_mechanism_is_tried() -> None:
    tried = {type(oracle) for oracle in ORACLES.values()}
    assert tried == {kind for kind in vars(local).values() if _is_mechanism(kind)}


def _is_mechanism(kind: object) -> bool:
    return (
        isinstance(kind, type)
        and issubclass(kind, local.Oracle)
        and not getattr(kind, "__abstractmethods__", None)
    )


@pytest.mark.few(6)
@pytest.mark.parametrize("epsilon", BAD_EPSILONS, ids=lambda e: str(e)[:12])
@pytest.mark.parametrize("name", FROM_EPSILON)
def test_every_bad_epsilon_is_refused_by_every_mechanism(name, epsilon):
    with pytest.raises(UsageError):
        CASES[name].make(epsilon)


@pytest.mark.few(4)
@pytest.mark.parametrize("epsilon", ["0.000001", "1e-4", "0.01", 1, 7, 24])
@pytest.mark.parametrize("name", [n for n in FROM_EPSILON if n not in ("splitting", "two stages")])
def test_no_mechanism_loses_more_than_it_was_allowed(name, epsilon):
    """Also where epsilon is smaller than the usual fineness of a probability."""
    try:
        oracle = CASES[name].make(epsilon)
    except UsageError as refusal:
        assert "does not fit 32 bits" in str(refusal)  # noqa: PT017  (very wide noise alone)
        assert Fraction(epsilon) < Fraction(1, 10**5)
        return
    allowed = exp(Fraction(epsilon), 400).upper
    assert 1 < oracle.ratio <= allowed * (1 + Fraction(1, 1 << 80))
    reports = oracle.perturb_many(CASES[name].answers)
    assert oracle.aggregate(reports).n == len(reports)
    assert Wire(oracle).pack(reports).shape[0] == len(reports)


@pytest.mark.parametrize("name", CASES)
def test_an_odd_answer_makes_a_report_or_is_refused_and_is_never_repeated(name):
    oracle = ORACLES[name]
    for odd in ODD:
        try:
            report = oracle.perturb(odd)
        except TacitError as refusal:
            assert "secretword" not in str(refusal)  # noqa: PT017
            assert "2.5" not in str(refusal)  # noqa: PT017
        else:
            assert oracle.valid(np.asarray(report)[None]).all()


@pytest.mark.few(6)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("odd", [5, None, "ab", b"ab", object()], ids=lambda v: type(v).__name__)
def test_many_answers_are_a_list(name, odd):
    with pytest.raises(UsageError, match="list of answers"):
        ORACLES[name].perturb_many(odd)


@pytest.mark.parametrize(
    "labels",
    [1, 0, -3, (1 << 32) + 1, 1 << 70, math.nan, "abc", [], ["a"], ["a", "a"], {"a", "b"},
     frozenset("ab"), range(1, 1 << 36), range(1 << 80), range(-9), None, [["a"], ["b"]],
     ["a", None], ["a", math.nan], [b"a", b"b"], np.zeros((2, 2))],
    # a set is written in an order that differs between two processes of one run of tests
    ids=lambda v: f"a {type(v).__name__}" if isinstance(v, (set, frozenset)) else str(v)[:12],
)  # fmt: skip
def test_bad_domains(labels):
    with pytest.raises(UsageError):
        Items(labels)


@pytest.mark.parametrize(
    ("p", "q"), [("1/2", "1/2"), ("1/3", "1/3"), (0, "1/2"), (1, "1/2"), (2, "1/2"), (-1, "1/2"),
                 (math.nan, "1/2"), ("1/2", math.inf)]
)  # fmt: skip
def test_bad_chances(p, q):
    with pytest.raises(UsageError):
        UnaryEncoding(3, p=p, q=q)


def test_p_below_q_is_allowed_and_epsilon_is_an_absolute_value():
    """The lying form has the same epsilon and the same error, and its estimate is unbiased."""
    straight, lying = UnaryEncoding(4, p="3/4", q="1/4"), UnaryEncoding(4, p="1/4", q="3/4")
    assert straight.ratio == lying.ratio == 9
    assert float(lying.epsilon) == pytest.approx(math.log(9))
    n = 20_000
    estimate = lying.estimate(lying.perturb_many([2] * n))
    assert np.all(np.abs(estimate.counts - [0, 0, n, 0]) < 6 * estimate.standard_error)


@pytest.mark.parametrize("kind", [Duchi, Piecewise, LaplaceMean, SquareWave])
@pytest.mark.parametrize(
    ("lower", "upper"),
    [(1, 1), (2, 1), (0, math.nan), (0, math.inf), ("a", 1), (-(10**400), 10**400)],
    ids=str,
)
def test_bad_bounds(kind, lower, upper):
    with pytest.raises(UsageError):
        kind(lower, upper, epsilon=1)


@pytest.mark.parametrize("kind", [Duchi, Piecewise, LaplaceMean])
@pytest.mark.parametrize(
    ("lower", "upper"), [(-1.7e300, 1.7e300), (10**16, 10**16 + 2), (-3, "1/3"), (0, 1e-300)],
    ids=str,
)  # fmt: skip
def test_arrays_and_lists_of_numbers_are_read_alike(kind, lower, upper):
    oracle = kind(lower, upper, epsilon=1)
    values = [float(lower), -2.0, 1e16 + 1.0, 1e16 + 2.0, 1e299, 3e-301, math.inf, -math.inf]
    fast, exact = oracle.read(np.array(values)), oracle.read(values)
    assert np.abs(fast - exact).max() <= 1
    assert int(exact.min()) >= 0


def test_missing_people_are_counted():
    """A missing set, mapping or row is reported like any other."""
    sets = PaddedSets(DirectEncoding(Items(["a", "b"], other="none"), epsilon=1), 2)
    assert sets.aggregate(sets.perturb_many([None, {"a"}, math.nan])).n == 3
    assert sets.distribution(None) == sets.distribution(set())
    keys = KeyValue(["a", "b"], 0, 1, epsilon=1)
    assert keys.distribution(None) == keys.distribution({})
    jobs = DirectEncoding(Items(["a", "b"], missing="none"), epsilon=1)
    both = AttributeSampling({"x": jobs, "y": jobs})
    assert both.distribution(None) == both.distribution({})
    plain = AttributeSampling({"x": jobs, "y": DirectEncoding(2, epsilon=1)})
    with pytest.raises(UsageError, match="not one of the listed items"):
        plain.perturb(None)


def test_attributes_do_not_nest():
    inner = ORACLES["sampling"]
    with pytest.raises(UsageError, match="no attributes of their own"):
        AttributeSampling({"x": inner, "y": inner})


def test_what_is_no_mechanism_is_refused():
    for use in (Wire, local.Collector, lambda oracle: local.Device(1).report(oracle, 1)):
        with pytest.raises(UsageError, match="give a local mechanism"):
            use("unary")
