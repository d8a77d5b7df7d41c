"""A collection: a question of the local model that devices answer with reports."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit import local
from tacit.arithmetic.exact import as_integer
from tacit.errors import DataSourceError, UsageError, did_you_mean
from tacit.local.base.items import Items
from tacit.local.base.oracle import Oracle, oracle_from
from tacit.local.base.registry import MODULES
from tacit.outside import read_json

__all__ = ["Collection", "collections_of"]

_OWN = ("purpose", "question", "mechanism", "items", "bounds", "other", "missing")
_LIMITS = ("replay", "per_token")


@dataclass(frozen=True)
class Collection:
    """What devices are asked, and how many reports are taken.

    Attributes:
        name: the public name.
        oracle: the mechanism, as on the devices.
        purpose: what it is for, in a sentence.
        replay: whether a report that comes again is refused, by its id.
        per_token: the most reports that one token may send, or None.
    """

    name: str
    oracle: Oracle
    purpose: str = ""
    replay: bool = True
    per_token: int | None = None

    @classmethod
    def from_fields(cls, name: str, said: Mapping[str, Any], folder: Path) -> Collection:
        """Read a collection from the settings.

        Args:
            name: of the collection.
            said: either ``question``, the name of a file beside the settings that holds
                ``oracle.describe()`` as JSON, or ``mechanism`` (a class of :mod:`tacit.local`) with
                ``items`` (or ``bounds`` for a number), ``other``, ``missing`` and the mechanism's
                own parameters, such as ``epsilon``; further ``purpose``, ``replay`` and
                ``per_token``.
            folder: where the file lies.

        Raises:
            UsageError: fields that make no mechanism.
            DataSourceError: the file cannot be read.

        Example:
            >>> fields = {"mechanism": "DirectEncoding", "items": ["yes", "no"], "epsilon": "1"}
            >>> Collection.from_fields("colour", fields, Path()).oracle.domain.labels
            ('yes', 'no')
        """
        where = f"the collection {name!r}"
        replay = said.get("replay", True)
        if not isinstance(replay, bool):
            raise UsageError(f"{where}: replay is true or false")
        most = said.get("per_token")
        if most is not None:
            most = as_integer(most, f"{where}: per_token", minimum=1)
        purpose = said.get("purpose", "")
        if not isinstance(purpose, str):
            raise UsageError(f"{where}: purpose is text")
        own = {key: value for key, value in said.items() if key not in (*_LIMITS, "purpose")}
        oracle = _from_file(own, folder, where) if "question" in own else _from_names(own, where)
        if not (hasattr(oracle, "estimate") or hasattr(oracle, "estimate_ranges")):
            raise UsageError(f"{where}: {type(oracle).__name__} has no live estimate")
        return cls(name, oracle, purpose, replay, most)

    def describe(self) -> dict[str, Any]:
        """Return what devices and readers need to know, as JSON."""
        return {
            "name": self.name,
            "purpose": self.purpose,
            "oracle": self.oracle.describe(),
            "fingerprint": self.oracle.fingerprint,
            "epsilon": float(self.oracle.epsilon),
            "replay": self.replay,
            "per_token": self.per_token,
        }


def _from_file(said: Mapping[str, Any], folder: Path, where: str) -> Oracle:
    if len(said) > 1:
        raise UsageError(f"{where}: question = '...' states everything; leave out the other fields")
    name = said["question"]
    if not isinstance(name, str) or Path(name).name != name or name.startswith("."):
        raise UsageError(f"{where}: question is the name of a file beside the settings")
    try:
        text = (folder / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise DataSourceError(f"{where}: {name} cannot be read as text") from None
    return oracle_from(read_json(text, name))


def _from_names(said: Mapping[str, Any], where: str) -> Oracle:
    name = said.get("mechanism")
    if not isinstance(name, str) or name not in MODULES:
        raise UsageError(f"{where}: mechanism = '...' names it; {did_you_mean(str(name), MODULES)}")
    kind = getattr(local, name)
    about: list[Any]
    if "bounds" in said:
        ends = said["bounds"]
        if not isinstance(ends, list) or len(ends) != 2:
            raise UsageError(f"{where}: bounds are a lower and an upper bound of a number")
        about = ends
    elif "items" in said:
        about = [Items(said["items"], other=said.get("other"), missing=said.get("missing"))]
    else:
        about = []
    rest = {key: value for key, value in said.items() if key not in _OWN}
    try:
        inspect.signature(kind).bind(*about, **rest)
    except TypeError as error:
        raise UsageError(f"{where}: {name} cannot be made from these fields: {error}") from None
    made: Oracle = kind(*about, **rest)
    return made


def collections_of(said: Mapping[str, Any], folder: Path) -> dict[str, Collection]:
    """Read all collections of the settings.

    Raises:
        UsageError: fields that make no collection.
        DataSourceError: a file cannot be read.
    """
    found = {}
    for name, fields in said.items():
        if not isinstance(fields, Mapping):
            raise UsageError(f"collections.{name} is a table of fields")
        found[name] = Collection.from_fields(name, fields, folder)
    return found
