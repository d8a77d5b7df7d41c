"""A join as the command line and plans write it, such as ``patients`` or ``sites on home``.

The words are those of SQL, in the same meaning; what is left out is what
:meth:`tacit.tables.question.Question.join` does by default.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tacit.errors import UsageError

__all__ = ["JoinText", "join_text"]

_FORM = re.compile(r"(?:(left|inner)\s+)?(\S.*?)(?:\s+on\s+(\S.*))?")


class JoinText(NamedTuple):
    """A join, as :meth:`tacit.tables.question.Question.join` takes it."""

    table: str
    on: tuple[str, ...] | None = None
    how: str | None = None


def join_text(text: str) -> JoinText:
    """Read a join.

    Raises:
        UsageError: it is none.

    >>> join_text("patients")
    JoinText(table='patients', on=None, how=None)
    >>> join_text("inner sites on home, year")
    JoinText(table='sites', on=('home', 'year'), how='inner')
    """
    found = _FORM.fullmatch(text.strip())
    columns = None if found is None or found[3] is None else found[3].split(",")
    if found is None or (columns is not None and not all(map(str.strip, columns))):
        raise UsageError(
            f"a join is the name of a table, such as patients, 'left patients' or 'sites on home', "
            f"not {text!r}"
        )
    on = None if columns is None else tuple(map(str.strip, columns))
    return JoinText(found[2], on, found[1])
