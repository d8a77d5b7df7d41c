"""What a plan adds: the answers to its questions that follow from earlier releases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tacit.calls import public
from tacit.report import Certificate
from tacit.tables.earlier.free_answer import Earlier, free_errors_of
from tacit.tables.planned.merge import Merged
from tacit.tables.question import Question, held_by
from tacit.tables.release.answer import Answer
from tacit.tables.release.opened_table import SharedTable

__all__ = ["FreeAnswers"]


@public
class FreeAnswers:
    """What a plan adds: the answers to its questions that follow from earlier releases."""

    _whole: Question
    _plan: Merged
    _questions: Sequence[Question]

    def free_answers(
        self, certificates: Iterable[Certificate] = (), *, tag: str | None = None
    ) -> list[Answer | None]:
        """Return the answers that follow from earlier releases; never spends, reads no row.

        A plan pays for all of its questions.  Where some of them follow at no cost, plan the
        others alone: they have less error for the same loss.

        Args:
            certificates: as in :meth:`tacit.tables.question.Question.free_answer`.
            tag: as there.

        Returns:
            For each question, in their order, its answer, or None where it does not follow.

        Raises:
            UsageError, LedgerError: as there.

        Example:
            >>> import pyarrow as pa, tacit as tc
            >>> session = tc.Session(pa.table({"age": [31, 45]}), tc.one_row_each, tc.epsilon(1))
            >>> _ = session.agg(ages=tc.histogram("age", [0, 20, 40, 80])).release(epsilon="1/2")
            >>> asked = [
            ...     session.agg(ages=tc.histogram("age", [0, 40, 80])),
            ...     session.agg(n=tc.count()),
            ... ]
            >>> free = session.plan(asked).free_answers()
            >>> [answer is not None for answer in free]
            [True, False]
            >>> rest = session.plan([one for one, answer in zip(asked, free) if answer is None])
        """
        earlier = Earlier(held_by(self._whole).ledger, certificates, tag)
        found = earlier.certificates([member.query for member in self._plan.members])
        return [
            None if one is None else Answer.free(one, held_by(question).arrangement)
            for question, one in zip(self._questions, found, strict=True)
        ]

    def free_errors(
        self, certificates: Iterable[Certificate] = (), *, tag: str | None = None
    ) -> list[dict[str, float] | None]:
        """Return the standard errors that :meth:`free_answers` would have; writes nothing.

        Args:
            certificates: as in :meth:`free_answers`.
            tag: as in :meth:`free_answers`.

        Returns:
            For each question the root mean square of the standard errors of each of its labels;
            None where it does not follow.

        Raises:
            UsageError: as :meth:`free_answers`.
        """
        earlier = Earlier(held_by(self._whole).ledger, certificates, tag)
        return [earlier.errors(member.query) for member in self._plan.members]

    def _free(self) -> dict[str, float]:
        """Return for a preview, by label of the plan, the errors of the answers that are free."""
        held = held_by(self._whole)
        if isinstance(held.table, SharedTable):  # see Question.preview
            return {}
        members = self._plan.members
        found = free_errors_of([member.query for member in members], held.ledger)
        return {
            member.labels[label]: error
            for member, errors in zip(members, found, strict=True)
            for label, error in errors.items()
        }
