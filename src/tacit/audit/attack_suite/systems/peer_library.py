"""What the adapters of other libraries share."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import ClassVar

from tacit.audit.attack_suite.system import NotOfferedError, Rows, System
from tacit.audit.attack_suite.systems.forking import forked_numbers, seed_everything

__all__ = ["PeerLibrary", "refuse_texts"]


class PeerLibrary(System):
    """A library that is installed under a name of its own.

    Attributes:
        distribution: its name on the package index.
    """

    distribution: ClassVar[str] = ""

    def version(self) -> str:
        """Return the version that is installed."""
        return version(self.distribution)

    def seeded(self, seed: int) -> Sequence[float]:
        """Seed Python's and numpy's generators, and draw noise."""
        seed_everything(seed)
        return self._drawn()

    def forked(self) -> tuple[Sequence[float], Sequence[float]]:
        """Draw noise in two forked processes, after a first draw in this one."""
        self.noise("laplace", 0.0, 5.0)
        return forked_numbers(self._drawn)

    def _drawn(self) -> Sequence[float]:
        return [self.noise("laplace", 0.0, 5.0) for _ in range(4)]


def refuse_texts(rows: Rows) -> None:
    """Refuse a column that a library takes no texts in.

    Raises:
        NotOfferedError: a text stands among the rows.
    """
    if any(isinstance(value, str) for value in rows):
        raise NotOfferedError("a column of numbers with texts in it")
