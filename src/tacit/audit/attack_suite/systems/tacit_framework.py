"""Tacit's framework: chains of maps on numbers and columns, and what they claim."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from tacit.audit.attack_suite.system import (
    NotOfferedError,
    TacitSystem,
    forked_numbers,
    seed_everything,
)
from tacit.core import (
    AbsoluteDistance,
    Category,
    ChangeOneDistance,
    DiscreteDistance,
    LInfinityDistance,
    Number,
    Space,
    SymmetricDistance,
    Vector,
    ZeroConcentratedDP,
    compose,
    convert,
)
from tacit.mechanisms import (
    Gaussian,
    Laplace,
    NoisyMax,
    RandomizedResponse,
    poisson_sample,
)
from tacit.noise import bernoulli
from tacit.statistics import Values, sensitivity
from tacit.transformations import Count, CountByCategory, TreeCounts

_NUMBER = Space(Number("float"), AbsoluteDistance())
_BIT = Space(Category((0, 1)), DiscreteDistance())
_GRID = "1/1048576"


class TacitFramework(TacitSystem):
    """Chains such as ``space >> count() >> laplace(scale=1)``."""

    name = "tacit-framework"

    def noise(self, kind: str, value: float, scale: float) -> float:
        make: Any = {"laplace": Laplace, "gaussian": Gaussian}[kind]
        released: Any = (_NUMBER >> make(scale, grid=_GRID))(value)
        return float(released)

    def selected(self, rate: float, rows: int) -> int:
        # The draw of `poisson_sample`, in blocks: a table of so many rows would not fit.
        chance, block = Fraction(str(rate)), min(rows, 10_000_000)
        return sum(int(bernoulli(chance, block).sum()) for _ in range(rows // block))

    def noise_costs(self, count: int) -> Sequence[tuple[float, float]]:
        chain = _NUMBER >> Laplace(1000, grid=_GRID)
        costs = []
        for _ in range(count):
            started = time.thread_time_ns()
            drawn: Any = chain(0.0)
            costs.append((abs(float(drawn)), float(time.thread_time_ns() - started)))
        return costs

    def seeded(self, seed: int) -> Sequence[float]:
        seed_everything(seed)
        return [self.noise("laplace", 0.0, 1000.0) for _ in range(4)]

    def forked(self) -> tuple[Sequence[float], Sequence[float]]:
        self.noise("laplace", 0.0, 1000.0)
        return forked_numbers(lambda: [self.noise("laplace", 0.0, 1000.0) for _ in range(4)])

    def claim(self, name: str) -> float:
        attack, _, what = name.partition(": ")
        if attack not in _CLAIMS:
            raise NotOfferedError(f"a claim about {attack}")
        return float(_CLAIMS[attack](what))


def _numbers(what: str) -> list[str]:
    return re.findall(r"[\d.]+(?:e-?\d+)?", what)


def _composed(what: str) -> Any:
    times, size, delta = _numbers(what)
    if "gaussian" in what:
        one: Any = _NUMBER >> Gaussian(size, grid=_GRID)
    else:
        one = _BIT >> RandomizedResponse((0, 1), epsilon=size)
    many = compose([one] * int(times))
    return many.epsilon(delta=delta) if float(delta) else many.map(1)


def _sampled_twice(what: str) -> Any:
    (rate,) = _numbers(what)
    one = Space(Vector(float), SymmetricDistance()) >> Count() >> Laplace(1)
    return poisson_sample(compose([one, one]), rate).map(1)


def _sensitivity(what: str) -> Any:
    match = re.fullmatch(r"(\w+) of (\d+) in \((.*)\), (\w+)", what)
    assert match is not None
    statistic, size, values, given = match.groups()
    relation: Any = given
    domain = Values([float(v) for v in values.split(",")], size=int(size))
    name = "var" if statistic == "variance" else statistic
    return sensitivity(name, over=domain, relation=relation).value


def _noisy_max(what: str) -> Any:
    (scale,) = _numbers(what)
    space = Space(Vector(int, size=2), LInfinityDistance())
    return convert(space >> NoisyMax(scale, noise="gumbel"), ZeroConcentratedDP()).map(1)


def _tree(what: str) -> Any:
    leaves = int(_numbers(what)[0])
    space = Space(Vector(float), SymmetricDistance())
    return (space >> TreeCounts(list(range(leaves + 1)), metric="L2")).map(1)


def _counts(what: str) -> Any:
    metric: Any = ChangeOneDistance() if "changed" in what else SymmetricDistance()
    size: dict[str, Any] = {"size": 3} if "changed" in what else {}
    counts = CountByCategory(["a", "b"], metric=what[-2:])
    return (Space(Vector(str, **size), metric) >> counts).map(1)


_CLAIMS: dict[str, Callable[[str], Fraction | float | Any]] = {
    "composition": _composed,
    "a sample used twice": _sampled_twice,
    "sensitivity": _sensitivity,
    "noisy maximum in zCDP": _noisy_max,
    "sums in a tree": _tree,
    "stability of counts": _counts,
}

SYSTEM = TacitFramework
