"""Which pairs of inputs are known to lose what a release is said to lose at most.

Two numbers that far apart lose all that noise on a number can lose, whichever two they are.  Of a
sum of records between 0 and 10, a data set and the same with a record of 10 do; and if another sum,
of the same records held between -20 and 0, is released beside it, no pair loses both: the two
losses together are a bound that nobody attains.  So the names of the pairs go with the losses.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

__all__ = ["EVERY", "Witness"]


@dataclass(frozen=True)
class Witness:
    """Names of pairs of inputs at every distance; none if no pair is known.

    A record is the name of the pairs of any data set and the same one with d more of that record.

    Attributes:
        names: None where any two inputs that far apart will do, or any records that come.

    >>> tens, both = Witness.of([10]), Witness.of([0, 10])
    >>> tens & both == tens, bool(tens & Witness.of([-20])), EVERY & both == both
    (True, False, True)
    """

    names: frozenset[Hashable] | None

    @staticmethod
    def of(records: Iterable[Hashable]) -> Witness:
        """Return the pairs of these names."""
        return Witness(frozenset(records))

    @staticmethod
    def own() -> Witness:
        """Return a pair like no other: known to exist, and nothing else."""
        return Witness(frozenset([object()]))

    def __and__(self, other: Witness) -> Witness:
        if self.names is None or other.names is None:
            return other if self.names is None else self
        return Witness(self.names & other.names)

    def __bool__(self) -> bool:
        return self.names is None or bool(self.names)


EVERY = Witness(None)
