"""What is drawn from fixed bytes: every sampler, mechanism, local oracle, statistic and plan."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tacit as tc
from tacit import noise

from . import data, figures, keys
from .private import seeded

SAMPLERS: dict[str, Callable[[Any], Any]] = {
    **{
        f"discrete_laplace {scale}": lambda size, s=scale: noise.discrete_laplace(s, size)
        for scale in ("1/3", 1, 25, 10**6, 10**15, 10**30)
    },
    **{
        f"discrete_gaussian {sigma}": lambda size, s=sigma: noise.discrete_gaussian(s, size)
        for sigma in ("1/2", "5/2", 100, 10**6, 10**12)
    },
    **{
        f"geometric {scale}": lambda size, s=scale: noise.geometric(s, size)
        for scale in ("1/2", 3, 10**5, 10**20)
    },
    **{f"bernoulli {p}": lambda size, p=p: noise.bernoulli(p, size) for p in ("1/3", "1/2", 1e-9)},
    **{f"bernoulli_exp {x}": lambda size, x=x: noise.bernoulli_exp(x, size) for x in (0, "1/2", 7)},
    **{
        f"categorical {len(w)}": lambda size, w=w: noise.categorical(w, size)
        for w in (["1/2", "1/3", "1/6"], list(range(1, 300)))
    },
    **{f"uniform {n}": lambda size, n=n: noise.uniform(n, size) for n in (6, 2**20, 10**18)},
    "exponential_choice": lambda size: noise.exponential_choice([0, 1, 5, 2], "1/2", size=size),
    "random_bytes": lambda size: list(noise.random_bytes(1 if size is None else 8)),
}

INPUTS: dict[str, Any] = {
    **dict.fromkeys(("laplace", "geometric", "truncated_geometric", "staircase", "gaussian"), 3),
    "composition": 3,
    **{key: [2, 1] for key in ("laplace, L1", "gaussian, L2")},
    **{key: [2, 2] for key in ("release_keys", "select_keys")},
    **{key: [2, 2] for key in ("gaussian_keys", "gaussian_keys_in_rounds")},
    "randomized_response": "b",
    "select_best": "b",
    **{key: [0, 1, 1, 0, 1, 1, 1, 0] for key in ("continual_count", "continual_count, gaussian")},
    **{
        key: [0.5 * i for i in range(10)]
        for key in ("sum of a known number", "mean of a known number")
    },
    **{
        key: [0.25, 3.5, 7, 11, 40, 1.75]
        for key in ("sum", "histogram", "converted to approximate", "converted to renyi")
    },
    **dict.fromkeys(("propose_test_release",), [*range(40, 60)] * 20),
    **{
        key: [float(i) for i in range(0, 100, 3)]
        for key in ("smooth_noise", "smooth_noise, student_t")
    },
}
BY_KIND = {"counts": [0, 1, 1, 3, 2, 2, 0], "scores": [0, 2, 1]}
COUNTED = ("count", "composition of one kind", "composition, zcdp")
LEFT_OUT = ("parallel", "sample_and_aggregate")
"""Drawn elsewhere, or by a worker process of their own."""


def input_of(name: str) -> Any:
    """Public data of the domain of a measurement."""
    if name in INPUTS:
        return INPUTS[name]
    counted = name in (*COUNTED, "private_quantile", "poisson_sample")
    return BY_KIND["counts" if counted else "scores"]


def sampled(draw: Callable[[Any], Any]) -> dict[str, Any]:
    """One draw, draws in a block, and a digest of many."""
    with seeded():
        found = {"one": draw(None), "block": draw(12)}
        many = np.asarray(draw(500))
        text = ",".join(map(str, many.ravel().tolist()))
        return {**found, "many": hashlib.sha256(text.encode()).hexdigest()[:16]}


def drawn(name: str) -> list[Any]:
    """Three outputs of a measurement."""
    m = figures.MEASUREMENTS[name]()
    with seeded():
        return [m(input_of(name)) for _ in range(3)]


def released(ask: Callable[[Any], Any], unit: str, budget: Any, **price: Any) -> dict[str, Any]:
    """What is released of the rows."""
    with data.opened(unit, budget) as session:
        asked = ask(session)
        with seeded():
            answer = asked.release(**price)
        answers = answer if isinstance(answer, list) else [answer]
        return {
            "answers": [each.to_dict() for each in answers],
            "released": answers[0].certificate.body["answer"]["released"],
            "spent": str(session.spent),
        }


def over_time() -> Any:
    """A count of days, continued."""
    with data.opened("row", data.PURE) as session, seeded():
        counter = session.count_over_time(
            "day", start="2024-01-01", every="1d", periods=30, epsilon=1
        )
        first = counter.update(now="2024-01-09")
        return [first.to_dict(), counter.update(now="2024-01-20").to_dict()]


DOMAIN = ["red", "blue", "green", "grey", "pink"]
LOCAL: dict[str, Callable[[], Any]] = {
    "RandomizedResponse": lambda: tc.local.RandomizedResponse(p="3/4"),
    "DirectEncoding": lambda: tc.local.DirectEncoding(DOMAIN, epsilon=1),
    "UnaryEncoding": lambda: tc.local.UnaryEncoding(DOMAIN, epsilon=1),
    "UnaryEncoding, p and q": lambda: tc.local.UnaryEncoding(DOMAIN, p="3/4", q="1/4"),
    "UnaryEncoding, symmetric": lambda: tc.local.UnaryEncoding(DOMAIN, epsilon=1, symmetric=True),
    "OptimizedLocalHashing": lambda: tc.local.OptimizedLocalHashing(DOMAIN, epsilon=2),
    "LocalHashing": lambda: tc.local.LocalHashing(DOMAIN, epsilon=1, buckets=3),
    "BinaryLocalHashing": lambda: tc.local.BinaryLocalHashing(DOMAIN, epsilon=1),
    "HadamardResponse": lambda: tc.local.HadamardResponse(DOMAIN, epsilon=1),
    "SubsetSelection": lambda: tc.local.SubsetSelection(DOMAIN, epsilon=1),
    "SummationHistogram": lambda: tc.local.SummationHistogram(DOMAIN, epsilon=1, units=1),
    "ThresholdHistogram": lambda: tc.local.ThresholdHistogram(DOMAIN, epsilon=1),
    "TwoStage": lambda: tc.local.TwoStage(
        tc.local.DirectEncoding(DOMAIN, epsilon=2), tc.local.UnaryEncoding(DOMAIN, epsilon=1)
    ),
    "HierarchicalRanges": lambda: tc.local.HierarchicalRanges(16, epsilon=1),
    "Duchi": lambda: tc.local.Duchi(0, 1, epsilon=1),
    "Piecewise": lambda: tc.local.Piecewise(0, 1, epsilon=1, total=100),
    "HybridMean": lambda: tc.local.HybridMean(0, 1, epsilon=1, total=100),
    "LaplaceMean": lambda: tc.local.LaplaceMean(0, 1, epsilon=1, grid=16),
    "SquareWave": lambda: tc.local.SquareWave(0, 1, epsilon=1, bins=10),
    "CountMeanSketch": lambda: tc.local.CountMeanSketch(epsilon=1, functions=4, buckets=16),
    "HadamardCountMeanSketch": lambda: tc.local.HadamardCountMeanSketch(
        epsilon=1, functions=4, buckets=16
    ),
    "Rappor": lambda: tc.local.Rappor(
        bloom_bits=16, hashes=2, cohorts=4, f="1/2", p="1/4", q="3/4"
    ),
}
UNESTIMATED = ("CountMeanSketch", "HadamardCountMeanSketch", "Rappor", "SquareWave")
"""Oracles whose estimate takes candidates, or more reports than these few."""
NUMERIC = ("Duchi", "Piecewise", "HybridMean", "LaplaceMean", "SquareWave")


def answers_to(name: str) -> list[Any]:
    """Thirty true answers that an oracle takes."""
    if name == "RandomizedResponse":
        return [i % 3 == 0 for i in range(30)]
    if name in NUMERIC:
        return [i / 29 for i in range(30)]
    if name == "HierarchicalRanges":
        return [i % 16 for i in range(30)]
    return [DOMAIN[i * i % 5] for i in range(30)]


def collected(name: str) -> dict[str, Any]:
    """Reports of an oracle, what a collector adds up of them, and the figures of its loss."""
    oracle = LOCAL[name]()
    with seeded():
        reports = oracle.perturb_many(answers_to(name))
    state = oracle.aggregate(reports)
    found = {
        "describe": oracle.describe(),
        "epsilon": float(oracle.epsilon),
        "report_bits": oracle.report_bits,
        "reports": np.asarray(reports),
        "restored": tc.local.oracle_from(oracle.describe()) == oracle,
        "n": state.n,
    }
    if hasattr(oracle, "variance"):
        found["variance"] = float(oracle.variance(1000))
    estimate = None if name in UNESTIMATED else oracle.estimate(state)
    for shown in ("counts", "frequencies", "standard_error", "mean"):
        value = getattr(estimate, shown, None)
        if value is not None and not callable(value):
            found[shown] = value
    return found


def cases() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Everything that draws, by a name of its own."""
    for name, draw in SAMPLERS.items():
        yield f"sampler: {name}", lambda d=draw: sampled(d)
    for name in figures.MEASUREMENTS:
        if name not in LEFT_OUT:
            yield f"measurement: {name}", lambda n=name: drawn(n)
    # Not by found keys and not of samples: in which order groups come, and which bin a person
    # is in, the engine decides.  Grouped ones by row: which groups of a person count, it draws.
    for by in ("in all", "by town"):
        for name, statistic in keys.STATISTICS.items():
            if "sample" in name or (
                by != "in all" and any(method in name for method in figures.METHODS)
            ):
                continue
            needs = "ptr" in name or "laplace" in name
            delta = {"delta": "1e-7"} if needs else {}
            yield (
                f"release: {name}; {by}",
                lambda b=by, s=statistic, d=delta: released(
                    lambda t: keys.GROUPED[b](t).agg(x=s()),
                    "person" if b == "in all" else "row",
                    data.BOTH,
                    epsilon=20,
                    **d,
                ),
            )
    for name in ("count", "mean", "median", "histogram", "var"):
        yield (
            f"release: {name}; rho",
            lambda s=keys.STATISTICS[name]: released(
                lambda t: t.agg(x=s()), "person", data.RHO, rho="1/2"
            ),
        )
    for name, ask in keys.PEOPLE.items():
        yield (
            f"release: per person: {name}",
            lambda a=ask: released(a, "person", data.PURE, epsilon=20),
        )
    for name, ask in keys.PLANS.items():
        yield f"release: plan: {name}", lambda a=ask: released(a, "row", data.PURE, epsilon=5)
        yield f"release: plan: {name}; rho", lambda a=ask: released(a, "row", data.RHO, rho=5)
    yield "release: over time", over_time
    for name in LOCAL:
        yield f"local: {name}", lambda n=name: collected(n)
