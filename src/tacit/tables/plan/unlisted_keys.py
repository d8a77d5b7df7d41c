"""The part of a release that finds the keys that nobody listed."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.core import Step
from tacit.mechanisms.selection.partition_selection import ReleaseKeys
from tacit.tables.answers.people import PeopleByGroup

__all__ = ["KeysPart"]


@dataclass(frozen=True)
class KeysPart:
    """The release of keys that nobody listed."""

    scale: Fraction
    threshold: int
    groups: int

    def chain(self, by: tuple[str, ...]) -> tuple[Step, Step]:
        """Return the chain: people of each key, noise and threshold."""
        people = PeopleByGroup(size=None, norm="L1", groups=self.groups, by=by)
        return people, ReleaseKeys(self.scale, self.threshold)
