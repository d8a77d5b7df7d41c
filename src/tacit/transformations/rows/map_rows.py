"""Map rows: a function of the user's own, applied to each record by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.core import Category, Number, Space, Step, Transformation, Vector, register
from tacit.core.spaces.domain import Domain, element
from tacit.errors import UsageError
from tacit.transformations.rows.record_distance import records_of
from tacit.transformations.rows.record_functions import records, total
from tacit.transformations.rows.row_by_row import row_by_row

__all__ = ["MapRows"]


@register
@dataclass(frozen=True)
class MapRows(Step):
    """Apply a Python function to each record; the answers are one column.

    Args:
        function: a function of one value of a column, or of one row of a table (a dict).  It must
            depend on nothing else: no memory of other records, no randomness.
        output: the domain of its answers: ``float``, ``int``, ``str``, ``bool``, a
            :class:`~tacit.core.Number` or a :class:`~tacit.core.Category`.
        default: the member that is used where the function raises, or where its answer is not a
            member.

    **Map.** ``d -> d`` under every metric on records: equal records have equal answers.

    Raises:
        UsageError: a function that cannot be called, a default outside the output domain.

    Example:
        >>> from tacit.core import SymmetricDistance
        >>> column = Space(Vector(int), SymmetricDistance())
        >>> decades = column >> MapRows(lambda age: age // 10, Number("int", 0, 9), default=0)
        >>> decades([34, 120]).tolist(), decades.map(1)
        ([3, 0], Fraction(1, 1))
    """

    function: Callable[..., object]
    output: Domain
    default: object

    if TYPE_CHECKING:

        def __init__(
            self, function: Callable[..., object], output: Domain | type, default: object
        ) -> None: ...

    name: ClassVar[str] = "map_rows"

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise UsageError(
                "map_rows takes a function of one record; a chain with a function of yours cannot "
                "be rebuilt from a certificate"
            )
        object.__setattr__(self, "output", element(self.output))
        if not isinstance(self.output, (Number, Category)):
            raise UsageError(f"map_rows leads to numbers or labels, not to {self.output}")
        if not self.output.contains(self.default):
            raise UsageError(f"the default of map_rows is not in its output domain: {self.output}")

    def build(self, space: Space) -> Transformation:
        """Return the map on a column or a table.

        Args:
            space: what the step works on: a space, or the end of a chain before it.

        Raises:
            MismatchError: the space does not hold records.
        """
        domain = records_of(space, self)
        answers = Vector(self.output, size=domain.size)
        member = total(self._member, default=self.default)

        def apply(data: Any) -> Any:
            return answers.read([member(record) for record in records(domain, data)])

        return row_by_row(self, space, Space(answers, space.metric), apply)

    def _member(self, record: Any) -> Any:
        answer = self.function(record)
        return answer if self.output.contains(answer) else self.default
