"""Attacks on answers, certificates, the local model and claims."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial

from tacit.arithmetic.roots_and_bisection import narrowed
from tacit.audit.attack_suite.system import (
    LARGE_EPSILON,
    CaseOutcome,
    NotOfferedError,
    System,
    attempt,
    case,
    cases,
    distinguished,
    falls,
    holds,
    moved_at_most,
)

# Attacks on several answers at once: plans, answers that follow from others, unlisted keys.


__all__: list[str] = []

_PLAN = "plans of several questions"
_MATRIX = "Li, Hay, Rastogi, Miklau, McGregor, Optimizing linear counting queries (2010)"


@case(
    _PLAN,
    "the same count sixteen times",
    "does the mean of answers under one charge tell more than the charge says?",
    _MATRIX,
)
def _(system: System) -> CaseOutcome:
    def release(rows: Sequence[str]) -> Callable[[], Sequence[float]]:
        return lambda: system.planned_counts(rows, [], 16, epsilon=1.0)

    return distinguished(
        *(release(["a", "a"]), release(["a"])),
        lambda answer: sum(answer) > 24,
        epsilon=1.0,
        what="a mean of sixteen counts above 3/2",
        runs=200,
    )


@cases(
    _PLAN,
    "does a row move the answers of a plan by more than one in each table?",
    _MATRIX,
    {
        "a row with a listed key": ("a",),
        "a row with another key": ("z",),
    },
)
def _(system: System, key: str) -> CaseOutcome:
    return moved_at_most(
        lambda: system.planned_counts(["a", "b", key], ["a", "b"], 1, epsilon=LARGE_EPSILON),
        lambda: system.planned_counts(["a", "b"], ["a", "b"], 1, epsilon=LARGE_EPSILON),
        2.0,
        f"one row with the key {key!r}",
    )


_FREE = "answers that follow from others"
_AVERAGE = "averaging of repeats: Dinur, Nissim (2003)"


@case(
    *(_FREE, "a total of groups"),
    "is an answer at no charge anything but a function of what was released?",
    _AVERAGE,
)
def _(system: System) -> CaseOutcome:
    released, derived, charged = system.derived("total", ["a", "b", "b"], ["a", "b"], epsilon=0.5)
    if derived is None:
        return holds("no answer is given at no charge")
    text = f"the sum of released counts is {sum(released):.6g}, and {derived:.6g} was answered"
    fresh = abs(sum(released) - derived) > 1e-6 and charged < 0.5
    return falls(f"{text} for {charged:g}") if fresh else holds(f"{text} for {charged:g}")


@cases(
    _FREE,
    "is a number given at no charge that no release determines?",
    _AVERAGE,
    {
        "a group that was not released": ("other group",),
        "a part of a group": ("filter",),
    },
)
def _(system: System, ask: str) -> CaseOutcome:
    _, derived, charged = system.derived(ask, ["a", "b", "b"], ["a", "b"], epsilon=0.5)
    if derived is None or charged > 0:
        return holds("nothing is given at no charge")
    return falls(f"{derived:.6g} was answered for {charged:g}")


@cases(
    "keys of a person with many",
    "is some key of one person shown more often than delta allows?",
    "Desfontaines, Voss, Gipson, Mandayam, Differentially private partition selection (2022)",
    {
        "one key": (1, 0.1),
        "four keys": (4, 0.1),
        "sixteen keys": (16, 0.05),
    },
)
def _(system: System, groups: int, delta: float) -> CaseOutcome:
    own = [(7, f"k{number}") for number in range(groups)]

    def release(rows: Sequence[tuple[int, str]]) -> Callable[[], Sequence[str]]:
        return lambda: system.people_keys(rows, groups, epsilon=1.0, delta=delta)

    refused, error = attempt(release(own))
    if error is not None:
        return holds(f"refused: {type(error).__name__}")
    del refused
    return distinguished(
        *(release(own), release([])),
        lambda shown: any(key.startswith("k") for key in shown),
        epsilon=1.0,
        delta=delta,
        what=f"a key of one person with {groups}",
        runs=200,
    )


# Attacks on certificates: changed, and sealed again.


_FORGED = "certificates resealed against their own page (found in a development state of Tacit)"


@cases(
    "forged certificates",
    "does a changed certificate, with its seals made anew, still verify?",
    _FORGED,
    {
        change: (change,)
        for change in (
            "smaller epsilon",
            "narrower bound",
            "larger noise",
            "other statistic",
            "other unit",
        )
    },
)
def _(system: System, change: str) -> CaseOutcome:
    if not system.verifies(system.certificate()):
        raise NotOfferedError("a certificate that verifies")
    changed = system.forgeries()
    if change not in changed:
        raise NotOfferedError(f"a {change} in its certificates")
    if system.verifies(changed[change]):
        return falls(f"a certificate with a {change} verifies")
    return holds(f"a certificate with a {change} is refused")


# Attacks in the local model: repeated reports, impossible reports, items outside the domain.


_SLACK = 1e-9


@cases(
    "ratio of reports",
    "is the ratio of the probabilities of a report within exp(epsilon)?",
    "Cormode, Maddock, Maple, Frequency estimation under local DP (2021): loose constants",
    {
        f"{form}, epsilon {epsilon:g}": (form, epsilon)
        for form, epsilon in (("direct", 1.0), ("unary", 1.0), ("binary", 1.0), ("direct", 0.1))
    },
)
def _(system: System, form: str, epsilon: float) -> CaseOutcome:
    losses = system.local(4, epsilon, form).losses()
    text = f"the largest log ratio is {losses:.6g} at a claim of {epsilon:g}"
    return holds(text) if losses <= epsilon * (1 + _SLACK) else falls(text)


@cases(
    "reports that are not remembered",
    "does a device that is asked again send fresh noise, which averages out?",
    "Erlingsson, Pihur, Korolova, RAPPOR (2014); Tang et al. on a deployed client (2017)",
    {f"{count} reports": (count,) for count in (20, 50, 200)},
)
def _(system: System, reports: int) -> CaseOutcome:
    device = system.local(8, 1.0, "direct").device()
    sent = {repr(device.report(3)) for _ in range(reports)}
    text = f"{len(sent)} different reports of one answer in {reports}"
    return holds(text) if len(sent) == 1 else falls(text)


@cases(
    "hostile reports",
    "does the collector take a report that no honest device can send?",
    "Cheu, Smith, Ullman, Manipulation attacks in local DP (2021)",
    {f"impossible report {number + 1}": (number,) for number in range(4)},
)
def _(system: System, number: int) -> CaseOutcome:
    mechanism = system.local(4, 1.0, "direct")
    reports = mechanism.impossible()
    report = reports[number % len(reports)]
    accepted, error = attempt(lambda: mechanism.accepts(report))
    if error is not None:
        return falls(f"the report {report!r:.40} stopped the collector: {type(error).__name__}")
    text = f"the report {report!r:.40}"
    return falls(f"{text} is counted") if accepted else holds(f"{text} is refused")


@cases(
    "items outside of the domain",
    "does an item outside of the domain give a report that shows it?",
    "Wang et al.; published local libraries whose reports of such items are impossible",
    {
        "above": (4,),
        "negative": (-1,),
        "missing": (None,),
    },
)
def _(system: System, item: object) -> CaseOutcome:
    mechanism = system.local(4, 1.0, "direct")
    honest = {type(mechanism.report(0)) for _ in range(3)}
    for _ in range(60):
        report, error = attempt(lambda: mechanism.report(item))
        if error is not None:
            return holds(f"the item {item!r} is refused: {type(error).__name__}")
        plain, failed = attempt(partial(mechanism.accepts, report))
        if failed is not None or not plain or type(report) not in honest:
            return falls(f"the item {item!r} gave the report {report!r:.40}, unlike all others")
    return holds(f"60 reports of the item {item!r} are like any other")


@cases(
    "poisoned reports",
    "by how much do a few hostile devices move the estimate of an item?",
    "Cao, Jia, Gong, Data poisoning attacks to local DP protocols (USENIX 2021)",
    {
        "1 of 500": (1, 2.2),
        "10 of 510": (10, 2.2),
        "50 of 550": (50, 2.2),
    },
)
def _(system: System, hostile: int, limit: float) -> CaseOutcome:
    mechanism = system.local(2, 1.0, "binary")
    honest = [mechanism.report(0) for _ in range(500)]
    bad = [mechanism.report(1) for _ in range(hostile)]
    before = mechanism.counts(honest)[1]
    after = mechanism.counts([*honest, *bad])[1]
    text = f"{hostile} hostile reports moved an estimate by {after - before:.4g}"
    return holds(text) if after - before <= limit * hostile else falls(text)


# Attacks on proofs: numbers that a system claims, next to the truth.
#
# Each truth is computed here from the definition.  A claim below it is a broken promise; one above
# it is waste, which is not an attack.


_CLAIMS_SLACK = 1e-6


def _claim(attack: str, name: str, question: str, source: str, truth: Callable[[], float]) -> None:
    @case(attack, name, question, source)
    def _(system: System) -> CaseOutcome:
        claimed, true = system.claim(f"{attack}: {name}"), truth()
        text = f"claimed {claimed:.6g}, true is {true:.6g}"
        return holds(text) if claimed >= true * (1 - _CLAIMS_SLACK) else falls(text)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the exact epsilon of mu-Gaussian DP at delta (Balle and Wang 2018).

    >>> round(gaussian_epsilon(1.0, 1e-5), 3)
    4.377
    """

    def tail(x: float) -> float:
        return math.erfc(-x / math.sqrt(2)) / 2

    def at(epsilon: float) -> float:
        left = tail(mu / 2 - epsilon / mu)
        return left - math.exp(epsilon) * tail(-mu / 2 - epsilon / mu)

    return narrowed(lambda epsilon: at(epsilon) > delta, 0.0, 100.0, 200)[0]


def randomized_response_epsilon(epsilon: float, times: int, delta: float) -> float:
    """Return the exact epsilon of this many randomized responses at delta, by enumeration.

    >>> round(randomized_response_epsilon(0.5, 4, 0.0), 6)
    2.0
    """
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    masses = [math.comb(times, k) * p**k * (1 - p) ** (times - k) for k in range(times + 1)]
    losses = [(2 * k - times) * epsilon for k in range(times + 1)]

    def at(level: float) -> float:
        pairs = zip(masses, losses, strict=True)
        return sum(m * max(0.0, -math.expm1(level - loss)) for m, loss in pairs)

    return narrowed(lambda level: at(level) <= delta, times * epsilon, 0.0, 200)[0]


_COMPOSED = "open reports on dp_accounting (a repeat count ignored) and autodp (below zero)"
_QUESTION = "is the loss of a composition below the true one?"
for _claims_count, _sigma, _delta in ((1, 1.0, 1e-5), (10, 5.0, 1e-6), (50, 20.0, 1e-10)):
    _claim(
        *("composition", f"{_claims_count} gaussians, sigma {_sigma:g}, delta {_delta:g}"),
        *(_QUESTION, _COMPOSED),
        lambda c=_claims_count, s=_sigma, d=_delta: gaussian_epsilon(math.sqrt(c) / s, d),  # type: ignore[misc]
    )
for _claims_count, _epsilon, _delta in ((7, 1.0, 0.0), (20, 0.1, 1e-9)):
    _claim(
        *(
            "composition",
            f"{_claims_count} randomized responses, epsilon {_epsilon:g}, delta {_delta:g}",
        ),
        *(_QUESTION, _COMPOSED),
        lambda c=_claims_count, e=_epsilon, d=_delta: randomized_response_epsilon(e, c, d),  # type: ignore[misc]
    )


for _rate in (0.01, 0.1, 0.5):
    _claim(
        *("a sample used twice", f"rate {_rate:g}"),
        "is amplification by sampling claimed for each of two answers on one sample?",
        "Balle, Barthe, Gaboardi, Privacy amplification by subsampling (2018)",
        # the losses of both answers, 1 each, add up in the sample
        lambda r=_rate: math.log1p(r * math.expm1(2.0)),  # type: ignore[misc]
    )


def worst_move(statistic: str, values: tuple[float, ...], size: int, relation: str) -> float:
    """Return the sensitivity of a statistic over a value set, by enumeration.

    >>> worst_move("sum", (0.0, 3.0), 2, "bounded")
    3.0
    """

    def value(rows: tuple[float, ...]) -> float:
        ordered, n = sorted(rows), len(rows)
        centre = sum(rows) / n
        if statistic == "sum":
            return sum(rows)
        if statistic == "mean":
            return centre
        if statistic == "variance":
            return sum((x - centre) ** 2 for x in rows) / n
        return (ordered[(n - 1) // 2] + ordered[n // 2]) / 2

    best = 0.0
    for rows in itertools.combinations_with_replacement(values, size):
        for index in range(size):
            rest = rows[:index] + rows[index + 1 :]
            others = [rest] if relation == "unbounded" else [(*rest, x) for x in values]
            if relation == "unbounded":
                others += [(*rows, x) for x in values]
            best = max(best, *(abs(value(rows) - value(other)) for other in others))
    return best


for _statistic, _values, _size, _relation in (
    ("sum", (-10.0, 0.0, 5.0), 3, "unbounded"),
    ("mean", (0.0, 4.0, 10.0), 4, "unbounded"),
    ("mean", (0.0, 4.0, 10.0), 4, "bounded"),
    ("variance", (0.0, 4.0, 10.0), 4, "bounded"),
    ("median", (0.0, 4.0, 10.0), 4, "unbounded"),
):
    _claim(
        *("sensitivity", f"{_statistic} of {_size} in {_values}, {_relation}"),
        "is the claimed sensitivity below what neighbours attain?",
        "wrong sensitivities in 12 libraries, dp-recorder (PETS 2026); bounds with sensitivity 0",
        lambda s=_statistic, v=_values, n=_size, r=_relation: worst_move(s, v, n, r),  # type: ignore[misc]
    )


def _noisy_max_rho(scale: float) -> float:
    """Return the KL divergence of the choice of two, scores (0, 0) against (1, -1): at most rho."""
    p = 1 / (1 + math.exp(-2 / scale))
    return 0.5 * math.log(0.5 / p) + 0.5 * math.log(0.5 / (1 - p))


for _scale in (2.0, 5.0, 20.0):
    _claim(
        *("noisy maximum in zCDP", f"Gumbel noise of scale {_scale:g}"),
        "is the rho of a noisy maximum below what two candidates attain?",
        "an open report of 2026: a noisy maximum that spends four times its claimed zCDP",
        lambda s=_scale: _noisy_max_rho(s),  # type: ignore[misc]
    )
for _leaves in (4, 8, 16):
    _claim(
        *("sums in a tree", f"{_leaves} leaves in L2"),
        "is the L2 sensitivity of all sums of a binary tree below the root of its levels?",
        "an open report of 2026 on the L2 sensitivity of tree sums",
        lambda n=_leaves: math.sqrt(math.log2(n) + 1),  # type: ignore[misc]
    )
for _name, _true in (
    ("counts by category, one row changed, in L1", 2.0),
    ("counts by category, one row changed, in L2", math.sqrt(2)),
    ("counts by category, one row added, in L1", 1.0),
):
    _claim(
        *("stability of counts", _name),
        "is a stability of 2 claimed as 1?",
        "an open report of 2026: a pairwise stability of 2 claimed as 1",
        lambda t=_true: t,  # type: ignore[misc]
    )
