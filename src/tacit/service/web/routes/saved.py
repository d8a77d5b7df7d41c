"""Saved questions of the caller: written once, previewed and asked later."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path
from pydantic import Field

from tacit.service.access import Caller
from tacit.service.hosting.saved import Saved
from tacit.service.web.routing import (
    ERRORS,
    AskOrPlan,
    Body,
    DatasetName,
    Line,
    ReplyModel,
    Route,
    ask_of,
    needs,
)
from tacit.service.web.state import StateOf

router = APIRouter(route_class=Route, tags=["releases"], responses=ERRORS)

_Asker = Annotated[Caller, Depends(needs("preview", on="name"))]
SavedName = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="of the saved question")]


class SaveBody(Body):
    """A question or a plan, as it is sent to be released, and what its owner calls it."""

    title: Line = Field(min_length=1, max_length=200, pattern=r"\S")
    request: AskOrPlan = Field(description="the body of a release or of a plan")


class SavedReply(ReplyModel):
    """A saved question; `question` has its words, as of when it was saved."""

    id: str
    title: str
    saved_at: float
    question: str
    request: dict[str, Any]


class SavedList(ReplyModel):
    """The saved questions of the caller, the latest first."""

    items: list[SavedReply]


@router.get("/v1/datasets/{name}/saved")
def saved(name: DatasetName, caller: _Asker, state: StateOf) -> SavedList:
    """List the questions that the caller saved; no one else sees them."""
    hosted = state.datasets.of(name)
    items = state.saved.listed(hosted, caller)
    return SavedList(items=[_reply(one) for one in items])


@router.post("/v1/datasets/{name}/saved", status_code=201)
def save(name: DatasetName, body: SaveBody, caller: _Asker, state: StateOf) -> SavedReply:
    """Save a question or a plan, with or without a price; nothing is spent."""
    hosted = state.datasets.of(name)
    made = state.saved.add(hosted, caller, body.title.strip(), ask_of(body.request, state))
    return _reply(made)


@router.delete("/v1/datasets/{name}/saved/{saved}", status_code=204, response_model=None)
def delete(name: DatasetName, saved: SavedName, caller: _Asker, state: StateOf) -> None:
    """Delete a saved question."""
    state.saved.delete(state.datasets.of(name), caller, saved)


def _reply(one: Saved) -> SavedReply:
    return SavedReply(
        id=one.id,
        title=one.title,
        saved_at=one.asked_at,
        question=one.words,
        request=json.loads(one.body),
    )
