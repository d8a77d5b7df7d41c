"""Shapes that several routes share: the error, and what a field of a request may hold."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict

__all__ = ["Body", "Cursor", "DatasetName", "ErrorBody", "Limit", "Reply"]

DatasetName = Annotated[str, Path(min_length=1, max_length=100, description="of the data set")]
Cursor = Annotated[
    str, Query(max_length=200, description="what `next` of the list before said; empty at first")
]
Limit = Annotated[int, Query(ge=1, le=1000, description="the most items at once")]


class Body(BaseModel):
    """A body that somebody sends: no field that is unknown, and no value bent into another kind."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Reply(BaseModel):
    """What the service sends."""

    model_config = ConfigDict(extra="forbid")


class _Error(Reply):
    code: str
    message: str
    remedy: str
    details: dict[str, Any]


class ErrorBody(Reply):
    """The one shape of every error."""

    error: _Error
