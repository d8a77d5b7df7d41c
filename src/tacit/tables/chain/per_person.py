"""The step from rows to a table of one row a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tacit.core import Space, Transformation, register
from tacit.errors import MismatchError
from tacit.report.text.vocabulary import say_step, so_many
from tacit.report.text.words import person_words
from tacit.tables.chain.row_steps import TableStep
from tacit.tables.chain.space import Table, UnitDistance

__all__ = ["PerPerson"]


@register
@dataclass(frozen=True)
class PerPerson(TableStep):
    """Make one row of all rows of each person.

    **Map.** ``d -> d``, from people with all their rows to people with one row each.  A row is a
    function of its person's own rows, of however many there are, and who has none has no row.  So
    a person who comes or goes adds or removes their own row and moves no other; the table of two
    data sets that differ in d people differs in at most d people.  (Some differ no more: two
    versions of a person may have one total.)

    Attributes:
        columns: names and kinds of the columns that come out, the person first.
        values: the columns beside the person, each with what it is of a person's rows.
    """

    columns: Any
    values: Any

    name: ClassVar[str] = "per_person"

    def __hash__(self) -> int:
        return hash((str(self.columns), str(self.values)))

    def build(self, space: Space) -> Transformation:
        """Return the table of people.

        Raises:
            MismatchError: no column names the person, or the person is not among the columns.
        """
        self._require(space, UnitDistance)
        person = space.metric.column  # type: ignore[attr-defined]
        names = [str(name) for name, _ in self.columns]
        if person is None or person not in names:
            raise MismatchError(
                f"{self.name} makes one row of each person's rows: name the column that "
                "identifies people, and keep it among the columns",
                space,
                self,
            )
        output = Space(Table.of(dict(self.columns)), space.metric)
        return Transformation(space, output, lambda answers: answers, lambda d: d, step=self)


def _step_words(step: Mapping[str, Any]) -> str:
    told = [f"{label} is {person_words(value)}" for label, value in step["values"]]
    return f"Make one row of all rows of each person: {'; '.join(told)}"


def _moves(step: Mapping[str, Any], shown: str) -> str:
    return so_many(shown, "person", "people")


say_step("per_person", _step_words, _moves)
