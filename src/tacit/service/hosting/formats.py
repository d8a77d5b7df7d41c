"""A released answer in the formats of the API: JSON, CSV, Arrow and Parquet, wide or long.

Everything here is a new arrangement of released numbers.  The length of a reply is a function of
them and of the question, so it says nothing that the answer itself does not.
"""

from __future__ import annotations

import io
import math
from typing import Any, Literal

from tacit.errors import need
from tacit.tables.release.answer import Answer

__all__ = ["CERTIFICATE", "FORMATS", "Form", "answer_json", "as_bytes", "format_of"]

Form = Literal["wide", "long"]
FORMATS = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.file",
    "parquet": "application/vnd.apache.parquet",
}
"""The media type of each format."""
CERTIFICATE = "tacit.certificate"
"""The name of the certificate in the metadata of a schema."""


def format_of(accept: str | None) -> str:
    """Return the format that an ``Accept`` header asks for; JSON where it asks for none of ours.

    >>> format_of("text/csv"), format_of("application/vnd.apache.parquet;q=1"), format_of(None)
    ('csv', 'parquet', 'json')
    """
    for part in (accept or "").split(","):
        asked = part.partition(";")[0].strip().lower()
        for name, media in FORMATS.items():
            if asked == media.partition(";")[0]:
                return name
    return "json"


def answer_json(answer: Answer) -> dict[str, Any]:
    """Return an answer as plain JSON values: groups, and for each label values and intervals.

    What is not known is null.
    """
    return {
        "by": list(answer.by),
        "keys": [list(key) for key in answer.keys],
        "columns": [_plain({"label": n, **answer.column(n)}) for n in answer.labels],
        "protects": answer.protects,
        "about": answer.about,
    }


def as_bytes(answer: Answer, format: str, form: Form) -> bytes:
    """Return an answer as a file of a format.

    A file of Arrow or Parquet carries the certificate of the answer, as JSON, in the metadata of
    its schema, under :data:`CERTIFICATE`.

    Raises:
        MissingExtraError: the library of the format is not installed.
    """
    if format == "csv":
        return answer.to_csv(form=form).encode()
    table, out = answer.to_arrow(form=form), io.BytesIO()
    known = table.schema.metadata or {}
    table = table.replace_schema_metadata({**known, CERTIFICATE: answer.certificate.to_json()})
    if format == "parquet":
        need("pyarrow.parquet", "arrow").write_table(table, out)
    else:
        with need("pyarrow", "arrow").ipc.new_file(out, table.schema) as writer:
            writer.write_table(table)
    return out.getvalue()


def _plain(value: Any) -> Any:
    """Return JSON that every reader takes: an infinity and NaN are null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value
