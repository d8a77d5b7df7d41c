"""The part of a release that finds the keys that nobody listed."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.core import Step
from tacit.errors import UsageError
from tacit.mechanisms.selection.gaussian_keys import (
    GaussianKeys,
    least_noise_and_threshold,
    least_noise_and_thresholds,
)
from tacit.mechanisms.selection.keys_in_rounds import GaussianKeysInRounds
from tacit.mechanisms.selection.partition_selection import ReleaseKeys, least_threshold
from tacit.mechanisms.selection.select_keys import SelectKeys, TruncatedNoise
from tacit.tables.answers.people import PeopleByGroup

__all__ = ["KeysPart", "check_rounds", "keys_part", "read_rounds"]

_FEW = 2
"""Where a person has so few keys, truncated noise shows those of the fewest people."""
_MOST_ROUNDS = 2
"""A third round finds no more, measured on tables whose groups are as uneven as words are."""
_FIRST = Fraction(1, 10)
"""What the first of two rounds spends of the noise: the threshold of the second grows by 5%."""


@dataclass(frozen=True)
class KeysPart:
    """The release of keys that nobody listed.

    Attributes:
        step: the mechanism on the counts of people.
        norm: of these counts.
        threshold: the number of people at which a key is shown about every second time; in rounds,
            of those who count in it in the last.
        groups: how many keys a person has at most.
        before: the thresholds of the rounds before the last.
    """

    step: Step
    norm: str
    threshold: int
    groups: int
    before: tuple[int, ...] = ()

    @property
    def rounds(self) -> int:
        """How often people are counted."""
        return len(self.before) + 1

    @property
    def note(self) -> str | None:
        """Say what the rounds are; None where there is one."""
        if not self.before:
            return None
        first, many = self.before[0], "one group" if self.groups == 1 else f"{self.groups} groups"
        return (
            f"the groups are found in {self.rounds} rounds: first those of about {first} people, "
            f"then those of about {self.threshold}; groups found in the first take none of the "
            f"{many} that a person counts in in the second"
        )

    def chain(self, by: tuple[str, ...]) -> tuple[Step, Step]:
        """Return the chain: people of each key, noise and threshold."""
        rounds = self.rounds if self.before else None
        people = PeopleByGroup(size=None, norm=self.norm, groups=self.groups, by=by, rounds=rounds)
        return people, self.step


def read_rounds(rounds: object) -> int:
    """Return in how many rounds unknown keys are released.

    Raises:
        UsageError: neither one nor two.
    """
    if type(rounds) is not int or not 1 <= rounds <= _MOST_ROUNDS:
        raise UsageError(f"rounds is 1 or {_MOST_ROUNDS}: a third finds no more keys")
    return rounds


def check_rounds(by: object, keys: object, person: object) -> None:
    """Refuse rounds where they find nothing.

    Args:
        by: the grouping columns.
        keys: the public keys; None where they are unknown.
        person: the column of the person; None where each row is one.

    Raises:
        UsageError: no unknown keys, or people who have one row each.
    """
    if not by or keys is not None:
        raise UsageError("rounds are for the keys of groups that nobody listed; leave rounds out")
    if person is None:
        raise UsageError(
            "rounds find more keys where people are in several groups; with one row each leave "
            "rounds out"
        )


def keys_part(
    groups: int, epsilon: Fraction, delta: Fraction, stated: str | None, rounds: int = 1
) -> KeysPart:
    """Return the release of keys at (epsilon, delta) that shows those of the fewest people.

    Args:
        groups: how many keys a person has at most.
        epsilon: above zero.
        delta: above zero and below one.
        stated: the mechanism that a certificate names; None for the best.
        rounds: how often people are counted, each time without the keys that were released.

    Raises:
        UsageError: there is no such mechanism.
    """
    if rounds > 1:
        if stated not in (None, GaussianKeysInRounds.name):
            raise UsageError(f"in rounds keys are released by {GaussianKeysInRounds.name}")
        return _in_rounds(groups, epsilon, delta)
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


def _in_rounds(groups: int, epsilon: Fraction, delta: Fraction) -> KeysPart:
    found = least_noise_and_thresholds(groups, epsilon, delta, (_FIRST, 1 - _FIRST))
    if found is None:
        raise UsageError(
            "no Gaussian noise releases keys at this epsilon and delta; ask in one round, rounds=1"
        )
    scales, thresholds = zip(*found, strict=True)
    step = GaussianKeysInRounds(scales, thresholds, epsilon)
    return KeysPart(step, "sparse", thresholds[-1], groups, thresholds[:-1])


def _laplace(groups: int, epsilon: Fraction, delta: Fraction) -> KeysPart:
    """Return the release by plain Laplace noise, of certificates made before the truncated one."""
    scale = groups / epsilon
    threshold = least_threshold(scale, groups, delta)
    return KeysPart(ReleaseKeys(scale, threshold), "L1", threshold, groups)
