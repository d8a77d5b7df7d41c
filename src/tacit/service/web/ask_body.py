"""The body of a request that asks: a question, and what it may spend."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import Field

from tacit.service.web.schemas import Body

__all__ = ["AskBody", "PreviewBody"]

_Exact: TypeAlias = Annotated[
    str | int | float, Field(description="such as 1, 0.5 or '1/3'; read exactly")
]
_Amount: TypeAlias = Annotated[
    _Exact | dict[str, _Exact],
    Field(description="an amount, or of each label the weight by which they share the total"),
]


class AskBody(Body):
    """A question, in exactly one of three ways, and its price.

    >>> AskBody(sql="select count(*) from visits", epsilon=0.5).asked()
    {'sql': 'select count(*) from visits', 'epsilon': 0.5}
    """

    sql: str | None = Field(None, max_length=100_000, description="one query")
    question: dict[str, Any] | None = Field(
        None, description="the fields of a [[question]] in a plan: answers, where, by, keys, ..."
    )
    described: dict[str, Any] | None = Field(
        None, description="the question as a program describes it; tc.connect sends it"
    )
    epsilon: _Amount | None = None
    delta: _Exact | None = None
    rho: _Amount | None = None
    total: _Exact | None = Field(None, description="what weights split")
    tag: str | None = Field(
        None, max_length=200, description="a label that makes it a new, separately paid release"
    )
    free: bool | None = Field(
        None, description="true answers from releases that you may see: no price, and no charge"
    )
    table: str | None = Field(
        None, max_length=100, description="the protected table; the first where it is left out"
    )

    def asked(self) -> dict[str, Any]:
        """Return what is said, as :meth:`tacit.service.hosting.ask.Ask.from_json` reads it."""
        fields = AskBody.model_fields
        said = {name: getattr(self, name) for name in fields}
        return {name: value for name, value in said.items() if value is not None}


class PreviewBody(AskBody):
    """A question, its price, and for which sizes of a group its errors are shown."""

    rows: list[Annotated[int, Field(ge=1, le=10**12)]] = Field(
        [100, 1_000, 10_000], min_length=1, max_length=10, description="sizes of a group"
    )
    confidence: _Exact | None = Field("0.95", description="the level of the intervals")
