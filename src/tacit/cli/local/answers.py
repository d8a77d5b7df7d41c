"""The answers of a CSV file, read as a local question takes them."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tacit.errors import DataSourceError, UsageError, did_you_mean

if TYPE_CHECKING:
    from tacit.local import Oracle

__all__ = ["answers_of", "reader_of"]

Reader = Callable[[str], Any]
BETWEEN = ";"
"""What stands between the items of a set in one field."""


def reader_of(oracle: Oracle) -> Reader:
    """Return how one field, or one line of a terminal, is read; an empty one is missing.

    Raises:
        UsageError: a question with several answers.
    """
    from tacit import local

    if isinstance(oracle, (local.AttributeSplitting, local.KeyValue)) or (
        type(oracle) is local.AttributeSampling
    ):
        raise UsageError("a person has several answers to this question, each in its own column")
    if isinstance(oracle, local.PaddedSets):
        return lambda text: [part.strip() for part in text.split(BETWEEN) if part.strip()]
    if isinstance(oracle, (local.HierarchicalRanges, local.PrefixExtending)):
        return _whole
    if isinstance(oracle, local.FrequencyOracle):
        return _whole if isinstance(oracle.domain.labels, range) else _text
    return _text  # text for any word, and for numbers, which are read exactly


def _text(text: str) -> Any:
    return text or None


def _whole(text: str) -> Any:
    return int(text) if re.fullmatch(r"[0-9]{1,19}", text) else text or None


def answers_of(path: str, column: str | None, oracle: Oracle) -> Iterator[Any]:
    """Return the answers in a CSV file, one a person.

    Args:
        path: the file.
        column: its column; a question of several attributes or keys takes the columns of their
            names, and none here.
        oracle: the question.

    Raises:
        UsageError: a column is missing, or there is one too many.
        DataSourceError: a file that cannot be read, a column that is not there, a short row.
    """
    from tacit import local

    if isinstance(oracle, local.KeyValue):
        names, readers = [name for name, _ in oracle.parts], None
    elif type(oracle) in (local.AttributeSplitting, local.AttributeSampling):
        names = [name for name, _ in oracle.parts]  # type: ignore[attr-defined]
        readers = [reader_of(part) for _, part in oracle.parts]  # type: ignore[attr-defined]
    else:
        if column is None:
            raise UsageError("say which column holds the answers: --column COL")
        read = reader_of(oracle)
        return (read(fields[0]) for fields in _rows(path, [column]))
    if column is not None:
        raise UsageError(f"this question takes the columns {', '.join(names)}: leave out --column")
    if readers is None:
        return ({k: v for k, v in zip(names, row, strict=True) if v} for row in _rows(path, names))
    return (
        [read(text) for read, text in zip(readers, row, strict=True)] for row in _rows(path, names)
    )


def _rows(path: str, columns: list[str]) -> Iterator[list[str]]:
    """Return the fields of some columns, row by row."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = csv.reader(file)
            header = next(rows, [])
            for column in columns:
                if column not in header:
                    raise DataSourceError(
                        f"{path} has no column {column!r}: {did_you_mean(column, header)}"
                    )
            places = [header.index(column) for column in columns]
            for number, row in enumerate(rows, 2):
                if not row and len(header) > 1:
                    continue  # a blank line; in a file of one column it is a missing answer
                if row and len(row) <= max(places):
                    raise DataSourceError(f"line {number} of {path} has too few fields")
                yield [row[place] if row else "" for place in places]
    except OSError as error:
        raise DataSourceError(f"{path} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error):
        raise DataSourceError(f"{path} is not a CSV file in UTF-8") from None
