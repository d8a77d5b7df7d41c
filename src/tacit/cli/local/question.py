"""The flags that say which local question is asked, and what they spell."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.errors import DataSourceError, UsageError, did_you_mean
from tacit.outside import read_json_file

if TYPE_CHECKING:
    from tacit.local import Items, Oracle

__all__ = ["Asked", "items_of", "oracle_of"]

_PANEL = "The question"
_MECHANISMS = {
    "two-coins": "RandomizedResponse",
    "direct": "DirectEncoding",
    "unary": "UnaryEncoding",
    "hashing": "OptimizedLocalHashing",
    "hadamard": "HadamardResponse",
    "subset": "SubsetSelection",
    "summation": "SummationHistogram",
    "threshold": "ThresholdHistogram",
}
_NUMBERS = {
    "duchi": "Duchi",
    "piecewise": "Piecewise",
    "hybrid": "HybridMean",
    "laplace": "LaplaceMean",
    "square-wave": "SquareWave",
}
_WORDS = {
    "sketch": "CountMeanSketch",
    "hadamard-sketch": "HadamardCountMeanSketch",
    "rappor": "Rappor",
}
_WHOLE = r"[-\s\d,]*\d\s*\.\.\s*-?\d[-\s\d,.]*"
"""Whole numbers with a range among them: 1..12, or 1..5,9."""
_ALL = {**_MECHANISMS, **_NUMBERS, **_WORDS, "ranges": "HierarchicalRanges"}


def _flag(*names: str, help: str, metavar: str) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=_PANEL, metavar=metavar)


Text = str | None


@dataclass(frozen=True)
class Asked:
    """Which answers are possible, and how they are randomised."""

    items: Annotated[
        Text,
        _flag(
            "--items", help="The possible answers: a,b,c, 0..1023 or 1..5,9.", metavar="ANSWER,..."
        ),
    ] = None
    items_file: Annotated[
        Text, _flag("--items-file", help="A file with one answer a line.", metavar="FILE")
    ] = None
    other: Annotated[
        Text,
        _flag(
            "--other",
            help="The answer that stands for answers that are not listed.",
            metavar="ANSWER",
        ),
    ] = None
    missing: Annotated[
        Text,
        _flag(
            "--missing",
            help="The answer (or number) that stands for a missing answer.",
            metavar="ANSWER",
        ),
    ] = None
    mechanism: Annotated[
        Text,
        _flag("--mechanism", help="One of " + ", ".join(_ALL) + ".", metavar="NAME"),
    ] = None
    bounds: Annotated[
        Text,
        _flag("--bounds", help="For numbers: the least and the greatest.", metavar="LOW:HIGH"),
    ] = None
    epsilon: Annotated[
        Text,
        _flag("--epsilon", help="The privacy loss (epsilon) of one report.", metavar="EPSILON"),
    ] = None
    p: Annotated[
        Text,
        _flag("-p", help="Instead: the probability of the true answer, such as 3/4.", metavar="P"),
    ] = None
    q: Annotated[
        Text,
        _flag(
            "-q",
            help="With -p, for unary: the probability that another answer is marked.",
            metavar="Q",
        ),
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
            text = Path(asked.items_file).expanduser().read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):
            raise DataSourceError(
                f"{asked.items_file} cannot be read as text: it must be a file in UTF-8"
            ) from None
        labels = [line for line in text.split("\n") if line]
    elif (spread := re.fullmatch(r"\s*0\.\.(\d{1,10})\s*", asked.items or "")) is not None:
        labels = int(spread[1]) + 1
    elif re.fullmatch(_WHOLE, asked.items or ""):
        from tacit.cli.shared.flag_values import whole_range  # it imports the engine's rooms

        labels = whole_range(asked.items or "", "--items")
    else:
        labels = next(csv.reader([asked.items or ""]), [])
        if any(re.fullmatch(_WHOLE, label) for label in labels):
            raise UsageError(
                "a range of whole numbers stands among other answers: list the answers, or write "
                "them to a file for --items-file, one a line"
            )
    return Items(labels, other=asked.other, missing=asked.missing)


def oracle_of(asked: Asked) -> Oracle:
    """Return the mechanism that the flags or the file of ``--question`` name.

    Raises:
        UsageError: flags that do not make a mechanism, or a file that describes none.
    """
    from tacit import local

    if asked.question is not None:
        if asked.items or asked.items_file or asked.mechanism or asked.bounds:
            raise UsageError(
                "--question states everything: leave out the other flags of the question"
            )
        return _described(asked.question)
    name = asked.mechanism or "direct"
    if name not in _ALL:
        raise UsageError(f"mechanism {name!r}: {did_you_mean(name, _ALL)}")
    numbers = {"epsilon": asked.epsilon, "p": asked.p, "q": asked.q}
    given: dict[str, Any] = {key: value for key, value in numbers.items() if value is not None}
    try:
        made: Oracle = getattr(local, _ALL[name])(*_about(name, asked), **given, **_extra(asked))
    except TypeError:
        known = [f"{'--' if len(key) > 1 else '-'}{key}" for key in given]
        raise UsageError(
            f"{name} takes {_takes(name)}, not {' and '.join(known) or 'nothing'}"
        ) from None
    return made


def _takes(name: str) -> str:
    if name == "rappor":
        return "-p and -q, or neither (give its other numbers with --question)"
    without = ("hadamard", "ranges", "summation", "threshold", "hybrid", "laplace", "piecewise")
    return "--epsilon" if name in without or name == "square-wave" else "--epsilon or -p"


def _about(name: str, asked: Asked) -> list[Any]:
    """Return what a mechanism is about: items, two bounds, a number of values, or any text."""
    listed = asked.items is not None or asked.items_file is not None
    if name in _NUMBERS:
        if listed or asked.other:
            raise UsageError(f"{name} is for a number: give --bounds 0:100 instead of answers")
        ends = (asked.bounds or "").split(":")
        if len(ends) != 2:
            raise UsageError("give the bounds of the number: --bounds 0:100")
        return ends
    if asked.bounds is not None:
        raise UsageError(f"--bounds is for numbers ({', '.join(_NUMBERS)}), not for {name}")
    if name in _WORDS:
        if listed or asked.other or asked.missing:
            raise UsageError(f"{name} takes any answer: name the candidates when you estimate")
        return []
    items = items_of(asked)
    if name != "ranges":
        return [items]
    if not isinstance(items.labels, range) or asked.other or asked.missing:
        raise UsageError("ranges are of whole numbers from 0 on: --items 0..99")
    return [len(items)]


def _extra(asked: Asked) -> dict[str, Any]:
    numbers = asked.mechanism in _NUMBERS and asked.missing is not None
    return {"missing": asked.missing} if numbers else {}


def _described(path: str) -> Oracle:
    from tacit.local import oracle_from
    from tacit.local.collecting.batch_file import Header, read_header

    try:
        with open(path, "rb") as file:
            header = read_header(file)
        if isinstance(header, Header):
            return header.oracle()
        described = read_json_file(path, path)
    except OSError as error:
        raise DataSourceError(f"{path} cannot be read: {error.strerror}") from None
    except UsageError as error:
        raise UsageError(
            f"{path} is neither the description of a question nor a file of reports ({error})"
        ) from None
    return oracle_from(described)
