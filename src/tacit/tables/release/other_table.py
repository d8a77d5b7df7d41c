"""A table of a declared data set that another one may be joined with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tacit.tables.open_source import Source

__all__ = ["OtherTable"]


@dataclass(frozen=True)
class OtherTable:
    """A table that may be joined; nothing of it is opened yet.

    Attributes:
        name: its name in the data set.
        key: the person column of a protected table; the columns that name a public table's rows.
        public: whether everyone may know its rows.
        opened: how it is opened: a protected one in the engine of the table that it is given.
        bounds: the declared bounds of its columns, by name.
        keys: the declared categories of its columns, by name.
        told: the meaning and the unit of its columns, by name.
    """

    name: str
    key: tuple[str, ...]
    public: bool
    opened: Callable[[Source], Source]
    bounds: Mapping[str, tuple[Fraction, Fraction]] = field(default_factory=dict)
    keys: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    told: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
