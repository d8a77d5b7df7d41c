"""Base class of the adapters of other libraries."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import ClassVar

from tacit.audit.attack_suite.system import (
    NotOfferedError,
    NotReadyError,
    Rows,
    System,
    forked_numbers,
    seed_everything,
)


class PeerLibrary(System):
    """A library that is installed under a name of its own."""

    distribution: ClassVar[str] = ""  # its name on the package index
    modules: ClassVar[tuple[str, ...]] = ()  # the modules that its adapter uses

    def version(self) -> str:
        """Return the version that is installed."""
        return version(self.distribution)

    def refuse_unready(self) -> None:
        """Import what the adapter uses."""
        try:
            self.version()
            for module in self.modules:
                importlib.import_module(module)
        except PackageNotFoundError:
            raise NotReadyError(f"not installed: no package {self.distribution}") from None
        except ImportError as error:
            raise NotReadyError(
                f"{self.distribution} {self.version()} is installed and cannot be imported: {error}"
            ) from None

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
    """Raise if the library takes no text in this column."""
    if any(isinstance(value, str) for value in rows):
        raise NotOfferedError("a column of numbers with texts in it")
