"""Workloads of marginals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number, as_integer
from tacit.calls import public
from tacit.errors import UsageError, did_you_mean
from tacit.workload.cells import loss_of, unit_variance
from tacit.workload.strategies import minimise

# Which marginals get Laplace noise, so that the asked ones have little error: unions are tried.
#
# Noise on the marginal S with the share t of epsilon tells the residual of every subset B of S with
# the precision ``t^2 / prod_(i in S, not in B) n_i`` (:mod:`tacit.workload.marginals`).  Shares of
# epsilon add up, so m marginals that are measured apart have variances that grow with ``m^2``; one
# that holds them all has the sum of several cells in each of theirs.  Where attributes have few
# cells, the second is less: a marginal on the union of others replaces them.
#
# The total error is not convex in the shares, and no optimum is proven.  From the asked marginals,
# the union that lowers the total most replaces all that it contains, with the shares
# found again by descent, as long as any lowers it.  What is found is never worse than the start.


Array = NDArray[np.float64]
_Set = frozenset[int]

MAX_SETS = 80  # beyond this many residuals no unions are tried: every two of the sets have one
_MAX_CELLS = 1 << 15  # a union has no more cells
_TRIED = 6
_FIRST, _STEPS = 300, 40
# How much larger the share of a union may be than the largest of what it holds, to begin with.
_LARGER = (0.8, 1.0, 1.25, 1.6, 2.2)
_BETTER = 1 - 1e-6


@dataclass(frozen=True, eq=False)
class Covering:
    """Marginals that get noise, with their shares, and the total squared error at variance 1."""

    sets: tuple[tuple[int, ...], ...]
    shares: tuple[float, ...]  # of each its share of epsilon; they add up to one
    total: float  # the total squared error where noise on all of epsilon has the variance 1


class _CoverProblem:
    """The residuals that are needed, and how much the variance of each counts."""

    def __init__(self, sizes: Sequence[int], counts: Mapping[tuple[int, ...], float]) -> None:
        self.sizes = tuple(sizes)
        self.needed = [frozenset(part) for part in counts]
        self.counts = np.array(list(counts.values()))

    def cells(self, one: _Set) -> int:
        return math.prod(self.sizes[i] for i in one)

    def variances_of(self, one: _Set) -> Array:
        """Return the precision of each residual under noise of variance 1 on a marginal."""
        return np.array([1 / self.cells(one - part) * (part <= one) for part in self.needed])

    def polished(self, sets: Sequence[_Set], shares: Array, steps: int) -> _Cover:
        """Return the sets with the shares that descent finds."""
        variances_of = np.array([self.variances_of(one) for one in sets])

        def value(t: Array) -> tuple[float, Array]:
            # homogeneous: (sum t)^2 f(t) is least where f is, under sum t = 1
            precision = (t * t) @ variances_of
            if precision.min() <= 1e-100:  # a needed combination has no estimate
                return math.inf, np.zeros_like(t)
            each = self.counts / precision
            sum_of_costs, total = float(each.sum()), float(t.sum())
            pulled = variances_of @ (each / precision)
            return total**2 * sum_of_costs, 2 * total * sum_of_costs - 2 * total**2 * t * pulled

        start = shares / shares.sum()
        scale = value(start)[0]

        def scaled(t: Array) -> tuple[float, Array]:
            weights, slope = value(t)
            return weights / scale, slope / scale

        weights = minimise(scaled, start, steps)
        positive = weights > 1e-4 * weights.max()
        minimum = [one for one, keep in zip(sets, positive, strict=True) if keep]
        if not all(any(part <= one for one in minimum) for part in self.needed):
            minimum, positive = list(sets), np.ones(len(sets), dtype=bool)
        weights = np.maximum(weights[positive], 1e-6 * weights.max())
        variances_of, weights = variances_of[positive], weights / weights.sum()
        return _Cover(self, minimum, weights, variances_of, value(weights)[0])


@dataclass(frozen=True, eq=False)
class _Cover:
    asked: _CoverProblem
    sets: Sequence[_Set]
    shares: Array
    variances_of: Array
    total: float

    def unions(self) -> list[tuple[float, tuple[list[int], _Set, float]]]:
        """Return what may replace sets within: the total, their places, the union, its share."""
        known = {one: index for index, one in enumerate(self.sets)}
        several = [a | b for a, b in itertools.combinations(self.sets, 2)]
        every = range(len(self.asked.sizes))
        several += [one | {i} for one in self.sets for i in every]
        precision = (self.shares**2) @ self.variances_of
        unions = []
        for union in dict.fromkeys(several):
            if union in known or self.asked.cells(union) > _MAX_CELLS:
                continue
            inside = [index for one, index in known.items() if one <= union]
            own, variances_of = self.shares[inside], self.asked.variances_of(union)
            minimum = precision - (own**2) @ self.variances_of[inside]
            tried = []
            for larger in _LARGER:
                share = float(own.max()) * larger
                now = np.maximum(minimum + variances_of * share**2, 1e-150)
                total = (1 - float(own.sum()) + share) ** 2 * float((self.asked.counts / now).sum())
                tried.append((float(f"{total:.9e}"), share))  # what is equal stays so everywhere
            total, share = min(tried)
            unions.append((total, (inside, union, share)))
        return sorted(unions, key=lambda one: (one[0], sorted(one[1][1])))

    def with_union(self, inside: Sequence[int], union: _Set, share: float) -> _Cover:
        """Return the sets with a union in the place of those that it holds."""
        left = [index for index in range(len(self.sets)) if index not in inside]
        sets = [*(self.sets[index] for index in left), union]
        return self.asked.polished(sets, np.append(self.shares[left], share), _STEPS)


def covering(sizes: Sequence[int], counts: Mapping[tuple[int, ...], float]) -> Covering | None:
    """Return marginals to measure with Laplace noise; None where there are too many to try.

    >>> pairs = {(): 1.0, (0,): 1.0, (1,): 1.0, (2,): 1.0, (0, 1): 1.0, (0, 2): 1.0, (1, 2): 1.0}
    >>> covering((2, 2, 2), pairs).sets
    ((0, 1, 2),)
    >>> far = {part: 20.0 ** len(part) for part in pairs}
    >>> sorted(covering((20, 20, 20), far).sets)
    [(0, 1), (0, 2), (1, 2)]
    """
    # counts: of each residual that is needed how much its variance counts, above zero.
    problem = _CoverProblem(sizes, counts)
    if not 0 < len(problem.needed) <= MAX_SETS:
        return None
    best = problem.polished(problem.needed, np.ones(len(problem.needed)), _FIRST)
    while True:
        tried = [best.with_union(*rest) for _, rest in best.unions()[:_TRIED]]
        best_cover = min(tried, key=lambda one: float(f"{one.total:.9e}"), default=best)
        if best_cover.total >= best.total * _BETTER:
            break
        best = best_cover
    sets = tuple(tuple(sorted(one)) for one in best.sets)
    return Covering(sets, tuple(map(float, best.shares)), best.total)


def total_of(
    sizes: Sequence[int],
    counts: Mapping[tuple[int, ...], float],
    shares: Mapping[tuple[int, ...], float],
) -> float:
    """Return the total squared error where marginals have shares of a noise of variance 1.

    >>> total_of((2, 2), {(): 1.0, (0,): 1.0}, {(0, 1): 1})
    6.0
    """
    # Every residual that is needed lies within one of them.
    problem = _CoverProblem(sizes, counts)
    precision = sum(
        problem.variances_of(frozenset(one)) * share**2 for one, share in shares.items()
    )
    return float((problem.counts / precision).sum())


# Workloads of marginals: the smallest error, in closed form for Gaussian noise.
#
# Let the domain be a product of attributes i with n_i cells.  For a set B of attributes, let P_B be
# the projection of the cells of the marginal B onto what no smaller marginal tells: the product
# over B of ``I - 1 1^T / n_i``.  The marginal on A is a sum, over the subsets B of A, of ``P_B`` of
# the marginal on B, spread evenly over the rest.  So it is enough to know each of these residuals,
# and their noises are independent (Xiao, He, Zhang, Kifer, *An optimal and scalable matrix
# mechanism for noisy marginals under convex loss functions*, NeurIPS 2023).
#
# *Error.*  Let the residual of B be known with the covariance ``s_B P_B``.  A question that takes
# the product of vectors q_i (``q_i = 1`` where it does not name i) has the variance ``sum over B of
# s_B prod_(i in B) |P q_i|^2 prod_(i not in B) (sum q_i / n_i)^2``.  So every total of errors is
# ``sum c_B s_B`` with numbers c_B that do not depend on the noise.
#
# *Gaussian noise.*  What is measured is ``Q_B``, the product over B of ``n_i I - 1 1^T``, applied
# to the marginal on B: integers.  A row moves them by exactly ``sqrt(prod n_i (n_i - 1))`` in
# L2, so noise of variance ``s_B prod n_i^2`` costs ``rho_B = p_B / (2 s_B)`` with ``p_B = prod (1 -
# 1 / n_i)``, and ``P_B`` of the noisy numbers over ``prod n_i`` has the covariance ``s_B P_B``.
# Under ``sum rho_B = rho`` the total is least at ``rho_B`` in proportion to ``sqrt(c_B p_B)``,
# where it is ``(sum sqrt(c_B p_B))^2 / (2 rho)`` (Cauchy and Schwarz).  For whole marginals that is
# the bound of singular values, so no strategy at all does better.
#
# *Laplace noise.*  Marginals A themselves are measured, with the share t_A of epsilon and noise of
# variance ``2 / (t_A epsilon)^2``.  Each tells the residual of every subset B of A with the
# variance ``2 prod_(i in A, not in B) n_i / (t_A epsilon)^2``; their weighted mean is that of least
# squares, and ``s_B`` one over the sum of the precisions.  Shares are found by descent, for few
# marginals on unions of them too (:mod:`tacit.workload.marginals`).

Subset = tuple[int, ...]  # attributes by their places, rising

_MARGINAL_STEPS = 300
_MAX_WAYS = 12
_MAX_SUBSETS = 200_000


@dataclass(frozen=True, eq=False)
class Residuals:
    """Which residuals a workload needs, and how much the error of each counts.

    Attributes:
        sizes: how many cells each attribute has.
        subsets: the sets B of attributes, every subset of one of them included.
        counts: the number c_B of each: the total squared error is the sum of ``c_B s_B``.
    """

    sizes: tuple[int, ...]
    subsets: tuple[Subset, ...]
    counts: Array

    @classmethod
    def of(cls, sizes: Sequence[int], counts: Mapping[Subset, float]) -> Residuals:
        """Return the residuals with the numbers c_B that are not zero, and their subsets."""
        known: dict[Subset, float] = {}
        for subset in counts:
            for width in range(len(subset) + 1):
                for part in itertools.combinations(subset, width):
                    known.setdefault(part, 0.0)
        known |= counts
        ordered = sorted(known, key=lambda subset: (len(subset), subset))
        return cls(tuple(sizes), tuple(ordered), np.array([known[s] for s in ordered]))

    @cached_property
    def prices(self) -> Array:
        """The number p_B of each: twice the rho that the residual costs at variance 1."""
        return np.array([math.prod(1 - 1 / self.sizes[i] for i in s) for s in self.subsets])

    def gaussian_shares(self) -> Array:
        """Return the share of a rho that each residual takes for the least total error."""
        wanted = np.sqrt(self.counts * self.prices)
        return np.asarray(wanted / wanted.sum())

    def gaussian_variances(self, shares: Array) -> Array:
        """Return the variance s_B of each residual at rho = 1/2; infinite without a share."""
        free = np.where(self.prices > 0, np.inf, 0.0)
        return np.divide(self.prices, shares, out=free, where=shares > 0)

    def laplace_shares(self) -> Array:
        """Return the share of an epsilon that each marginal takes for little total error."""
        wanted = (self.counts > 0).astype(np.float64)
        start = np.where(wanted > 0, 1.0, 0.01)

        def value(shares: Array) -> tuple[float, Array]:
            # homogeneous: (sum t)^2 f(t) is least where f is, under sum t = 1
            precision = self._precisions(shares)
            if (precision[wanted > 0] <= 1e-100).any():  # a needed combination has no estimate
                return math.inf, np.zeros_like(shares)
            each = np.divide(self.counts, precision, out=np.zeros_like(precision), where=wanted > 0)
            total = float(shares.sum())
            pulled = np.bincount(
                self._above,
                self._ratio * (each / np.maximum(precision, 1e-300))[self._below],
                minlength=len(shares),
            )
            sum_of_costs = float(each.sum())
            return (
                total**2 * sum_of_costs,
                2 * total * sum_of_costs - 2 * total**2 * shares * pulled,
            )

        scale = value(start)[0]
        optimum = minimise(lambda t: _scaled(value(t), scale), start / start.sum(), _MARGINAL_STEPS)
        optimum = np.where(optimum > 1e-4 * optimum.max(), optimum, 0.0)
        return np.asarray(optimum / optimum.sum())

    def laplace_variances(self, shares: Array) -> Array:
        """Return the variance s_B of each residual for noise of variance ``1 / share^2``."""
        precision = self._precisions(shares)
        endless = np.full_like(precision, np.inf)
        return np.divide(1.0, precision, out=endless, where=precision > 0)

    def _precisions(self, shares: Array) -> Array:
        variances_of = self._ratio * shares[self._above] ** 2
        return np.asarray(np.bincount(self._below, variances_of, minlength=len(shares)), np.float64)

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
        """Pairs of a subset and one that holds it, and one over the cells between them."""
        index = {subset: number for number, subset in enumerate(self.subsets)}
        above, below, ratio = [], [], []
        for subset, number in index.items():
            for width in range(len(subset) + 1):
                for part in itertools.combinations(subset, width):
                    above.append(number)
                    below.append(index[part])
                    between = [self.sizes[i] for i in subset if i not in part]
                    ratio.append(1 / math.prod(between))
        return np.array(above), np.array(below), np.array(ratio)

    @property
    def _above(self) -> NDArray[np.int64]:
        return self._pairs[0]

    @property
    def _below(self) -> NDArray[np.int64]:
        return self._pairs[1]

    @property
    def _ratio(self) -> Array:
        return self._pairs[2]

    def total(self, variances: Array) -> float:
        """Return the total squared error, from the variance of each residual."""
        used = self.counts > 0
        return float((self.counts[used] * variances[used]).sum())


def _scaled(value_and_slope: tuple[float, Array], by: float) -> tuple[float, Array]:
    return value_and_slope[0] / by, value_and_slope[1] / by


@public
@dataclass(frozen=True, eq=False)
class MarginalWorkload:
    """Marginals of declared attributes, all of them to be answered under one budget.

    Attributes:
        domain: how many cells each attribute has, by name.
        subsets: the marginals, each a set of attributes by their places.

    Example:
        >>> import tacit as tc
        >>> pairs = tc.workload.marginals({"sex": 2, "site": 10, "age": 8}, ways=2)
        >>> pairs.size, len(pairs.subsets)
        (116, 3)
        >>> abs(pairs.expected_error(rho=1) / pairs.lower_bound(rho=1) - 1) < 1e-9
        True
    """

    domain: Mapping[str, int]
    subsets: tuple[Subset, ...]

    @property
    def size(self) -> int:
        """Number of cells of all marginals."""
        sizes = list(self.domain.values())
        return sum(math.prod(sizes[i] for i in subset) for subset in self.subsets)

    @cached_property
    def residuals(self) -> Residuals:
        """The residuals that they need."""
        sizes = list(self.domain.values())
        counts: dict[Subset, float] = {}
        for subset in self.subsets:
            for width in range(len(subset) + 1):
                for part in itertools.combinations(subset, width):
                    rest = math.prod(sizes[i] for i in subset if i not in part)
                    variances_of = math.prod(sizes[i] - 1 for i in part) / rest
                    counts[part] = counts.get(part, 0.0) + variances_of
        return Residuals.of(sizes, counts)

    def expected_error(self, epsilon: Number | None = None, *, rho: Number | None = None) -> float:
        """Return the root mean square error over all cells of all marginals.

        Args:
            epsilon: of pure differential privacy, where rows are added or removed.
            rho: of zero-concentrated differential privacy: the smallest that any strategy has.

        Raises:
            UsageError: neither epsilon nor rho, or both.
        """
        loss, needed = loss_of(epsilon, rho), self.residuals
        if loss.kind == "concentrated":
            variances = needed.gaussian_variances(needed.gaussian_shares())
        else:
            variances = needed.laplace_variances(needed.laplace_shares())
        total = needed.total(variances)
        if loss.kind != "concentrated":
            used = zip(needed.subsets, needed.counts.tolist(), strict=True)
            unions = covering(needed.sizes, {part: count for part, count in used if count})
            total = total if unions is None else min(total, unions.total)
        return math.sqrt(total * unit_variance(loss) / self.size)

    def lower_bound(self, epsilon: Number | None = None, *, rho: Number | None = None) -> float:
        """Return a lower bound on the root mean square error of all strategies.

        Args:
            epsilon: of pure DP, for Laplace noise.
            rho: of zCDP, for Gaussian noise, instead.
        """
        sizes, needed = list(self.domain.values()), self.residuals
        root = 0.0
        for subset, count in zip(needed.subsets, needed.counts.tolist(), strict=True):
            # over the cells of the domain its squared singular value is this; it comes so often
            often = math.prod(sizes[i] - 1 for i in subset)
            if often:
                root += often * math.sqrt(count / often / math.prod(sizes[i] for i in subset))
        return root * math.sqrt(unit_variance(loss_of(epsilon, rho)) / self.size)


@public
def marginals(
    domain: Mapping[str, int] | Sequence[int],
    ways: int | Sequence[int] | Sequence[Sequence[str]] = 2,
) -> MarginalWorkload:
    """Return the workload of all marginals of a given number of attributes.

    Args:
        domain: how many cells each attribute has, by name; or only the numbers.
        ways: how many attributes each marginal has: ``2``, or several such as ``(1, 2)``; or the
            marginals themselves, each a list of names.

    Raises:
        UsageError: no attributes, one without cells, an unknown name, or more than 200,000
            marginals.

    >>> marginals({"sex": 2, "site": 10}, ways=(1, 2)).size
    32
    >>> marginals({"sex": 2, "site": 10}, ways=[["sex"], ["site", "sex"]]).size
    22
    """
    named = domain if isinstance(domain, Mapping) else {str(i): n for i, n in enumerate(domain)}
    sizes = {
        str(name): as_integer(size, f"the number of cells of {name!r}", minimum=1)
        for name, size in named.items()
    }
    if not sizes:
        raise UsageError("a domain has at least one attribute: marginals({'sex': 2, 'site': 10})")
    listed = [ways] if isinstance(ways, int) else list(ways)
    counts = dict.fromkeys(itertools.chain.from_iterable(_subsets(sizes, each) for each in listed))
    if not counts:
        raise UsageError("name at least one marginal: ways=2, or ways=[['sex', 'site']]")
    return MarginalWorkload(sizes, tuple(counts))


def _subsets(sizes: Mapping[str, int], requested: object) -> Iterable[Subset]:
    names = list(sizes)
    if isinstance(requested, int) and not isinstance(requested, bool):
        if not 0 <= requested <= min(len(names), _MAX_WAYS):
            raise UsageError(
                f"a marginal has 0 to {min(len(names), _MAX_WAYS)} attributes, not {requested}"
            )
        if math.comb(len(names), requested) > _MAX_SUBSETS:
            raise UsageError(
                f"there are {math.comb(len(names), requested):,} marginals of {requested} "
                f"attributes; at "
                f"most {_MAX_SUBSETS:,} are planned"
            )
        return itertools.combinations(range(len(names)), requested)
    if not isinstance(requested, (list, tuple)):
        raise UsageError("a marginal is a list of names of attributes, or a number of them")
    for name in requested:
        if name not in sizes:
            raise UsageError(f"there is no attribute {name!r}; {did_you_mean(str(name), names)}")
    return [tuple(sorted({names.index(name) for name in requested}))]
