"""Two stages: a permanent lie about the answer, and a fresh one about the lie in every report."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.calls import public
from tacit.errors import MismatchError, UsageError
from tacit.local.base.oracle import Oracle, PureOracle, oracle_from
from tacit.local.base.report_layout import Layout
from tacit.local.frequency.direct_encoding import DirectEncoding
from tacit.local.repeated.two_stage_base import Staged

__all__ = ["TwoStage"]


@public
@dataclass(frozen=True, init=False)
class TwoStage(PureOracle, Staged):
    """Randomise the answer once, permanently, and randomise that result again for every report.

    The permanent stage is direct encoding, with probabilities p1 and q1; the instantaneous stage
    is any pure oracle over the same items, with p2* and q2* and the ratio R2.

    **Privacy.** However many reports a person sends, they are all drawn from the one permanent
    answer: together they spend at most the permanent epsilon, by post-processing.  One report alone
    spends less: its probability under u is ``(p1 - q1) I(y|u) + q1 S(y)``, where S sums I(y|.)
    over all k items.  With I(y|v) >= I(y|u)/R2 for every item the ratio is at most

        (g R2 + q1 (R2 + k - 1)) / (g + q1 (R2 + k - 1)),   g = p1 - q1,

    which is attained where the instantaneous stage is direct encoding.
    **Estimate.** p* = p1 p2* + (1 - p1) q2* and q* = q1 p2* + (1 - q1) q2*, by conditioning on the
    permanent answer.

    The formulas are about one round of reports.  Over many rounds the permanent answers stay, so
    estimates of different rounds share their errors: averaging does not remove those.

    Source: U. Erlingsson, V. Pihur, A. Korolova, *RAPPOR* (2014); H. Arcolezi et al., *Improving
    the utility of locally differentially private protocols for longitudinal and multidimensional
    frequency estimates* (2022).

    Args:
        permanent: direct encoding (or randomized response); p1 must be above q1.
        instant: a pure oracle over the same items.

    Raises:
        UsageError: stages of another kind.
        MismatchError: stages over different items.

    Example:
        >>> from tacit.local import DirectEncoding
        >>> items = ["a", "b", "c"]
        >>> chain = TwoStage(DirectEncoding(items, p="3/4"), DirectEncoding(items, p="1/2"))
        >>> chain.ratio, chain.permanent.ratio, chain.support
        (Fraction(14, 9), Fraction(6, 1), (Fraction(7, 16), Fraction(9, 32)))
    """

    permanent: DirectEncoding
    instant: PureOracle

    def __init__(self, permanent: Oracle, instant: Oracle) -> None:
        if not isinstance(permanent, DirectEncoding) or not isinstance(instant, PureOracle):
            raise UsageError(
                "the permanent stage is DirectEncoding or RandomizedResponse, the instantaneous "
                "one a pure oracle such as DirectEncoding, UnaryEncoding or LocalHashing"
            )
        if permanent.domain != instant.domain:
            raise MismatchError("both stages need the same items", permanent.domain, instant.domain)
        if permanent.p <= permanent.q:
            raise UsageError("the permanent stage must tell the truth more often than each lie")
        fields = {"permanent": permanent, "instant": instant, "domain": permanent.domain}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """The pair (p*, q*) of one report."""
        own, other = self.instant.support
        kept, lied = self.permanent.support
        return kept * own + (1 - kept) * other, lied * own + (1 - lied) * other

    @property
    def ratio(self) -> Fraction:
        """A bound on the greatest ratio of one report, attained where both stages are direct."""
        kept, lied = self.permanent.support
        gap, inner = kept - lied, self.instant.ratio
        others = lied * (inner + len(self.domain) - 1)
        return (gap * inner + others) / (gap + others)

    @property
    def layout(self) -> Layout:
        """That of the instantaneous stage."""
        return self.instant.layout

    def valid(self, reports: object) -> NDArray[np.bool_]:
        """See :meth:`~tacit.local.Oracle.valid`.

        Args:
            reports: a batch of reports.
        """
        return self.instant.valid(reports)

    @property
    def kept(self) -> Oracle:
        """The permanent stage."""
        return self.permanent

    def keep(self, value: object, standing: object) -> object:
        """Draw the permanent answer.

        Args:
            value: the answer of the person.
            standing: not used here.
        """
        return self.permanent.perturb(value)

    def renew(self, permanent: object) -> object:
        """Draw one report from a permanent answer.

        Args:
            permanent: what :meth:`keep` returned.
        """
        return self.instant._draw(np.array([permanent], np.int64))[0]

    def _draw(self, places: NDArray[np.int64]) -> NDArray[Any]:
        """Draw both stages: reports of people who never reported before."""
        return self.instant._draw(self.permanent._draw(places).astype(np.int64))

    def _sums(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        return self.instant._sums(reports)

    def distribution(self, value: object) -> dict[Hashable, Fraction]:
        """See :meth:`~tacit.local.Oracle.distribution`: of one report.

        Args:
            value: one answer, as :meth:`perturb` takes it.
        """
        law: dict[Any, Fraction] = {}
        for lie, share in self.permanent.distribution(value).items():
            for report, p in self.instant.distribution(self.domain.labels[int(str(lie))]).items():
                law[report] = law.get(report, Fraction(0)) + share * p
        return law

    def describe(self) -> dict[str, object]:
        """Return both stages as plain JSON values."""
        return {
            "mechanism": type(self).__name__,
            "domain": self.domain.describe(),
            "permanent": self.permanent.describe(),
            "instant": self.instant.describe(),
        }

    @classmethod
    def _build(cls, description: Mapping[str, Any]) -> TwoStage:
        return cls(oracle_from(description["permanent"]), oracle_from(description["instant"]))
