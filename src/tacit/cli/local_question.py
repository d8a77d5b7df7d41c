"""The flags that say which local question is asked, and what they spell."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.errors import DataSourceError, UsageError, did_you_mean

if TYPE_CHECKING:
    from tacit.local import FrequencyOracle, Items

__all__ = ["Asked", "answers_of", "items_of", "oracle_of"]

_PANEL = "The question"
_MECHANISMS = {
    "two-coins": "RandomizedResponse",
    "direct": "DirectEncoding",
    "unary": "UnaryEncoding",
    "hashing": "OptimizedLocalHashing",
    "hadamard": "HadamardResponse",
    "subset": "SubsetSelection",
}


def _flag(*names: str, help: str, metavar: str) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=_PANEL, metavar=metavar)


Text = str | None


@dataclass(frozen=True)
class Asked:
    """Which answers are possible, and how they are randomised."""

    items: Annotated[
        Text,
        _flag("--items", help="The possible answers: a,b,c or 0..1023.", metavar="ANSWER,..."),
    ] = None
    items_file: Annotated[
        Text, _flag("--items-file", help="A file with one answer a line.", metavar="FILE")
    ] = None
    other: Annotated[
        Text, _flag("--other", help="Where answers go that are not listed.", metavar="ANSWER")
    ] = None
    missing: Annotated[
        Text, _flag("--missing", help="Where missing answers go.", metavar="ANSWER")
    ] = None
    mechanism: Annotated[
        Text,
        _flag("--mechanism", help="One of " + ", ".join(_MECHANISMS) + ".", metavar="NAME"),
    ] = None
    epsilon: Annotated[
        Text, _flag("--epsilon", help="What one report may lose.", metavar="EPSILON")
    ] = None
    p: Annotated[
        Text, _flag("-p", help="Or the chance of the truth, such as 3/4.", metavar="P")
    ] = None
    q: Annotated[
        Text,
        _flag("-q", help="With -p, for unary: the chance of every other mark.", metavar="Q"),
    ] = None
    question: Annotated[
        Text,
        _flag(
            "--question",
            help="Instead of all these: a JSON file with oracle.describe(), or a file of reports.",
            metavar="FILE",
        ),
    ] = None


def items_of(asked: Asked) -> Items:
    """Return the possible answers.

    Raises:
        UsageError: none, or both a list and a file.
        DataSourceError: a file that cannot be read.
    """
    from tacit.local import Items

    if (asked.items is None) == (asked.items_file is None):
        raise UsageError("name the possible answers: --items yes,no or --items-file answers.txt")
    labels: Any
    if asked.items_file is not None:
        try:
            text = Path(asked.items_file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise DataSourceError(f"{asked.items_file} cannot be read as text") from None
        labels = [line for line in text.splitlines() if line]
    elif (spread := re.fullmatch(r"0\.\.(\d{1,10})", asked.items or "")) is not None:
        labels = int(spread[1]) + 1
    else:
        labels = next(csv.reader([asked.items or ""]), [])
    return Items(labels, other=asked.other, missing=asked.missing)


def oracle_of(asked: Asked) -> FrequencyOracle:
    """Return the mechanism that the flags or the file of ``--question`` name.

    Raises:
        UsageError: flags that do not make a mechanism, or a file that describes none.
    """
    from tacit import local

    if asked.question is not None:
        if asked.items or asked.items_file or asked.mechanism:
            raise UsageError("--question says all: leave the other flags of the question away")
        return _described(asked.question)
    name = asked.mechanism or "direct"
    if name not in _MECHANISMS:
        raise UsageError(f"mechanism {name!r}: {did_you_mean(name, _MECHANISMS)}")
    numbers = {"epsilon": asked.epsilon, "p": asked.p, "q": asked.q}
    given = {key: value for key, value in numbers.items() if value is not None}
    try:
        made: FrequencyOracle = getattr(local, _MECHANISMS[name])(items_of(asked), **given)
    except TypeError:
        raise UsageError(
            f"{name} takes --epsilon{' or -p' if name != 'hadamard' else ''}, not "
            + " and ".join(f"{'--' if len(key) > 1 else '-'}{key}" for key in given)
        ) from None
    return made


def _described(path: str) -> FrequencyOracle:
    from tacit.local import FrequencyOracle, oracle_from
    from tacit.local.batch_file import Header, read_header

    try:
        with open(path, "rb") as file:
            header = read_header(file)
        if isinstance(header, Header):
            made = header.oracle()
        else:
            made = oracle_from(json.loads(Path(path).read_text(encoding="utf-8")))
    except OSError as error:
        raise DataSourceError(f"{path} cannot be read: {error.strerror}") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise UsageError(f"{path} describes no question and holds no reports") from None
    if not isinstance(made, FrequencyOracle):
        raise UsageError(f"{path} is not about counts of answers; use tacit.local from Python")
    return made


def answers_of(path: str, column: str, oracle: FrequencyOracle) -> Iterator[Any]:
    """Return the answers in a column of a CSV file, one by one; empty ones are missing.

    Raises:
        DataSourceError: a file that cannot be read, a column that is not there, a short row.
    """
    whole = isinstance(oracle.domain.labels, range)
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = csv.reader(file)
            header = next(rows, [])
            if column not in header:
                raise DataSourceError(
                    f"{path} has no column {column!r}: {did_you_mean(column, header)}"
                )
            place = header.index(column)
            for number, row in enumerate(rows, 2):
                if not row and len(header) > 1:
                    continue  # a blank line; in a file of one column it is a missing answer
                if row and len(row) <= place:
                    raise DataSourceError(f"line {number} of {path} has too few fields")
                yield _answer(row[place] if row else "", whole)
    except OSError as error:
        raise DataSourceError(f"{path} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error):
        raise DataSourceError(f"{path} is not a CSV file in UTF-8") from None


def _answer(text: str, whole: bool) -> Any:
    if not text:
        return None
    return int(text) if whole and re.fullmatch(r"[0-9]{1,10}", text) else text
