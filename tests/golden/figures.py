"""Privacy figures: maps, tight epsilons, sensitivities and expected errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import tacit as tc
from tacit import framework as fw

from . import keys

INTEGERS = fw.Space(fw.Number("int", 0, 4, grid=Fraction(1)), fw.AbsoluteDistance())
PAIR_L1 = fw.Space(fw.Vector(fw.Number("int", 0, 2), size=2), fw.L1Distance())
PAIR_L2 = fw.Space(fw.Vector(fw.Number("int", 0, 2), size=2), fw.L2Distance())
SCORES = fw.Space(fw.Vector(fw.Number("int", 0, 2), size=3), fw.LInfinityDistance())
LABEL = fw.Space(fw.Category(("a", "b", "c")), fw.DiscreteDistance())
COLUMN = fw.Space(fw.Vector(int, bounds=(0, 3)), fw.SymmetricDistance())
FLOATS = fw.Space(fw.Vector(float), fw.SymmetricDistance())
FIXED = fw.Space(fw.Vector(float, size=10), fw.ChangeOneDistance())
STREAM = fw.Space(fw.Vector(fw.Number("int", 0, 1), size=8), fw.L1Distance())
SPARSE = fw.Space(fw.Vector(fw.Number("int", 0, 2, grid=Fraction(1)), size=2), fw.SparseDistance(2))
COUNTS = fw.Space(fw.Vector(fw.Number("int", 0, 2, grid=Fraction(1)), size=2), fw.L1Distance())


def clamped(scale: object) -> Any:
    """The sum of clamped numbers with Laplace noise."""
    return FLOATS >> fw.clamp(0, 12) >> tc.sum() >> fw.laplace(scale=scale)


def counted(sigma: object) -> Any:
    """A count with Gaussian noise."""
    return COLUMN >> tc.count() >> fw.gaussian(scale=sigma)


MEASUREMENTS: dict[str, Callable[[], Any]] = {
    "laplace": lambda: INTEGERS >> fw.laplace(scale="10/7"),
    "laplace, L1": lambda: PAIR_L1 >> fw.laplace(scale=2),
    "geometric": lambda: INTEGERS >> fw.geometric(2),
    "truncated_geometric": lambda: INTEGERS >> fw.truncated_geometric(0, 4, 2),
    "truncated_laplace": lambda: INTEGERS >> fw.truncated_laplace(1, 20),
    "staircase": lambda: INTEGERS >> fw.staircase(1, 3, 2),
    "gaussian": lambda: INTEGERS >> fw.gaussian(scale="5/2"),
    "gaussian, L2": lambda: PAIR_L2 >> fw.gaussian(scale=2),
    "exponential": lambda: SCORES >> fw.exponential(2),
    "exponential, monotone": lambda: SCORES >> fw.exponential(2, monotone=True),
    "exponential, zcdp": lambda: SCORES >> fw.exponential(2, measure="ZeroConcentratedDP"),
    "permute_and_flip": lambda: SCORES >> fw.permute_and_flip(2),
    "noisy_max": lambda: SCORES >> fw.noisy_max(2),
    "noisy_max, gumbel": lambda: SCORES >> fw.noisy_max(2, "gumbel"),
    "above_threshold": lambda: SCORES >> fw.above_threshold(1, 1, 2),
    "sparse_vector": lambda: SCORES >> fw.sparse_vector(1, 1, 4, answers=2),
    "randomized_response": lambda: LABEL >> fw.randomized_response(("a", "b", "c"), epsilon=1),
    "private_quantile": lambda: COLUMN >> fw.private_quantile("1/2", 2),
    "release_keys": lambda: COUNTS >> fw.select_partitions(scale=1, threshold=5),
    "select_keys": lambda: COUNTS >> fw.select_partitions(epsilon=1, delta="1/10"),
    "gaussian_keys": lambda: (
        SPARSE >> fw.select_partitions(noise="gaussian", scale=1, threshold=3, epsilon="3/2")
    ),
    "gaussian_keys_in_rounds": lambda: (
        SPARSE
        >> fw.select_partitions(noise="gaussian", scales=[2, 1], thresholds=[5, 3], epsilon="3/2")
    ),
    "continual_count": lambda: STREAM >> fw.continual_count(3),
    "continual_count, gaussian": lambda: STREAM >> fw.continual_count(2, "tree_gaussian"),
    "sum": lambda: clamped(25),
    "sum of a known number": lambda: FIXED >> fw.clamp(-3, 12) >> tc.sum() >> fw.laplace(scale=25),
    "mean of a known number": lambda: FIXED >> fw.clamp(0, 1) >> tc.mean() >> fw.laplace(scale=1),
    "count": lambda: counted(4),
    "histogram": lambda: FLOATS >> tc.histogram([0, 1, 5, 9]) >> fw.laplace(scale=1),
    "composition": lambda: fw.compose([INTEGERS >> fw.laplace(scale) for scale in (3, 6)]),
    "composition of one kind": lambda: fw.compose([counted(10)] * 5),
    "composition, zcdp": lambda: fw.compose(
        [counted(4), fw.convert(COLUMN >> tc.count() >> fw.laplace(3), fw.ZeroConcentratedDP())]
    ),
    "parallel": lambda: fw.parallel({"a": clamped(25), "b": clamped(40)}),
    "poisson_sample": lambda: fw.poisson_sample(COLUMN >> tc.count() >> fw.laplace(1), "1/10"),
    "converted to approximate": lambda: fw.convert(clamped(25), fw.ApproximateDP()),
    "converted to renyi": lambda: fw.convert(clamped(25), fw.RenyiDP(2)),
    "select_best": lambda: fw.select_best(
        LABEL >> fw.randomized_response(("a", "b", "c"), epsilon="1/2"), score=len, stop="1/10"
    ),
    "propose_test_release": lambda: tc.propose_test_release(
        "median", bounds=(0, 100), bound=2, epsilon=1, delta="1e-6"
    ),
    "smooth_noise": lambda: tc.smooth_noise("median", bounds=(0, 100), epsilon=1, delta="1e-6"),
    "smooth_noise, student_t": lambda: tc.smooth_noise(
        "median", bounds=(0, 100), epsilon=1, distribution="student_t"
    ),
    "sample_and_aggregate": lambda: tc.sample_and_aggregate(
        max, bins=10, bounds=(0, 10), epsilon=1, default=0
    ),
}
"""Every mechanism, composition and conversion, small."""


def enclosure(number: Any) -> list[float]:
    """Both ends of a certified number."""
    return [float(number.lower), float(number.upper)]


def measured(make: Callable[[], Any]) -> dict[str, Any]:
    """The map of a measurement, exactly, and its epsilon and delta at some points."""
    m = make()
    found: dict[str, Any] = {
        "measure": str(m.measure),
        "map": [m.map(d) for d in (0, 1, 2, 3)],
    }
    if make is MEASUREMENTS["composition"]:  # of two laws: its points take twenty seconds
        return found
    for name, points in (("epsilon", ("1e-3", "1e-6", "1e-9")), ("delta", ("1/10", 1))):
        other = "delta" if name == "epsilon" else "epsilon"
        for point in points:
            try:
                found[f"{name} at {point}"] = enclosure(getattr(m, name)(**{other: point}))
            except tc.errors.TacitError as error:
                found[f"{name} at {point}"] = type(error).__name__
    return found


CALIBRATED: dict[str, Callable[[], Any]] = {
    "laplace for epsilon 1/2": lambda: fw.calibrate(
        FLOATS >> fw.clamp(0, 12) >> tc.sum() >> fw.laplace, 1, "1/2"
    ),
    "gaussian for rho 1/8": lambda: fw.calibrate(COLUMN >> tc.count() >> fw.gaussian, 1, "1/8"),
}

STATISTICS = (
    *("count", "sum", "mean", "median", "var", "std", "min", "max"),
    *("interquartile_range", "trimmed_mean:0.25", "percentile:90", "var(ddof=1)"),
    *("winsorized_mean:0.25", "range", "mad", "gini", "mode"),
)
DOMAINS: dict[str, Callable[[], Any]] = {
    "records": lambda: tc.Records([1, 2, 2, 2, 5, 5, 7, 8, 9, 9], size=6),
    "values": lambda: tc.Values(["-1/2", 0, 1, 4], size=4),
    "interval": lambda: tc.Interval(0, 10, size=5),
}
RELATIONS = ("unbounded", "add", "remove", "bounded")


def sensitivities(statistic: str, domain: str) -> dict[str, Any]:
    """The sensitivities of a statistic over a domain: exact where they are fractions."""
    found = {}
    for relation in RELATIONS:
        for distance in (1, 2):
            for within in (True, False):
                try:
                    s = tc.sensitivity(
                        statistic,
                        over=DOMAINS[domain](),
                        distance=distance,
                        relation=relation,
                        within=within,
                    )
                    value: Any = [s.value, s.exact, s.method]
                except tc.errors.TacitError as error:
                    value = type(error).__name__
                found[f"{relation}, {'within' if within else 'exactly'} {distance}"] = value
    return found


AT = [1, 2, 2, 2, 5, 5]
DATA = [0, 1, 1, 3, 4, 4, 5, 7, 9, 10]


def local(statistic: str) -> dict[str, Any]:
    """The local and the smooth sensitivity, and the distance to instability."""
    found: dict[str, Any] = {}
    for relation in ("unbounded", "bounded"):
        over = tc.Records([1, 2, 2, 2, 5, 5, 7, 8, 9, 9], size=6)
        asked: dict[str, Callable[[], Any]] = {
            "at": lambda r=relation, o=over: (
                tc.sensitivity(statistic, over=o, at=AT, relation=r).value
            ),
            "at a distance": lambda r=relation: [
                tc.local_sensitivity_at(statistic, DATA, (0, 10), t, r) for t in (0, 1, 3)
            ],
            "smooth": lambda r=relation: tc.smooth_sensitivity(statistic, DATA, (0, 10), "1/5", r),
            "instability": lambda r=relation: tc.distance_to_instability(
                statistic, DATA, (0, 10), 3, r
            ),
        }
        for name, ask in asked.items():
            try:
                found[f"{name}, {relation}"] = ask()
            except tc.errors.TacitError as error:
                found[f"{name}, {relation}"] = type(error).__name__
    return found


def errors_of(question: Any, **price: Any) -> dict[str, Any]:
    """What a preview expects."""
    shown = question.preview(confidence="0.9", **price)
    return {
        "cost": str(shown.cost),
        "errors": shown.errors,
        "intervals": shown.intervals,
        "units": shown.units,
    }


def least_epsilon() -> Any:
    """The least epsilon for a half-width."""
    asked = keys.session("person", "PURE").agg(n=tc.count(), m=tc.mean("age", 0, 100))
    return [asked.epsilon_for({"m": 2}, "0.95"), asked.epsilon_for({"n": 5}, rows=50)]


WORKLOADS: dict[str, Callable[[], Any]] = {
    "ranges": lambda: tc.workload.ranges(16),
    "prefix sums": lambda: tc.workload.prefix_sums(16),
    "marginals": lambda: tc.workload.marginals({"a": 2, "b": 3, "c": 4}, 2),
}


def workload_errors(make: Callable[[], Any]) -> list[Any]:
    """The expected errors of a workload."""
    work = make()
    return [work.expected_error(rho="1/2"), work.expected_error(epsilon=1)]


def budgets() -> dict[str, Any]:
    """Budgets: what they print, add up to and read back as."""
    made = [tc.epsilon("1/3"), tc.epsilon(0.1), tc.epsilon_delta(1, "1e-6"), tc.rho("1/10")]
    return {
        "texts": [[repr(b), str(b), b.to_json()] for b in made],
        "sums": [repr(b + b) for b in made],
        "left": [repr(b - b) for b in made],
    }


def cases() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every figure by a name of its own."""
    for name, make in MEASUREMENTS.items():
        yield f"map: {name}", lambda m=make: measured(m)
    for name, make in CALIBRATED.items():
        yield f"calibrated: {name}", lambda m=make: m().describe()
    for statistic in STATISTICS:
        for domain in DOMAINS:
            yield (
                f"sensitivity: {statistic}; {domain}",
                lambda s=statistic, d=domain: sensitivities(s, d),
            )
        yield f"local sensitivity: {statistic}", lambda s=statistic: local(s)
    for by in ("in all", "by town"):
        for name, statistic in keys.STATISTICS.items():
            for unit in data_units(by, name):
                yield (
                    f"error: {name}; {by}; {unit}",
                    lambda u=unit, b=by, s=statistic: errors_of(
                        keys.GROUPED[b](keys.session(u)).agg(x=s()), epsilon="1/2", delta="1e-7"
                    ),
                )
    for name, ask in keys.PLANS.items():
        yield (
            f"error: plan: {name}",
            lambda a=ask: errors_of(a(keys.session("row", "PURE")), epsilon=1),
        )
        yield (
            f"error: plan: {name}; rho",
            lambda a=ask: errors_of(a(keys.session("row", "RHO")), rho="1/8"),
        )
    for name, make in WORKLOADS.items():
        yield f"workload: {name}", lambda m=make: workload_errors(m)
    yield "least epsilon", least_epsilon
    yield "budgets", budgets


METHODS = (", smooth", ", ptr", ", auto", ", sample")


def data_units(by: str, name: str) -> tuple[str, ...]:
    """The units that a question is previewed with: one for methods, which take half a second."""
    if any(method in name for method in METHODS):
        return ("row",) if by == "in all" else ()
    return ("person",)
