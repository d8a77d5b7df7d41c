"""Budgets and privacy losses: what is charged, divided and left."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, TypeAlias, get_args

from tacit.arithmetic.exact import Number, as_fraction, positive, show
from tacit.calls import public
from tacit.core.measures import concentrated_epsilon, pure_to_concentrated
from tacit.display.card import Share, Shares
from tacit.errors import UsageError, shown_value

# How long an amount of privacy loss may be, and the rounding of longer ones.


# The largest denominator of an amount; that of the smallest float is 2^1074.
# Without a limit, releases whose costs have coprime denominators would make the running total as
# long as the whole history, and it could no longer be written down.
GRID = 2**1200


def rounded(value: Fraction, *, up: bool) -> Fraction:
    """Return a loss as it is where it is short enough, else the next multiple of ``1 / GRID``."""
    # up: whether upwards, which is how a loss is rounded; what is left is rounded down.
    if value.denominator <= GRID:
        return value
    scaled = value * GRID
    return Fraction(math.ceil(scaled) if up else math.floor(scaled), GRID)


def rounded_up(loss: Fraction) -> Fraction:
    """Return a loss as it is, or rounded up to the 360 digits that a budget holds.

    >>> rounded_up(Fraction(1, 3)), rounded_up(Fraction(1, 7**500)) < Fraction(1, 10**350)
    (Fraction(1, 3), True)
    """
    return rounded(loss, up=True)


# The losses that a release of several parts is made of, by which small ones cost less together.
#
# A release of ten answers at epsilon 1/100 each is epsilon-DP with 1/10, and that is its price in a
# budget that adds up.  A filter that charges about the square of an epsilon takes ten times the
# square of 1/100 for it, a tenth of the square of 1/10: it must know the parts.
#
# Each part is one mechanism on the data, with its own fresh noise: the release is their sequential
# composition, and everything that is shown is computed from their outputs.  What is kept of a part
# is public: its epsilon, and whether its range is bounded, never a value of the data.


_MAX_PARTS = 1 << 20


@dataclass(frozen=True, slots=True)
class BudgetPart:
    """Equal mechanisms of a release.

    >>> BudgetPart(Fraction(1, 100), 10).rho() < BudgetPart(Fraction(1, 10)).rho() / 9
    True
    """

    epsilon: Fraction
    times: int = 1
    # whether the log ratios of all outcomes lie in an interval of length epsilon, as those of the
    # exponential mechanism do; see :mod:`tacit.core.losses.distribution`
    ranged: bool = False

    def rho(self) -> Fraction:
        """Return a rho of zCDP that all of them have together."""
        # It is ``epsilon^2 / 8`` each where the range is bounded (Cesar and Rogers, "Bounding,
        # concentrating, and truncating", ALT 2021), else epsilon tanh(epsilon/2).
        each = self.epsilon**2 / 8 if self.ranged else pure_to_concentrated(self.epsilon)
        return self.times * each

    def to_json(self) -> list[str | int]:
        """Return it as plain JSON: its epsilon, how often it stands, and the word if ranged."""
        return [str(self.epsilon), self.times, *(["range"] if self.ranged else [])]


def merged(losses: Iterable[tuple[Fraction, bool]]) -> tuple[BudgetPart, ...]:
    """Return parts from the epsilon of each mechanism and whether its range is bounded.

    >>> first, second = merged(
    ...     [(Fraction(1, 8), False), (Fraction(1, 4), True), (Fraction(1, 8), False)]
    ... )
    >>> first
    BudgetPart(epsilon=Fraction(1, 4), times=1, ranged=True)
    >>> second
    BudgetPart(epsilon=Fraction(1, 8), times=2, ranged=False)
    """
    counts: dict[tuple[Fraction, bool], int] = {}
    for loss in losses:
        if loss[0]:
            counts[loss] = counts.get(loss, 0) + 1
    order = sorted(counts, key=lambda loss: (-loss[0], loss[1]))
    return tuple(BudgetPart(epsilon, counts[epsilon, ranged], ranged) for epsilon, ranged in order)


def added_up(parts: Iterable[BudgetPart]) -> Fraction:
    """Return the sum of all epsilons."""
    return sum((part.times * part.epsilon for part in parts), Fraction(0))


def parts_from(fields: object) -> tuple[BudgetPart, ...]:
    """Read what :meth:`BudgetPart.to_json` wrote of each part."""
    rows = fields if isinstance(fields, list) else []
    parts = tuple(_part(row) for row in rows)
    order = [(-part.epsilon, part.ranged) for part in parts]
    if not parts or order != sorted(set(order)):
        raise UsageError(
            "the parts of a privacy loss are not in the form that Tacit writes: at least one, "
            "sorted, each once"
        )
    return parts


def _part(row: Any) -> BudgetPart:
    if isinstance(row, list) and len(row) in (2, 3) and row[2:] in ([], ["range"]):
        text, times = row[:2]
        if isinstance(text, str) and type(times) is int and 1 <= times <= _MAX_PARTS:
            epsilon = as_fraction(text)
            if epsilon > 0 and str(epsilon) == text:
                return BudgetPart(epsilon, times, len(row) == 3)
    raise UsageError("a part of a privacy loss is an epsilon and how often it occurs")


# Budgets: how much privacy loss is allowed, spent, and left, in exact numbers.
#
# Three kinds, each with its own additive rule of composition
# (:mod:`tacit.accounting.odometer` states and proves it):
#
# ===============  ==========================  ====================================
# kind             made by                     counts
# ===============  ==========================  ====================================
# ``pure``         ``epsilon(1)``              epsilon, of epsilon-DP
# ``approximate``  ``epsilon_delta(1, 1e-6)``  epsilon and delta, each on its own
# ``concentrated`` ``rho("1/10")``             rho, of zero-concentrated DP
# ===============  ==========================  ====================================
#
# Amounts are :class:`fractions.Fraction`.  A float is read at its exact binary value, and the
# binary value of ``0.1`` is a little above 1/10: ten releases at ``0.1`` come to a little more than
# 1, and :func:`~tacit.accounting.budget.fit` is what lets the tenth be paid.


Kind: TypeAlias = Literal["pure", "approximate", "concentrated"]

_KINDS = get_args(Kind)

_MAKERS: Mapping[Kind, str] = {
    "pure": "epsilon(...)",
    "approximate": "epsilon_delta(..., ...)",
    "concentrated": "rho(...)",
}


@public
@dataclass(frozen=True, slots=True)
class Budget:
    """An amount of privacy loss: a whole budget, the cost of a release, or what is left.

    Make one with :func:`epsilon`, :func:`epsilon_delta` or :func:`rho`; those refuse zero, which
    means only "nothing spent" or "nothing left".

    Args:
        kind: ``"pure"``, ``"approximate"`` or ``"concentrated"``.
        amount: the epsilon, or for ``"concentrated"`` the rho; at least 0.
        delta: at least 0, below 1, and 0 unless the kind is ``"approximate"``.
        parts: of the cost of a release that is made of several, the losses that add up to the
            amount: a budget that knows them may be charged less than for one loss of that amount
            (:mod:`tacit.accounting.budget`).  They do not make budgets different.

    >>> total = epsilon(1)
    >>> spent = epsilon("1/4") + epsilon("1/2")
    >>> spent, total - spent, total.covers(spent)
    (epsilon(0.75), epsilon(0.25), True)
    """

    kind: Kind
    amount: Fraction
    delta: Fraction = Fraction(0)
    parts: tuple[BudgetPart, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            known = ", ".join(map(repr, _KINDS))
            raise UsageError(f"a budget is of kind {known}, not {shown_value(self.kind)}")
        name = "rho" if self.kind == "concentrated" else "epsilon"
        object.__setattr__(self, "amount", _nonnegative(self.amount, name))
        object.__setattr__(self, "delta", _nonnegative(self.delta, "delta"))
        if self.delta.numerator >= self.delta.denominator:
            raise UsageError(
                f"delta must be below 1, not {show(self.delta)}: at 1 nothing is promised; "
                "give one far below 1 / (number of people), such as '1e-6'"
            )
        if self.delta and self.kind != "approximate":
            raise UsageError(f"a {self.kind} budget has no delta: use epsilon_delta(...)")
        if self.parts and (self.kind == "concentrated" or added_up(self.parts) != self.amount):
            raise UsageError("the parts of a privacy loss are epsilons that add up to it")

    @classmethod
    def nothing(cls, kind: Kind) -> Budget:
        """Return the budget zero of a kind: what is spent before the first release.

        Args:
            kind: ``"pure"``, ``"approximate"`` or ``"concentrated"``.

        >>> Budget.nothing("concentrated")
        rho(0)
        """
        return cls(kind, Fraction(0))

    @property
    def is_nothing(self) -> bool:
        """True if the amount and the delta are both zero."""
        return not (self.amount or self.delta)

    @property
    def epsilon(self) -> Fraction:
        """The epsilon of a pure or approximate budget.

        Raises:
            UsageError: the budget is a rho, which gives an epsilon only at a delta.
        """
        if self.kind == "concentrated":
            raise UsageError("a rho gives an epsilon only at a delta: use .epsilon_at(delta)")
        return self.amount

    @property
    def rho(self) -> Fraction:
        """The rho of a concentrated budget.

        Raises:
            UsageError: the budget is an epsilon, not a rho.
        """
        if self.kind != "concentrated":
            raise UsageError(f"{self!r} counts epsilon, not rho")
        return self.amount

    def __add__(self, other: Budget) -> Budget:
        """Return what both cost together, by the additive composition of their kind.

        The sum is exact while its denominator has at most 1200 bits, and is rounded up to a
        multiple of 2^-1200 beyond that: never below what was spent.

        Raises:
            UsageError: the kinds differ (convert with :meth:`cost_in` first), or the deltas
                come to 1 or more.
        """
        if not isinstance(other, Budget):
            return NotImplemented
        self._same_kind(other)
        amount = rounded(self.amount + other.amount, up=True)
        return Budget(self.kind, amount, rounded(self.delta + other.delta, up=True))

    def __sub__(self, other: Budget) -> Budget:
        """Return what is left when ``other`` is taken out, rounded down where it must be.

        Raises:
            UsageError: the kinds differ, or this budget does not cover ``other``.
        """
        if not isinstance(other, Budget):
            return NotImplemented
        if not self.covers(other):
            raise UsageError(f"{self!r} does not cover {other!r}")
        amount = rounded(self.amount - other.amount, up=False)
        return Budget(self.kind, amount, rounded(self.delta - other.delta, up=False))

    def covers(self, other: Budget) -> bool:
        """Return whether ``other`` is within this budget, in epsilon or rho and in delta.

        Args:
            other: a budget of the same kind.

        Raises:
            UsageError: the kinds differ.

        >>> epsilon_delta(1, "1e-6").covers(epsilon_delta("1/2", "1e-5"))
        False
        """
        self._same_kind(other)
        return _within(other.amount, self.amount) and _within(other.delta, self.delta)

    def cost_in(self, kind: Kind) -> Budget:
        """Return what a release of this cost takes from a budget of another kind.

        Only proven conversions that do not waste are made:

        - epsilon-DP is (epsilon, 0)-DP, and (epsilon, 0)-DP is epsilon-DP, by definition.
        - epsilon-DP is zCDP with rho = epsilon tanh(epsilon/2), which is below epsilon^2/2;
          :func:`~tacit.core.measures.pure_to_concentrated` proves it.  Of a release of
          several parts the rhos of the parts add up, to less.

        A rho is never turned into (epsilon, delta) release by release: the sum of the parts is far
        above the conversion of the total.  Keep a rho budget, and report its epsilon with
        :meth:`epsilon_at`.

        Args:
            kind: ``"pure"``, ``"approximate"`` or ``"concentrated"``.

        Raises:
            UsageError: no such conversion exists; the message says which budget would do.

        >>> epsilon("1/2").cost_in("approximate")
        epsilon_delta(0.5, 0)
        """
        if kind not in _KINDS:
            raise UsageError(f"there is no budget of kind {kind!r}")
        if kind == self.kind:
            return self
        if self.kind != "concentrated" and self.delta == 0:
            if kind == "concentrated":
                parts = self.parts or merged([(self.amount, False)])
                return Budget(kind, rounded(sum(map(BudgetPart.rho, parts), Fraction(0)), up=True))
            return Budget(kind, self.amount, parts=self.parts)
        raise UsageError(
            f"this budget cannot pay for that mechanism: the budget is {_MAKERS[kind]} and the "
            f"release costs {self!r}. {_remedy(self.kind)}"
        )

    def epsilon_at(self, delta: Number) -> Fraction:
        """Return an epsilon with which all of this budget is (epsilon, delta)-DP, for reporting.

        A rho is converted by :func:`~tacit.core.measures.concentrated_epsilon`,
        rounded up.  The other kinds already count an epsilon, which is returned as it is.

        Args:
            delta: from 0 to below 1.

        Raises:
            UsageError: delta is not in [0, 1), is 0 for a rho, or is below that of the budget.

        >>> float(rho("1/10").epsilon_at("1e-6"))
        2.14193892838...
        """
        at = Budget("approximate", Fraction(0), as_fraction(delta, "delta")).delta
        if self.kind == "concentrated":
            return concentrated_epsilon(self.amount, at)
        if at < self.delta:
            raise UsageError(f"{self!r} holds at a delta of {show(self.delta)} or more")
        return self.amount

    def to_json(self) -> dict[str, str]:
        """Return the budget as plain JSON, its numbers as exact ratios.

        >>> epsilon_delta(1, "1e-6").to_json()
        {'kind': 'approximate', 'epsilon': '1', 'delta': '1/1000000'}
        """
        if self.kind == "concentrated":
            return {"kind": self.kind, "rho": str(self.amount)}
        described = {"kind": self.kind, "epsilon": str(self.amount)}
        return described | ({"delta": str(self.delta)} if self.kind == "approximate" else {})

    def charged_json(self) -> dict[str, object]:
        """Return what a ledger keeps of a charge: :meth:`to_json`, and the parts if it has any.

        >>> parts = (BudgetPart(Fraction(1, 2), 2),)
        >>> Budget("approximate", Fraction(1), parts=parts).charged_json()
        {'kind': 'approximate', 'epsilon': '1', 'delta': '0', 'parts': [['1/2', 2]]}
        """
        if self.kind != "approximate" or not self.parts:
            return {**self.to_json()}
        return {**self.to_json(), "parts": [part.to_json() for part in self.parts]}

    @classmethod
    def from_json(cls, described: object) -> Budget:
        """Read what :meth:`to_json` or :meth:`charged_json` wrote.

        Args:
            described: a dict of text.

        Raises:
            UsageError: it is not a description of a budget.

        >>> Budget.from_json({"kind": "concentrated", "rho": "1/10"})
        rho(0.1)
        """
        if isinstance(described, Mapping):
            kind: Any = described.get("kind")
            fields = {"kind", "rho" if kind == "concentrated" else "epsilon"}
            fields |= {"delta"} if kind == "approximate" else set()
            plain = {name: described[name] for name in described if name != "parts"}
            texts = [value for value in plain.values() if isinstance(value, str)]
            if set(plain) == fields and len(texts) == len(fields):
                amount = described["rho" if kind == "concentrated" else "epsilon"]
                budget = _read(kind, amount, described.get("delta", "0"))
                if plain == described:
                    return budget
                if kind == "approximate":
                    return replace(budget, parts=parts_from(described["parts"]))
        raise UsageError(
            "a budget is described like {'kind': 'pure', 'epsilon': '1/2'}, with 'delta' for "
            "kind 'approximate' and 'rho' for kind 'concentrated'"
        )

    def __repr__(self) -> str:
        if self.kind == "approximate":
            return f"epsilon_delta({_literal(self.amount)}, {_literal(self.delta)})"
        return f"{'rho' if self.kind == 'concentrated' else 'epsilon'}({_literal(self.amount)})"

    def __str__(self) -> str:
        """Write the budget for people.

        >>> print(epsilon_delta("1/2", "1e-6"))
        epsilon 0.5, delta 1e-06
        """
        if self.kind == "approximate":
            return f"epsilon {show(self.amount)}, delta {show(self.delta)}"
        return f"{'rho' if self.kind == 'concentrated' else 'epsilon'} {show(self.amount)}"

    def _same_kind(self, other: Budget) -> None:
        if self.kind != other.kind:
            raise UsageError(
                f"{self!r} and {other!r} are counted differently: convert one with .cost_in(kind)"
            )


@lru_cache(maxsize=256)
def _read(kind: Kind, amount: str, delta: str) -> Budget:
    """Read the numbers of a budget, of which a release reads the same few again and again."""
    return Budget(kind, as_fraction(amount), Fraction(0) if delta == "0" else as_fraction(delta))


@public
def epsilon(value: Number) -> Budget:
    """Return a budget of pure differential privacy.

    Args:
        value: epsilon, above 0: a number, or text such as ``"1/2"``; taken exactly.

    Raises:
        UsageError: not a finite number above zero.

    >>> epsilon("1/3"), epsilon(0.5).amount
    (epsilon('1/3'), Fraction(1, 2))
    """
    return Budget("pure", positive(value, "epsilon"))


@public
def epsilon_delta(epsilon: Number, delta: Number) -> Budget:
    """Return a budget of approximate differential privacy.

    Args:
        epsilon: above 0: a number, or text such as ``"1/2"``; taken exactly.
        delta: from 0 to below 1, such as ``"1e-6"``.

    Raises:
        UsageError: epsilon is not a finite number above zero, or delta is not in [0, 1).

    >>> epsilon_delta(1, "1e-6")
    epsilon_delta(1, 1e-06)
    """
    return Budget("approximate", positive(epsilon, "epsilon"), as_fraction(delta, "delta"))


@public
def rho(value: Number) -> Budget:
    """Return a budget of zero-concentrated differential privacy.

    Args:
        value: rho, above 0: a number, or text such as ``"1/2"``; taken exactly.

    Raises:
        UsageError: not a finite number above zero.

    >>> rho("1/10")
    rho(0.1)
    """
    return Budget("concentrated", positive(value, "rho"))


def _nonnegative(value: Number, name: str) -> Fraction:
    number = as_fraction(value, name)
    over, under = number.numerator, number.denominator  # ints, which compare fast
    if over < 0:
        raise UsageError(f"{name} must not be negative, and is {show(number)}")
    if under > GRID or over >= GRID * under:
        raise UsageError(f"{name} is too long: write it with at most 360 digits")
    return number


def _within(value: Fraction, limit: Fraction) -> bool:
    """Return ``value <= limit``, which whole numbers say faster."""
    return value is limit or (
        value.numerator * limit.denominator <= limit.numerator * value.denominator
    )


def _literal(value: Fraction) -> str:
    """Write a number as one would type it: ``0.25``, ``'1/3'``."""
    return f"'{value}'" if "(" in show(value) else show(value)


def _remedy(kind: Kind) -> str:
    if kind == "concentrated":
        return "Open it as rho(...), and report its epsilon at a delta of the whole"
    if kind == "approximate":
        return "Open it as epsilon_delta(...), or choose a mechanism without a delta"
    return "Open it as epsilon(...)"


# A privacy loss as people say it: an epsilon, an epsilon with a delta, or a rho.


pure = epsilon
concentrated = rho


def read_loss(
    epsilon: Number | None, delta: Number | None, rho: Number | None, flag: str = ""
) -> Budget | None:
    """Return the loss that was said; None where none was.

    >>> read_loss("1/2", None, None), read_loss(1, "1e-6", None), read_loss(None, None, "1/10")
    (epsilon(0.5), epsilon_delta(1, 1e-06), rho(0.1))
    """
    if rho is not None:
        if epsilon is not None or delta is not None:
            raise UsageError(f"give {flag}rho, or {flag}epsilon (with {flag}delta), not both")
        return concentrated(rho)
    if epsilon is None:
        if delta is not None:
            raise UsageError(f"{flag}delta goes with {flag}epsilon")
        return None
    return pure(epsilon) if delta is None else epsilon_delta(epsilon, delta)


# Errors of the noise of a larger loss, also of a share of it, are doubles.
_NEGLIGIBLE = Fraction(1, 1 << 128)


def refuse_negligible(loss: Budget) -> None:
    """Raise if the noise of a loss would hide every answer."""
    if loss.amount < _NEGLIGIBLE:
        raise UsageError(
            f"{'rho' if loss.kind == 'concentrated' else 'epsilon'} is below 1e-38, and the noise "
            "would hide every answer: ask for more"
        )


def shares(total: Budget, spent: Budget, left: Budget) -> Shares:
    """Return the bar of a budget.

    >>> from tacit.accounting import epsilon
    >>> shares(epsilon(1), epsilon("1/4"), epsilon("3/4")).text()
    ['[######------------------] spent: epsilon 0.25, left: epsilon 0.75, of epsilon 1']
    """
    parts = (("before", "spent", spent), ("left", "left", left))
    return Shares(str(total), [Share(css, name, str(b), share(b, total)) for css, name, b in parts])


def share(part: Budget, total: Budget) -> float:
    """Return which share of a budget a part of it is, from 0 to 1.

    >>> from tacit.accounting import Budget, epsilon
    >>> share(epsilon(3), epsilon(4)), share(Budget.nothing("pure"), Budget.nothing("pure"))
    (0.75, 0.0)
    """
    return min(1.0, float(part.amount / total.amount)) if total.amount else 0.0


# Requests that pass what remains by float rounding alone, and budgets that differ by it.


# How far, relatively, a request may pass what remains and still count as float rounding.
_TOLERANCE = Fraction(1, 2**40)


def fit(requested: Budget, remaining: Budget) -> Budget:
    """Return the request, lowered to what remains if only rounding takes it above.

    A request that passes what remains by at most a relative 2^-40, in epsilon or rho and in delta,
    comes back as the remaining amount; any other comes back unchanged, and will be refused where
    it does not fit.  So n releases at the float ``1 / n`` can spend a budget of 1 for every n to
    8192 (their sum is above 1 by at most a relative n 2^-53).

    This is safe since nothing is forgiven: what comes back is what must be *both* charged and
    used to calibrate the noise.  The release then has the smaller epsilon, noise wider by one
    part in 10^12, and the budget is never passed by any amount.

    Raises:
        UsageError: the kinds differ.

    >>> from tacit.accounting.budget import epsilon
    >>> spent = Budget.nothing("pure")
    >>> for _ in range(10):
    ...     spent += fit(epsilon(0.1), epsilon(1) - spent)
    >>> spent
    epsilon(1)
    """
    if remaining.covers(requested) or not _nearly_covers(remaining, requested):
        return requested
    amount = min(requested.amount, remaining.amount)
    return Budget(requested.kind, amount, min(requested.delta, remaining.delta))


def nearly_equal(left: Budget, right: Budget) -> bool:
    """Return whether two budgets are of one kind and differ by float rounding at most.

    >>> from tacit.accounting.budget import epsilon, rho
    >>> nearly_equal(rho(0.1), rho("1/10")), nearly_equal(rho(0.1), epsilon(0.1))
    (True, False)
    """
    if left.kind != right.kind:
        return False
    return _nearly_covers(left, right) and _nearly_covers(right, left)


def _nearly_covers(remaining: Budget, requested: Budget) -> bool:
    slack = 1 + _TOLERANCE
    amount_fits = requested.amount <= remaining.amount * slack
    return amount_fits and requested.delta <= remaining.delta * slack
