"""Workloads of marginals, and which marginals get noise."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number, as_integer
from tacit.calls import public
from tacit.errors import UsageError, did_you_mean
from tacit.workload.cells import loss_of, unit_variance
from tacit.workload.strategies import minimise

# Which marginals get Laplace noise, and with which shares of epsilon.
#
# Noise on the marginal S with the share t of epsilon gives the residual of every subset B of S the
# precision ``t^2 / prod_(i in S, not in B) n_i`` (as proven below).  Shares of epsilon add up, so m
# marginals that are measured separately have variances that grow with ``m^2``; one that contains
# them all has the sum of several cells in each of theirs.  Where attributes have few cells, the
# second is less: a marginal on the union of others replaces them, up to the marginal on all
# attributes, which is noise on every cell.
#
# The total error is not convex in the shares, and no optimum is proven.  Several covers are
# descended from: the requested marginals, with and without their subsets, and unions of them of at
# most 2, 4, 8, ... times the cells of the largest.  From the best of these, sets are united,
# widened, narrowed, exchanged and added as long as that lowers the total.  The requested marginals
# with equal shares and the marginal on all attributes are among the starts, so the result is never
# worse than either.  tests/workload/test_laplace_marginals.py compares with descent over all 2^d
# marginals.


Array = NDArray[np.float64]
Subset = tuple[int, ...]  # attributes by their indices, rising

_MAX_CELLS = 1 << 20  # of a union; a requested marginal may have more
_MAX_SETS = 300  # of a cover that is improved
_MAX_COVERED = 20_000  # beyond this many residuals, no unions are tried
_FEW = 1000  # residuals of a problem that is remembered
_IMPROVED = 16  # starts that are improved
_TRIED = 5  # moves of a round that are descended from
_FIRST, _STEPS = 200, 40
_BETTER = 1 - 1e-4
# Work of a round and of the whole search, in precisions that are computed.  Counts, not seconds:
# every machine has to find the same.
_ROUND, _SEARCH = 3_000_000, 100_000_000
# The share of a set that replaces others, over the largest of theirs, and of one that is added,
# over the mean: to start the descent from.
_REPLACING = (0.7, 1.0, 1.4, 2.0, 2.8)
_ADDED = (0.05, 0.2, 0.6, 1.0, 1.4)


@dataclass(frozen=True, eq=False)
class Cover:
    """Marginals that get noise, with their shares, and the total squared error at variance 1."""

    sets: tuple[Subset, ...]
    shares: tuple[float, ...]  # of epsilon, one per set; they add up to one
    total: float  # the total squared error where noise on all of epsilon has the variance 1


def cheapest_cover(
    sizes: Sequence[int], counts: Mapping[Subset, float], max_cells: float = math.inf
) -> Cover:
    """Return the marginals to measure with Laplace noise, and their shares of epsilon.

    Args:
        sizes: how many cells each attribute has.
        counts: of each residual that is needed how much its variance counts, above zero.
        max_cells: how many cells the marginals may have together, unless they are those needed.

    >>> pairs = {(): 1.0, (0,): 1.0, (1,): 1.0, (2,): 1.0, (0, 1): 1.0, (0, 2): 1.0, (1, 2): 1.0}
    >>> cheapest_cover((2, 2, 2), pairs).sets
    ((0, 1, 2),)
    >>> far = {part: 20.0 ** len(part) for part in pairs}
    >>> sorted(cheapest_cover((20, 20, 20), far).sets)
    [(0, 1), (0, 2), (1, 2)]
    """
    if not counts:
        return Cover((), (), 0.0)
    known = _found_lately if len(counts) <= _FEW else _found_lately.__wrapped__
    return known(tuple(sizes), tuple(counts.items()), max_cells)


@lru_cache(maxsize=64)
def _found_lately(
    sizes: tuple[int, ...], counts: tuple[tuple[Subset, float], ...], max_cells: float
) -> Cover:
    # A plan is previewed, released and verified: one search for all, and it knows no row.
    problem = _Problem(sizes, dict(counts), max_cells)
    requested, *unions = (
        problem.polished(start, np.ones(len(start)), _FIRST) for start in problem.starts()
    )
    unions.sort(key=lambda cover: _rounded(cover.total))
    best = min([requested, *unions], key=lambda cover: _rounded(cover.total))
    starts = [one for one in [requested, *unions] if len(one.sets) <= _MAX_SETS][:_IMPROVED]
    work = _SEARCH
    for start in starts:
        improved, done = problem.improved(start, min(work, _SEARCH // 3))
        work -= done
        if improved.total < best.total * (1 - 1e-6):
            best = improved
    sets = tuple(_indices(mask) for mask in best.sets)
    return Cover(sets, tuple(best.shares.tolist()), best.total)


def total_of(
    sizes: Sequence[int], counts: Mapping[Subset, float], shares: Mapping[Subset, float]
) -> float:
    """Return the total squared error where marginals have shares of a noise of variance 1.

    Every residual that is needed must lie within one of them.

    >>> total_of((2, 2), {(): 1.0, (0,): 1.0}, {(0, 1): 1})
    6.0
    """
    problem = _Problem(sizes, counts)
    sets = [_mask(subset) for subset in shares]
    return problem.total(problem.links(sets), np.array(list(shares.values()), dtype=np.float64))


def _mask(subset: Iterable[int]) -> int:
    return sum(1 << i for i in subset)


def _indices(mask: int) -> Subset:
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


def _rounded(value: float) -> float:
    """Round to nine digits: what is equal stays equal on every machine."""
    return float(f"{value:.8e}")


class _Links(NamedTuple):
    """Pairs of a set and a needed residual within it, and the precision per squared share."""

    sets: NDArray[np.int64]
    residuals: NDArray[np.int64]
    ratios: Array


class _Cover(NamedTuple):
    sets: list[int]  # masks of attributes
    shares: Array
    total: float


class _Move(NamedTuple):
    """A set that is put in the place of others, given by their indices."""

    replaced: tuple[int, ...]
    added: int
    cells: float


class _Problem:
    """The residuals that are needed, as masks, and how much the variance of each counts."""

    def __init__(
        self, sizes: Sequence[int], counts: Mapping[Subset, float], max_cells: float = math.inf
    ) -> None:
        self.max_cells = max_cells
        self.sizes = np.array(sizes, dtype=np.float64)
        self.needed = [_mask(subset) for subset in counts]
        self.counts = np.array(list(counts.values()))
        self._index = {mask: index for index, mask in enumerate(self.needed)}
        self._attributes = self._bits(self.needed).astype(np.float32)
        self._cells_of_needed = self._cells(self.needed)

    def _bits(self, masks: Sequence[int]) -> NDArray[np.bool_]:
        """Return which attributes each mask has, of shape (masks, attributes)."""
        width = (len(self.sizes) + 7) // 8
        flat = np.frombuffer(b"".join(m.to_bytes(width, "little") for m in masks), dtype=np.uint8)
        bits = np.unpackbits(flat.reshape(len(masks), width), axis=1, bitorder="little")
        return bits[:, : len(self.sizes)].astype(np.bool_)

    def _cells(self, masks: Sequence[int]) -> Array:
        return np.asarray(np.where(self._bits(masks), self.sizes, 1.0).prod(axis=1))

    def _within(self, mask: int) -> NDArray[np.int64]:
        """Return the indices of the needed residuals within a set."""
        attributes = _indices(mask)
        if 1 << len(attributes) < len(self.needed):
            parts = itertools.chain.from_iterable(
                itertools.combinations(attributes, width) for width in range(len(attributes) + 1)
            )
            known = (self._index.get(_mask(part)) for part in parts)
            return np.array([index for index in known if index is not None], dtype=np.int64)
        outside = np.ones(len(self.sizes), dtype=np.float32)
        outside[list(attributes)] = 0
        return np.flatnonzero(self._attributes @ outside == 0)

    def links(self, sets: Sequence[int]) -> _Links:
        within = [self._within(mask) for mask in sets]
        above = np.repeat(np.arange(len(sets)), [len(one) for one in within])
        below = np.concatenate(within)
        return _Links(above, below, self._cells_of_needed[below] / self._cells(sets)[above])

    def _precisions(self, links: _Links, shares: Array) -> Array:
        # bincount adds in the order of the links, on every machine
        precisions = links.ratios * (shares * shares)[links.sets]
        return np.asarray(np.bincount(links.residuals, precisions, len(self.needed)))

    def total(self, links: _Links, shares: Array) -> float:
        """Return the total squared error for shares as they are, not scaled to a sum of 1."""
        return math.fsum((self.counts / self._precisions(links, shares)).tolist())

    def polished(self, sets: Sequence[int], shares: Array, steps: int) -> _Cover:
        """Return the sets with the shares that descent reaches, without those of no use."""
        links = self.links(sets)

        def value(t: Array) -> tuple[float, Array]:
            # homogeneous: (sum t)^2 f(t) is least where f is, under sum t = 1
            precisions = self._precisions(links, t)
            if np.minimum.reduce(precisions) <= 1e-100:  # a needed residual has no estimate
                return math.inf, np.zeros_like(t)
            each = self.counts / precisions
            total, costs = float(np.add.reduce(t)), math.fsum(each.tolist())
            pulled = links.ratios * (each / precisions)[links.residuals]
            slope = np.bincount(links.sets, pulled, len(t))
            return total**2 * costs, 2 * total * costs - 2 * total**2 * t * slope

        scale = value(shares / shares.sum())[0]

        def scaled(t: Array) -> tuple[float, Array]:
            error, slope = value(t)
            return error / scale, slope / scale

        optimum = minimise(scaled, shares / shares.sum(), steps)
        used = optimum > 1e-3 * optimum.max()
        covered = np.bincount(links.residuals[used[links.sets]], minlength=len(self.needed))
        if not covered.all():
            used[:] = True
        optimum = np.where(used, np.maximum(optimum, 1e-6 * optimum.max()), 0.0)
        optimum /= optimum.sum()
        sets_used = [mask for mask, keep in zip(sets, used, strict=True) if keep]
        return _Cover(sets_used, optimum[used], value(optimum)[0])

    def starts(self) -> Iterator[list[int]]:
        """Yield covers: the needed residuals first, then the largest of them, then unions."""
        yield self.needed
        if len(self.needed) > _MAX_COVERED:
            return
        maximal = self._maximal()
        if len(maximal) < len(self.needed):
            yield maximal
        known: list[set[int]] = [set(maximal)]
        limit = float(self._cells(maximal).max())
        while limit < _MAX_CELLS:
            limit = min(2 * limit, _MAX_CELLS)
            cover = self._first_fit(maximal, limit)
            small = cover and float(self._cells(cover).sum()) <= self.max_cells
            if small and set(cover) not in known:
                known.append(set(cover))
                yield cover
            if len(cover) == 1:
                return

    def _maximal(self) -> list[int]:
        """Return the needed residuals that lie within no other, the widest first."""
        maximal = []
        inside = np.zeros(len(self.needed), dtype=np.bool_)
        for mask in sorted(self.needed, key=lambda mask: (-mask.bit_count(), mask)):
            if not inside[self._index[mask]]:
                maximal.append(mask)
                inside[self._within(mask)] = True
        return maximal

    def _first_fit(self, maximal: Sequence[int], limit: float) -> list[int]:
        """Return unions of at most so many cells that contain all; empty where there are many."""
        # each goes to the union that grows least
        logs, top = np.log(self.sizes), math.log(limit) + 1e-9
        unions = np.zeros((0, len(self.sizes)), dtype=np.bool_)
        for attributes in self._bits(maximal):
            if len(unions):
                size = (unions | attributes) @ logs
                growth = np.where(size <= top, np.rint((size - unions @ logs) * 1e9), np.inf)
                smallest = int(growth.argmin())
                if growth[smallest] < math.inf:
                    unions[smallest] |= attributes
                    continue
            if len(unions) == _MAX_SETS:
                return []
            unions = np.vstack([unions, attributes[None]])
        return list(dict.fromkeys(_mask(np.flatnonzero(union).tolist()) for union in unions))

    def improved(self, cover: _Cover, limit: int) -> tuple[_Cover, int]:
        """Return a cover with a smaller total, by moves as long as any lowers it, and the work."""
        work = 0
        while True:
            propose = 50 * len(cover.sets) * (len(cover.sets) + len(self.sizes) ** 2)
            moves = self._moves(cover) if work + propose <= limit else []
            if not moves:
                return cover, work
            work += propose + len(moves) * len(self.needed)
            totals, shares = self._estimates(cover, moves)
            order = np.argsort(np.array([_rounded(total) for total in totals]), kind="stable")
            tried = [self._moved(cover, moves[k], float(shares[k])) for k in order[:_TRIED]]
            best = min(tried, key=lambda one: _rounded(one.total))
            if best.total >= cover.total * _BETTER:
                return cover, work
            cover = best

    def _moved(self, cover: _Cover, move: _Move, share: float) -> _Cover:
        left = [index for index in range(len(cover.sets)) if index not in move.replaced]
        sets = [*(cover.sets[index] for index in left), move.added]
        return self.polished(sets, np.append(cover.shares[left], share), _STEPS)

    def _moves(self, cover: _Cover) -> list[_Move]:
        sets, known = cover.sets, set(cover.sets)
        every = [1 << i for i in range(len(self.sizes))]
        unions = [a | b for a, b in itertools.combinations(sets, 2)]
        unions += [one | i for one in sets for i in every]
        pairs = {
            (tuple(index for index, one in enumerate(sets) if not one & ~union), union): None
            for union in dict.fromkeys(unions)
        }
        for index, one in enumerate(sets):
            for i in every:
                if one & i:
                    narrowed = one & ~i
                    pairs |= {((index,), narrowed): None, ((), narrowed): None}
                    pairs |= {((index,), narrowed | j): None for j in every if not one & j}
        pairs |= {((), a & b): None for a, b in itertools.combinations(sets, 2)}
        pairs |= {((), one): None for one in self.needed}
        fresh = [(replaced, added) for replaced, added in pairs if added not in known]
        if not fresh:
            return []
        cells = self._cells([added for _, added in fresh]).tolist()
        moves = [
            _Move(replaced, added, size)
            for (replaced, added), size in zip(fresh, cells, strict=True)
            if size <= _MAX_CELLS
        ]
        limit = max(64, _ROUND // len(self.needed))
        if len(moves) > limit:  # those that add least to the cells that they replace
            own = self._cells(sets)
            growth = [
                move.cells / max(1.0, float(own[list(move.replaced)].sum())) for move in moves
            ]
            order = sorted(range(len(moves)), key=lambda k: (_rounded(growth[k]), moves[k].added))
            moves = [moves[k] for k in order[:limit]]
        return moves

    def _estimates(self, cover: _Cover, moves: Sequence[_Move]) -> tuple[Array, Array]:
        """Return the total after each move, before descent, and the share it is smallest at."""
        links = self.links(cover.sets)
        precisions = self._precisions(links, cover.shares)
        own = links.ratios * (cover.shares**2)[links.sets]
        starts = np.searchsorted(links.sets, np.arange(len(cover.sets) + 1))
        rest = np.tile(precisions, (len(moves), 1))
        shares, mean = cover.shares.tolist(), float(cover.shares.mean())
        freed, base = np.zeros(len(moves)), np.zeros(len(moves))
        for row, move in enumerate(moves):
            for index in move.replaced:
                part = slice(starts[index], starts[index + 1])
                rest[row, links.residuals[part]] -= own[part]
            freed[row] = sum(shares[index] for index in move.replaced)
            base[row] = max((shares[index] for index in move.replaced), default=mean)
        rest = np.maximum(rest, 0.0)
        outside = 1 - self._bits([move.added for move in moves]).astype(np.float32)
        inside = outside @ self._attributes.T == 0  # whole numbers: exact
        cells = np.array([move.cells for move in moves])
        gained = inside * self._cells_of_needed / cells[:, None]
        alone = np.array([not move.replaced for move in moves])
        best, best_share = np.full(len(moves), np.inf), base
        for replacing, added in zip(_REPLACING, _ADDED, strict=True):
            share = base * np.where(alone, added, replacing)
            now = np.maximum(rest + gained * (share * share)[:, None], 1e-150)
            total = (1 - freed + share) ** 2 * (self.counts / now).sum(axis=1)
            better = total < best
            best, best_share = np.where(better, total, best), np.where(better, share, best_share)
        return best, best_share


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
# for, as described above.


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
