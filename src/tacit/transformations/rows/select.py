"""Select: one column of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tacit.core import Frame, Space, Step, Transformation, register
from tacit.errors import MismatchError, UsageError, did_you_mean, said
from tacit.transformations.rows.row_by_row import row_by_row

__all__ = ["Select"]


@register
@dataclass(frozen=True)
class Select(Step):
    """Take one column out of a table in memory.

    **Map.** ``d -> d`` under every metric on records: each row becomes one value, without a look at
    the others.

    Args:
        column: the name of the column.

    Raises:
        UsageError: a name that is not text.

    Example:
        >>> from tacit.core import SymmetricDistance
        >>> table = Space(Frame({"age": int, "site": str}), SymmetricDistance())
        >>> (table >> Select("age"))({"age": [31, 45], "site": ["a", "b"]}).tolist()
        [31, 45]
    """

    column: str

    name: ClassVar[str] = "select"

    def __post_init__(self) -> None:
        if not isinstance(self.column, str):
            raise UsageError(f"a column is named by text, not by {said(self.column)}")

    def build(self, space: Space) -> Transformation:
        """Return the selection from a table.

        Args:
            space: what the step works on: a space, or the end of a chain before it.

        Raises:
            MismatchError: the space is not a table in memory, or has no such column.
        """
        domain = space.domain
        if not isinstance(domain, Frame):
            raise MismatchError(f"select works on a Frame, not on {domain}", space, self)
        if self.column not in domain.names:
            raise MismatchError(
                f"no column {self.column!r} in {domain}; {did_you_mean(self.column, domain.names)}",
                space,
                self,
            )
        output = Space(domain.column(self.column), space.metric)
        return row_by_row(self, space, output, lambda data: data[self.column])
