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
from tacit.workload.laplace_marginals import cheapest_cover

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
# squares, and ``s_B`` one over the sum of the precisions.  Which marginals get noise is searched
# for (:mod:`tacit.workload.laplace_marginals`).

Array = NDArray[np.float64]
Subset = tuple[int, ...]  # attributes by their indices, rising

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

    def total(self, variances: Array) -> float:
        """Return the total squared error, from the variance of each residual."""
        used = self.counts > 0
        return float((self.counts[used] * variances[used]).sum())


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
            total = needed.total(needed.gaussian_variances(needed.gaussian_shares()))
        else:
            used = zip(needed.subsets, needed.counts.tolist(), strict=True)
            counts = {part: count for part, count in used if count}
            total = cheapest_cover(needed.sizes, counts).total
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
