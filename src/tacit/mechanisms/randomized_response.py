"""Randomized response: keep a label with a public probability, else report another one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure, exp, log
from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction, positive
from tacit.core import (
    Category,
    DiscreteDistance,
    HammingDistance,
    Measurement,
    PureDP,
    Space,
    Step,
    Vector,
    register,
)
from tacit.core.divergences import Product
from tacit.core.losses.base import Dominating, PrivacyLoss
from tacit.core.losses.distribution import dominating_pair, response_losses
from tacit.core.metrics import Witness
from tacit.errors import UsageError
from tacit.mechanisms.output_distribution import FiniteDistribution


@register
@dataclass(frozen=True)
class RandomizedResponse(Step):
    """Report the true label with probability p, and each of the k - 1 others with (1 - p)/(k - 1).

    A label that is not in the list (or a missing one) is reported as any of the k with equal
    probability, so that every person gives a report and no report reveals who had none.

    **Map.** On one label under the discrete distance, 0 to 0 and every other distance to
    ``|ln(p (k - 1) / (1 - p))|`` in pure DP: a report has one of two probabilities, whatever the
    label, or 1/k, which lies between them.  Attained by the report that is one of the two labels.
    On a vector of labels under the Hamming distance, d times that, as reports are independent.
    Given ``epsilon`` the loss is epsilon, exactly; given p it is rounded up.

    Source: Warner, "Randomized response", JASA 1965; Kairouz, Oh, Viswanath 2014 (k labels).

    Args:
        categories: the public labels, at least two, each once.
        p: the probability of the true label, above 0 and below 1; or
        epsilon: the loss; then ``p = e^epsilon / (e^epsilon + k - 1)``, drawn exactly.

    Raises:
        UsageError: labels that repeat or are fewer than two, neither or both of p and epsilon.

    Example:
        >>> answers = Space(Category(("yes", "no")), DiscreteDistance())
        >>> m = answers >> RandomizedResponse(("yes", "no"), p="3/4")
        >>> float(m.map(1)), m("yes") in ("yes", "no")
        (1.0986122886681098, True)
    """

    categories: tuple[object, ...]
    p: NumberLike | None = None
    epsilon: NumberLike | None = None

    name: ClassVar[str] = "randomized_response"

    def __post_init__(self) -> None:
        if isinstance(self.categories, (str, bytes)) or not hasattr(self.categories, "__iter__"):
            raise UsageError("categories are a list of labels, such as ('yes', 'no')")
        labels = Category(tuple(self.categories)).categories or ()
        object.__setattr__(self, "categories", labels)
        if len(labels) < 2:
            raise UsageError("randomized response needs at least two labels")
        if (self.p is None) == (self.epsilon is None):
            raise UsageError("give either p, the probability of the truth, or epsilon")
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        else:
            share = as_fraction(self.p, "p")
            if not 0 < share < 1:
                raise UsageError("p must be above 0 and below 1: both answers must stay possible")
            object.__setattr__(self, "p", share)

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on a label, or on a vector of labels under the Hamming distance."""
        domain = space.domain
        single = isinstance(domain, Category) and isinstance(space.metric, DiscreteDistance)
        column = (
            isinstance(domain, Vector)
            and isinstance(domain.element, Category)
            and isinstance(space.metric, HammingDistance)
        )
        if not single and not column:
            raise self.mismatch(
                space,
                f"works on a label under the discrete distance, or on a vector of "
                f"labels under the Hamming distance, not on ({space})",
            )
        once = self.loss()
        release: Any = self._report if single else lambda labels: self._reports(labels)
        distribution: Any = (
            self._distribution
            if single
            else lambda labels: Product([self._distribution(x) for x in labels])
        )
        return Measurement(
            space,
            PureDP(),
            release,
            partial(_single_loss, once) if single else lambda d: d * once,
            distribution=distribution,
            losses=partial(self._losses, space),
            step=self,
            witness=Witness.of([tuple(self.categories)]),  # two labels that are listed
        )

    def _losses(self, space: Space, distance: Fraction) -> PrivacyLoss:
        """Return the losses of the labels that change; a bound where no two labels may be data."""
        column = isinstance(space.domain, Vector)
        changed = int(distance) if column else min(1, int(distance))
        size = getattr(space.domain, "size", None) if column else 1
        changed = changed if size is None else min(changed, size)
        if not changed:
            return dominating_pair(Fraction(0))
        given = None if self.epsilon is None else Fraction(self.epsilon)
        share = None if self.p is None else Fraction(self.p)
        loss = response_losses(len(self.categories), share, given).self_compose(changed)
        element: Any = getattr(space.domain, "element", space.domain)
        known = element.categories or ()
        met = sum(label in self.categories for label in known)
        return loss if met > 1 else Dominating(loss)

    def loss(self) -> Fraction:
        """Return the epsilon of one report: exact where it was given, else rounded up."""
        if self.epsilon is not None:
            return Fraction(self.epsilon)
        share = Fraction(self.p)  # type: ignore[arg-type]
        odds = share * (len(self.categories) - 1) / (1 - share)
        return abs(log(odds, 80)).upper

    def _index_of(self, label: Any) -> int | None:
        known = label in self.categories if label is not None else None in self.categories
        return self.categories.index(label) if known else None

    def _reports(self, labels: Any) -> list[Any]:
        """Report on many at once: kept or not, and another label for those that are not."""
        indices = [self._index_of(label) for label in labels]
        k, n = len(self.categories), len(indices)
        unknown = noise.uniform(k, n).tolist()
        moved = (1 + noise.uniform(k - 1, n)) * ~np.asarray(self._truthful(n), dtype=bool)
        reported = [
            u if index is None else (index + step) % k
            for index, step, u in zip(indices, moved.tolist(), unknown, strict=True)
        ]
        return [self.categories[i] for i in reported]

    def _truthful(self, n: int) -> Any:
        if self.p is not None:
            return noise.bernoulli(self.p, n)
        others = len(self.categories) - 1
        return noise.exponential_choice([0, 1], Fraction(self.epsilon), [1, others], n) == 0  # type: ignore[arg-type]

    def _report(self, label: Any) -> Any:
        return self._reports([label])[0]

    def _distribution(self, label: Any) -> FiniteDistribution:
        k = len(self.categories)
        index = self._index_of(label)
        if index is None:
            return FiniteDistribution.of({c: Fraction(1, k) for c in self.categories})
        if self.p is not None:
            share = Enclosure.of(Fraction(self.p))
        else:
            odds = exp(-Fraction(self.epsilon), 128)  # type: ignore[arg-type]
            share = (1 / (1 + (k - 1) * odds)).rounded(120)
        other = (1 - share) / (k - 1)
        return FiniteDistribution(
            {c: share if i == index else other for i, c in enumerate(self.categories)}
        )


def _single_loss(once: Fraction, d: Fraction) -> Fraction:
    return once if d else Fraction(0)
