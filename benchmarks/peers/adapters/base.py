"""What every library under comparison is asked to do, in the same words.

An adapter holds one library. It takes the same columns, offers the same few tasks, and says under
which neighbour relation it works and how the epsilon of a task is counted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

TASKS = ("count", "sum", "mean", "median", "group_count", "group_mean")
"""count of rows; sum of hours; mean and median of age; count and mean of age by occupation."""

GROUPS = 14
"""Public keys of `occupation`: 0 to 13. The code 14 stands for a missing occupation."""

AGE = (0, 100)
HOURS = (0, 99)
"""Public bounds of the two numeric columns."""

Columns = Mapping[str, Any]
"""`age`, `hours`, `occupation`: numpy int64 arrays of one length."""

Answer = float | list[float]
"""One number, or one number a group in the order of the public keys."""


class Adapter(ABC):
    """One library, loaded once with the data, then asked task by task."""

    relation: ClassVar[str]
    accounting: ClassVar[str]
    children: ClassVar[bool] = False
    """True where other processes do the work, so that CPU time of this one would mislead."""

    @abstractmethod
    def version(self) -> str:
        """The version of the library."""

    @abstractmethod
    def load(self, columns: Columns) -> None:
        """Take the data over in the form in which the library wants it (not timed as a task)."""

    @abstractmethod
    def tasks(self) -> Mapping[str, Callable[[float], Answer]]:
        """The tasks that the library offers: each from the total epsilon to an answer."""
