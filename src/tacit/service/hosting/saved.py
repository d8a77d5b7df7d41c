"""Saved questions: requests that an analyst wrote and may ask later."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from tacit.service.access import Caller, UserRequest, request_columns, request_values
from tacit.service.database import Database, metadata
from tacit.service.hosting.ask import Ask, words_of
from tacit.service.hosting.datasets import Hosted
from tacit.service.problem import Problem
from tacit.tables.question import charge_of

MAX_SAVED = 200  # of one person, per data set

_saved = sa.Table(
    "saved_question",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("dataset", sa.String(100), nullable=False, index=True),
    *request_columns(index=True),
    sa.Column("title", sa.String(200), nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("words", sa.Text, nullable=False),
)


@dataclass(frozen=True)
class Saved(UserRequest):
    id: str
    dataset: str
    title: str
    body: str  # the request, as JSON
    words: str  # the question, when it was saved: to plan all again takes long for a list

    @property
    def ask(self) -> Ask:
        return Ask.from_json(json.loads(self.body))


_COLUMNS = [_saved.c[name].label(name) for name in Saved.__dataclass_fields__]


class SavedQuestions:
    """The saved questions of a service; each is shown to its owner alone."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database, self._clock = database, clock

    def add(self, hosted: Hosted, caller: Caller, title: str, ask: Ask) -> Saved:
        """Save a question that the data set can be asked.

        Raises:
            UsageError: it cannot be asked, or not at its price.
            Problem: the caller has too many.
        """
        words = words_of(ask.asked(hosted, caller), ask.tag)
        if ask.price.keys() - {"tag"}:
            charge_of(ask.question(hosted, caller), **ask.price)
        values: dict[str, Any] = {
            "id": secrets.token_hex(16),
            "dataset": hosted.name,
            "title": title,
            "body": json.dumps(ask.to_json()),
            "words": words.replace("\0", "\ufffd"),  # PostgreSQL stores no NUL
            **request_values(caller, self._clock()),
        }
        mine = _of(hosted.name, caller)
        if hosted.owner.per_team:  # two people of one name in two teams are two
            mine = sa.and_(mine, _saved.c.team.is_not_distinct_from(caller.team))
        count = sa.select(sa.func.count()).where(mine)
        with self._database.begin(lock="saved") as run:
            if run.execute(count).scalar_one() >= MAX_SAVED:
                raise Problem("too_many", f"{MAX_SAVED} questions are saved", "delete some")
            run.execute(_saved.insert().values(**values))
        return Saved(**values)

    def listed(self, hosted: Hosted, caller: Caller) -> list[Saved]:
        """Return the questions that a caller saved, the latest first."""
        query = sa.select(*_COLUMNS).where(_of(hosted.name, caller))
        rows = self._database.mappings(query.order_by(_saved.c.asked_at.desc(), _saved.c.id))
        every = [Saved(**row) for row in rows]
        return [one for one in every if hosted.is_own(caller, one.team)]

    def find(self, hosted: Hosted, caller: Caller, name: str) -> Saved:
        """Return a question that a caller saved.

        Raises:
            Problem: there is none of that name.
        """
        for one in self.listed(hosted, caller):
            if one.id == name:
                return one
        raise Problem("not_found", "there is no such saved question, or it is not yours")

    def delete(self, hosted: Hosted, caller: Caller, name: str) -> None:
        """Delete a question that a caller saved."""
        one = self.find(hosted, caller, name)
        with self._database.begin(lock="saved") as run:
            run.execute(_saved.delete().where(_saved.c.id == one.id))


def _of(dataset: str, caller: Caller) -> sa.ColumnElement[bool]:
    return sa.and_(_saved.c.dataset == dataset, _saved.c.asked_by == caller.name)
