"""Releases: requested, decided, waited for, and shown."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, Protocol

from fastapi import APIRouter, Depends, Header, Path, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from tacit.accounting.budget import Budget
from tacit.errors import did_you_mean
from tacit.report.odds import odds_words
from tacit.service.access import Caller, decide, demand, requester_of
from tacit.service.database import Later
from tacit.service.hosting.ask import (
    ENDINGS,
    FORMATS,
    MAX_QUESTIONS,
    Ask,
    Form,
    answer_json,
    as_bytes,
    format_of,
    preview_of,
    publish_options,
)
from tacit.service.jobs.queue import STATES, Job, JobScope
from tacit.service.problem import Problem
from tacit.service.web.routing import (
    ERRORS,
    AskBody,
    Body,
    Cursor,
    DatasetName,
    Limit,
    PlanBody,
    ReplyModel,
    Route,
    ask_of,
    needs,
)
from tacit.service.web.state import ServiceState, StateOf
from tacit.tables.release.answer import Answer

router = APIRouter(route_class=Route, tags=["releases"], responses=ERRORS)

_MAX_EARLIER = 10  # releases that a reviewer is shown
_WAIT = 60  # maximum seconds that a request waits for a tick
ReleaseName = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="of the release")]
Seeing = Annotated[Caller, Depends(needs("see_own_releases"))]


class Submitted(ReplyModel):
    """A requested release."""

    id: str
    state: str
    ready_at: float | None
    href: str
    cost: dict[str, Any]
    replayed: bool


class Release(ReplyModel):
    """A release, as far as its outcome is visible."""

    id: str
    dataset: str
    state: str
    progress: float
    ready_at: float | None
    asked_by: str
    team: str | None
    asked_at: float
    question: str
    request: dict[str, Any]
    cost: dict[str, Any]
    replayed: bool
    left_open: bool
    follows_from: dict[str, str]
    data_from: float | None
    decided_by: str | None
    decided_at: float | None
    reason: str | None
    answer: dict[str, Any] | None
    answers: list[dict[str, Any]] | None
    error: dict[str, Any] | None
    links: dict[str, str]


class Releases(ReplyModel):
    """A page of releases, the latest first."""

    items: list[Release]
    next: str | None


class Refusal(Body):
    """The reason of a refusal."""

    reason: str

    def validated(self) -> str:
        """Return the reason.

        Raises:
            Problem: there is none, or a very long one, or one that no page can show.
        """
        reason = " ".join(self.reason.split())
        if not reason.isprintable():
            raise Problem(
                "invalid_request", "the reason has invisible characters", "leave them out"
            )
        if not reason or len(reason) > 500:
            raise Problem(
                "invalid_request", "the reason must have 1 to 500 characters", "give a reason"
            )
        return reason


_Once = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="the same key with the same request is the same release",
    ),
]


@router.post("/v1/datasets/{name}/releases", status_code=202, response_model=Submitted)
def submit(
    name: DatasetName,
    body: AskBody,
    caller: Annotated[Caller, Depends(needs("ask", on="name"))],
    state: StateOf,
    once: _Once = None,
) -> Later[Submitted]:
    """Ask for a release: it is charged now, or when it is approved, and shown at a tick."""
    return _submitted(name, body, caller, state, once)


@router.post("/v1/datasets/{name}/plans", status_code=202, response_model=Submitted)
def submit_plan(
    name: DatasetName,
    body: PlanBody,
    caller: Annotated[Caller, Depends(needs("ask", on="name"))],
    state: StateOf,
    once: _Once = None,
) -> Later[Submitted]:
    """Ask several questions together, as one release under one charge.

    It is approved, waited for and shown as any release; `answers` has one for each question.
    """
    return _submitted(name, body, caller, state, once)


def _submitted(
    name: str, body: AskBody | PlanBody, caller: Caller, state: ServiceState, once: str | None
) -> Later[Submitted]:
    taken = state.release_service.begin(name, caller, ask_of(body, state), once)
    return taken.then(partial(_taken, state))


def _taken(state: ServiceState, job: Job) -> Submitted:
    now = state.clock()
    return Submitted(
        id=job.id,
        state=job.shown(now),
        ready_at=job.ready_at(now),
        href=f"/v1/releases/{job.id}",
        cost=json.loads(job.cost),
        replayed=job.replayed and job.is_visible(now),
    )


_State = Annotated[str | None, Query(max_length=20, description=f"one of {', '.join(STATES)}")]
_Dataset = Annotated[str | None, Query(max_length=100, description="only those of one data set")]

_Open = Annotated[
    bool, Query(description="only those whose charge has no answer: they failed, or were cancelled")
]


@router.get("/v1/releases")
def releases(
    caller: Seeing,
    state: StateOf,
    dataset: _Dataset = None,
    shown: Annotated[_State, Query(alias="state")] = None,
    left_open: _Open = False,
    cursor: Cursor = "",
    limit: Limit = 100,
) -> Releases:
    """List the releases that the caller may see, the latest first; without their answers."""
    if shown is not None and shown not in STATES:
        raise Problem("invalid_request", f"a release is {', '.join(STATES)}", "leave state out")
    names = state.datasets.names if dataset is None else [dataset]
    before = _before(state, caller, cursor) if cursor else None
    page_size = min(limit, state.settings.limits.page)
    jobs = state.release_service.queue.listed(
        _allowed(state, caller, names),
        state=shown,
        left_open=left_open,
        per_team=_with_team_ledgers(state, names),
        before=before,
        limit=page_size,
    )
    more = jobs[-1].id if len(jobs) == page_size else None
    return Releases(items=[shown_release(state, job) for job in jobs], next=more)


_Wait = Annotated[int, Query(ge=0, le=_WAIT, description="seconds to wait for an outcome")]


@router.get("/v1/releases/{release}")
async def release(release: ReleaseName, caller: Seeing, state: StateOf, wait: _Wait = 0) -> Release:
    """Show a release: its answer or its error, once their tick has come."""
    end = state.clock() + wait
    found = await run_in_threadpool(_look, state, caller, release, end)
    while not isinstance(found, Release):
        await asyncio.sleep(found)
        await run_in_threadpool(state.tokens.still, caller)
        found = await run_in_threadpool(_look, state, caller, release, end)
    return found


def _look(state: ServiceState, caller: Caller, name: str, end: float) -> Release | float:
    """Return a release, or after how many seconds to look again where its outcome may come."""
    job, now = seen(state, caller, name), state.clock()
    if now >= end or job.shown(now) not in ("running", "waiting"):
        return shown_release(state, job, with_answer=True)
    ready = job.ready_at(now)
    return max(0.001, min(end, now + 1 if ready is None else ready) - now)


_Format = Annotated[str | None, Query(max_length=20, description=f"one of {', '.join(FORMATS)}")]
_Form = Annotated[Form, Query(description="a row a group, or a row a number")]
_Word = Annotated[str | None, Query(max_length=200)]
_Words = Annotated[list[str], Query(max_length=100, description="as NAME=VALUE; may be repeated")]
_Labels = Annotated[
    list[str], Query(max_length=100, description="of the statistics to publish; default all")
]
_Number = Annotated[
    int | None, Query(ge=1, le=MAX_QUESTIONS, description="of a plan: which question, from 1")
]


@router.get("/v1/releases/{release}/answer", response_model=None)
def answer(
    release: ReleaseName,
    request: Request,
    caller: Seeing,
    state: StateOf,
    format: _Format = None,
    form: _Form = "wide",
    structure: _Word = None,
    dataflow: _Word = None,
    ids: _Words = [],  # noqa: B006  FastAPI copies it
    constants: _Words = [],  # noqa: B006
    names: bool = False,
    time: _Word = None,
    labels: _Labels = [],  # noqa: B006
    question: _Number = None,
) -> Response:
    """Give the answer in the format that `format` or the Accept header names.

    The header Link of the reply names its certificate; files of Arrow and Parquet carry it too.
    SDMX-CSV takes `structure` or `dataflow` (as AGENCY:ID(1.0)), `ids` of the dimensions, such as
    site=REF_AREA, and `constants`, such as FREQ=A; `names` adds columns of names.  JSON-stat and
    PC-Axis take the `time` column, and all three take `labels`.  CSVW is a ZIP archive of a CSV
    file and its metadata.

    Of a plan `question` chooses one; without it JSON has the answers to all.
    """
    chosen = format or format_of(request.headers.get("accept"))
    if chosen not in FORMATS:
        raise Problem(
            "invalid_request", f"there is no format {chosen!r}", did_you_mean(chosen, FORMATS)
        )
    options = None
    if chosen in ENDINGS:
        options = publish_options(
            chosen, structure, dataflow, ids, constants, names, time, labels, form
        )
    job = _done(state, seen(state, caller, release))
    answers = state.release_service.answers(job)
    proof = f"/v1/releases/{release}/certificate"
    headers = {"Link": f'<{proof}>; rel="describedby"; type="application/json"'}
    if answers is not None and question is None and chosen == "json":
        every = {"answers": [_table(one, form) for one in answers]}
        return Response(json.dumps(every, allow_nan=False), 200, headers, FORMATS["json"])
    released = _one_of(state, job, answers, question)
    if chosen == "json":
        table = _table(released, form)
        return Response(json.dumps(table, allow_nan=False), 200, headers, FORMATS["json"])
    part = "" if question is None else f"-{question}"
    name = f"release-{release[:8]}{part}{ENDINGS.get(chosen, f'.{chosen}')}"
    headers["Content-Disposition"] = f'attachment; filename="{name}"'
    content = as_bytes(released, chosen, form, options)
    return Response(content, media_type=FORMATS[chosen], headers=headers)


def _table(answer: Answer, form: Form) -> dict[str, Any]:
    return answer_json(answer) if form == "wide" else answer.to_dict(form="long")


def _one_of(
    state: ServiceState, job: Job, answers: list[Answer] | None, question: int | None
) -> Answer:
    """Return the answer to a question of a plan, or that to the only question."""
    if answers is None and question in (None, 1):
        return state.release_service.answer(job)
    count = 1 if answers is None else len(answers)
    if answers is None or question is None or question > count:
        raise Problem(
            "invalid_request",
            f"the release answers {count} question{'s' if count > 1 else ''}",
            "choose one: question=1" if count == 1 else f"choose one, question=1 to {count}",
        )
    return answers[question - 1]


@router.get("/v1/releases/{release}/certificate", response_model=None)
def certificate(release: ReleaseName, caller: Seeing, state: StateOf) -> Response:
    """Give the certificate: what was released, and the proof of its loss."""
    job = _job_of(state, caller, release, "see_certificates")
    proof = state.release_service.answer(_done(state, job)).certificate
    return Response(proof.to_json(), media_type="application/json")


@router.post("/v1/releases/{release}/cancel")
def cancel(
    release: ReleaseName, caller: Annotated[Caller, Depends(needs("ask"))], state: StateOf
) -> Release:
    """Cancel one's own question; its charge stays."""
    job = seen(state, caller, release)
    if not is_own(state, caller, job):
        demand(caller, "approve", job.dataset)
    return shown_release(state, state.release_service.cancel(job, caller))


Deciding = Annotated[Caller, Depends(needs("approve"))]


class Review(ReplyModel):
    """What a reviewer decides by; nothing is read or spent for it."""

    preview: dict[str, Any]
    odds: str
    earlier: list[Release]


@router.get("/v1/releases/{release}/review")
def review(release: ReleaseName, caller: Deciding, state: StateOf) -> Review:
    """Show a waiting question's expected errors, what is left for its requester, and the odds.

    `earlier` has the latest releases of the data set before it: who asked what.
    """
    job = seen(state, caller, release)
    demand(caller, "approve", job.dataset)
    if job.state != "waiting":
        raise Problem("conflict", f"the release is {job.shown(state.clock())} already")
    hosted, asker = state.datasets.of(job.dataset), requester_of(job)
    preview = preview_of(
        Ask.from_json(json.loads(job.body)),
        hosted,
        asker,
        hides=lambda key: state.release_service.hides(hosted, asker, key),
    )
    return Review(
        preview=preview,
        odds=odds_words(Budget.from_json(json.loads(job.cost))),
        earlier=earlier_releases(state, caller, job.dataset, job.number),
    )


def earlier_releases(
    state: ServiceState, caller: Caller, dataset: str, before: int | None = None
) -> list[Release]:
    """Return the latest releases of a data set, as a reviewer sees them before a decision."""
    queue, per_team = state.release_service.queue, _with_team_ledgers(state, [dataset])
    allowed = _allowed(state, caller, [dataset])
    jobs = queue.listed(allowed, per_team=per_team, before=before, limit=_MAX_EARLIER)
    return [shown_release(state, one) for one in jobs]


@router.post("/v1/releases/{release}/approve")
def approve(release: ReleaseName, caller: Deciding, state: StateOf) -> Release:
    """Approve exactly this question at this price; not one's own."""
    job = seen(state, caller, release)
    demand(caller, "approve", job.dataset)
    return shown_release(state, state.release_service.approve(job, caller))


@router.post("/v1/releases/{release}/refuse")
def refuse(release: ReleaseName, body: Refusal, caller: Deciding, state: StateOf) -> Release:
    """Refuse a question, with a reason for who asked; nothing is spent."""
    job = seen(state, caller, release)
    demand(caller, "approve", job.dataset)
    return shown_release(state, state.release_service.refuse(job, caller, body.validated()))


def _before(state: ServiceState, caller: Caller, cursor: str) -> int:
    """Return the number of the release before a page: the last one of the previous page."""
    # (The index of a release among all of them would reveal how many the others asked.)
    with suppress(Problem):
        return seen(state, caller, cursor).number
    raise Problem(
        "invalid_request", "the cursor is not valid", "send the value of `next`, or leave it out"
    )


def _with_team_ledgers(state: ServiceState, names: list[str]) -> list[str]:
    """Return the data sets whose teams have ledgers of their own."""
    with suppress(Problem):
        return [name for name in names if state.datasets.of(name).owner.per_team]
    return []  # no data set of that name, and so no release


def _allowed(state: ServiceState, caller: Caller, names: list[str]) -> list[JobScope]:
    """Return the releases of each data set that a caller may see."""
    scopes = []
    per_team = _with_team_ledgers(state, names)
    for name in names:
        if decide(caller, "see_releases", name).allowed:
            scopes.append(JobScope(name))
        elif decide(caller, "see_own_releases", name).allowed:
            scopes.append(JobScope(name, caller.name, (caller.team,) if name in per_team else None))
    return scopes


class Requested(Protocol):
    """What someone asked of a data set."""

    @property
    def dataset(self) -> str:
        """The data set."""

    @property
    def asked_by(self) -> str:
        """Who asked."""

    @property
    def team(self) -> str | None:
        """Their team."""


def is_own(state: ServiceState, caller: Caller, one: Requested) -> bool:
    """Return True if a caller asked for something."""
    if one.asked_by != caller.name:
        return False
    with suppress(Problem):
        return state.datasets.of(one.dataset).is_own(caller, one.team)
    return False  # the data set is no longer there


def demand_own(state: ServiceState, caller: Caller, one: Requested) -> None:
    """Raise unless a caller asked for something, or may decide on it."""
    if not is_own(state, caller, one):
        demand(caller, "approve", one.dataset)


def may_withdraw(state: ServiceState, caller: Caller, one: Requested) -> bool:
    """Return True if a caller may withdraw or cancel something."""
    try:
        demand(caller, "ask", one.dataset)
        demand_own(state, caller, one)
    except Problem:
        return False
    return True


def may_see(
    state: ServiceState, caller: Caller, one: Requested, action: str = "see_releases"
) -> bool:
    """Return True if a caller may see something: they asked for it, or may see all."""
    own = decide(caller, "see_own_releases", one.dataset).allowed and is_own(state, caller, one)
    return own or decide(caller, action, one.dataset).allowed


def seen(state: ServiceState, caller: Caller, name: str) -> Job:
    return _job_of(state, caller, name, "see_releases")


def _job_of(state: ServiceState, caller: Caller, name: str, action: str) -> Job:
    """Return a release that a caller may see; others are as if they were not there."""
    job = state.release_service.queue.find(name)
    if job is not None and may_see(state, caller, job, action):
        return job
    raise Problem("not_found", "there is no such release, or it is not for you")


def _done(state: ServiceState, job: Job) -> Job:
    now = state.clock()
    shown = job.shown(now)
    if shown == "done":
        return job
    if shown in ("running", "waiting"):
        ready = job.ready_at(now)
        wait = 5 if ready is None else max(1, round(ready - now))
        raise Problem(
            "not_ready", f"the release is {shown}", "ask again later", {"retry_after": wait}
        )
    raise Problem("gone", f"the release is {shown}: it has no answer")


def _answered_at(state: ServiceState, job: Job) -> float:
    """Return when the question was first answered; a replay has the time of the first answer."""
    # Of a free answer it is when the first of the releases was that it follows from.
    per_team = state.datasets.of(job.dataset).owner.per_team
    queue = state.release_service.queue
    sources = [queue.find(name) for name in set(state.release_service.free.releases(job).values())]
    started = []
    for one in [source for source in sources if source is not None] or [job]:
        first = queue.first_done(one, of_team=per_team)
        started.append(one.started if first is None else first.started)
    return min(started)


def shown_release(state: ServiceState, job: Job, with_answer: bool = False) -> Release:
    now = state.clock()
    shown = job.shown(now)
    error = json.loads(job.error) if shown == "failed" and job.error is not None else None
    here = f"/v1/releases/{job.id}"
    links = {"self": here}
    if shown == "done":
        links |= {"answer": f"{here}/answer", "certificate": f"{here}/certificate"}
    schedule = state.schedules.of_job(job.id) if with_answer else None
    if schedule is not None:
        links["schedule"] = f"/v1/schedules/{schedule}"
    answered = with_answer and shown == "done"
    answers = state.release_service.answers(job) if answered else None
    released = state.release_service.answer(job) if answered and answers is None else None
    return Release(
        id=job.id,
        dataset=job.dataset,
        state=shown,
        progress=job.progress(now),
        ready_at=job.ready_at(now),
        asked_by=job.asked_by,
        team=job.team,
        asked_at=job.asked_at,
        question=job.words,
        request=json.loads(job.body),
        cost=json.loads(job.cost),
        replayed=shown == "done" and job.replayed,
        left_open=job.is_left_open(now),
        follows_from=state.release_service.free.releases(job)
        if with_answer and shown == "done"
        else {},
        data_from=state.refreshes.as_of(job.dataset, _answered_at(state, job)).at
        if with_answer and shown == "done"
        else None,
        decided_by=job.decided_by,
        decided_at=job.decided,
        reason=job.reason,
        answer=None if released is None else answer_json(released),
        answers=None
        if answers is None
        else [{**answer_json(one), "described": one.question} for one in answers],
        error=None if error is None else error["error"],
        links=links,
    )
