"""The part of a release that finds the keys that nobody listed."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.core import Step
from tacit.errors import UsageError
from tacit.mechanisms.selection.gaussian_keys import GaussianKeys, least_noise_and_threshold
from tacit.mechanisms.selection.partition_selection import ReleaseKeys, least_threshold
from tacit.mechanisms.selection.select_keys import SelectKeys, TruncatedNoise
from tacit.tables.answers.people import PeopleByGroup

__all__ = ["KeysPart", "keys_part"]

_FEW = 2
"""Where a person has so few keys, truncated noise shows those of the fewest people."""


@dataclass(frozen=True)
class KeysPart:
    """The release of keys that nobody listed.

    Attributes:
        step: the mechanism on the counts of people.
        norm: of these counts.
        threshold: the number of people at which a key is shown about every second time.
        groups: how many keys a person has at most.
    """

    step: Step
    norm: str
    threshold: int
    groups: int

    def chain(self, by: tuple[str, ...]) -> tuple[Step, Step]:
        """Return the chain: people of each key, noise and threshold."""
        people = PeopleByGroup(size=None, norm=self.norm, groups=self.groups, by=by)
        return people, self.step


def keys_part(groups: int, epsilon: Fraction, delta: Fraction, stated: str | None) -> KeysPart:
    """Return the release of keys at (epsilon, delta) that shows those of the fewest people.

    Args:
        groups: how many keys a person has at most.
        epsilon: above zero.
        delta: above zero and below one.
        stated: the mechanism that a certificate names; None for the best.

    Raises:
        UsageError: there is no such mechanism.
    """
    makers = {
        SelectKeys.name: _truncated,
        GaussianKeys.name: _gaussian,
        ReleaseKeys.name: _laplace,
    }
    if stated is None:
        best = makers[SelectKeys.name](groups, epsilon, delta)
        if groups <= _FEW or least_noise_and_threshold(groups, epsilon, delta) is None:
            return best
        return min(best, _gaussian(groups, epsilon, delta), key=lambda part: part.threshold)
    if stated not in makers:
        raise UsageError(f"keys are released by {' or '.join(makers)}, not by {stated!r}")
    return makers[stated](groups, epsilon, delta)


def _truncated(groups: int, epsilon: Fraction, delta: Fraction) -> KeysPart:
    one = epsilon / groups, delta / groups
    return KeysPart(SelectKeys(*one), "sparse", TruncatedNoise(*one).reach + 1, groups)


def _gaussian(groups: int, epsilon: Fraction, delta: Fraction) -> KeysPart:
    found = least_noise_and_threshold(groups, epsilon, delta)
    if found is None:
        raise UsageError("no Gaussian noise releases keys at this epsilon and delta")
    scale, threshold = found
    return KeysPart(GaussianKeys(scale, threshold, epsilon), "sparse", threshold, groups)


def _laplace(groups: int, epsilon: Fraction, delta: Fraction) -> KeysPart:
    """Return the release by plain Laplace noise, of certificates made before the truncated one."""
    scale = groups / epsilon
    threshold = least_threshold(scale, groups, delta)
    return KeysPart(ReleaseKeys(scale, threshold), "L1", threshold, groups)
