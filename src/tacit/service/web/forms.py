"""Forms of the pages: the fields of a body that a browser sends."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qs

from fastapi import Depends, Request

from tacit.service.problem import Problem

__all__ = ["Form", "FormOf", "LargeFormOf"]

_MOST_FIELDS, _MOST_OF_A_TABLE = 200, 1200


class Form:
    """The fields of a form.

    >>> form = Form({"token": ["abc"], "dataset": ["a", "b"]})
    >>> form.one("token"), form.one("name"), form.all("dataset")
    ('abc', '', ['a', 'b'])
    """

    def __init__(self, fields: dict[str, list[str]]) -> None:
        self._fields = fields

    def one(self, name: str) -> str:
        """Return the last value of a field; empty where there is none."""
        return self._fields.get(name, [""])[-1]

    def all(self, name: str) -> list[str]:
        """Return all values of a field."""
        return self._fields.get(name, [])


async def _form(request: Request) -> Form:
    return await _read(request, _MOST_FIELDS)


async def _large(request: Request) -> Form:
    return await _read(request, _MOST_OF_A_TABLE)


async def _read(request: Request, most: int) -> Form:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Problem("invalid_request", "a form is sent as application/x-www-form-urlencoded")
    try:
        text = (await request.body()).decode("ascii")
        fields = parse_qs(text, keep_blank_values=True, max_num_fields=most, errors="strict")
    except ValueError:
        raise Problem("invalid_request", "the form cannot be read") from None
    return Form(fields)


FormOf = Annotated[Form, Depends(_form)]
"""A route's parameter: ``form: FormOf``."""
LargeFormOf = Annotated[Form, Depends(_large)]
"""The same for a form with several fields of each column of a table."""
