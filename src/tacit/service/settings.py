"""The settings of a service: ``service.toml`` in its folder, every field of it optional."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tacit.accounting.budget import Budget, read_loss
from tacit.accounting.ledger_postgres import is_address
from tacit.arithmetic.exact import as_fraction
from tacit.errors import UsageError
from tacit.service.access import Grant, plain_name
from tacit.tables.dataset.table import flag, known_fields, mapping, read_toml, text, whole

__all__ = ["FILE", "Caps", "DatasetSettings", "Limits", "Login", "Settings"]

FILE = "service.toml"
_FIELDS = (
    *("title", "database", "url", "trusted_proxies", "latency", "approval", "collusion", "people"),
    *("caps", "refresh", "session_hours", "limits", "login", "datasets", "workers", "collections"),
)
_OF_A_DATASET = ("latency", "approval", "collusion", "people", "caps", "refresh")
_LOGIN_WORDS = (
    *("issuer", "client_id", "name_claim", "team_claim", "roles_claim", "api_audience"),
)
COLLUSION = ("everyone", "teams apart")
_LATENCY = (Fraction(1, 100), Fraction(3600))
_HTTPS = re.compile(r"https://[^/\s?#@]+|http://(localhost|127\.[\d.]+|\[::1\])(:\d+)?")


@dataclass(frozen=True)
class Caps:
    """Shares of one budget that no team and no analyst may exceed."""

    each_team: Budget | None = None  # of every team that is not named
    each_analyst: Budget | None = None  # of every analyst that is not named
    teams: Mapping[str, Budget] = field(default_factory=dict)  # of a team by its name
    analysts: Mapping[str, Budget] = field(default_factory=dict)  # of an analyst by their name

    @classmethod
    def from_fields(cls, said: Any, where: str) -> Caps:
        """Read caps: ``{each_analyst = {epsilon = 1}, teams = {oncology = {epsilon = 2}}}``."""
        fields = mapping(said, where)
        known_fields(fields, ("each_team", "each_analyst", "teams", "analysts"), where)
        each = {
            name: _loss(fields[name], f"{name} of {where}")
            for name in ("each_team", "each_analyst")
            if name in fields
        }
        named = {
            kind: {
                plain_name(name, f"a name in {kind} of {where}"): _loss(cap, f"{name} of {where}")
                for name, cap in mapping(fields.get(kind, {}), f"{kind} of {where}").items()
            }
            for kind in ("teams", "analysts")
        }
        return cls(each.get("each_team"), each.get("each_analyst"), **named)


@dataclass(frozen=True)
class DatasetSettings:
    """How one data set is hosted."""

    latency: Fraction = Fraction(2)  # seconds after which the outcome of a question becomes visible
    approval: bool = False  # whether somebody must approve each question
    collusion: str = "everyone"  # ``everyone`` (all analysts spend one budget) or ``teams apart``
    # whom the budget belongs to; data sets of the same people share one ledger
    people: str | None = None
    caps: Caps = Caps()  # shares of teams and analysts
    refresh: str | None = None  # when a growing data set is read again, such as ``daily 03:00``

    @classmethod
    def from_fields(cls, said: Mapping[str, Any], where: str, others: DatasetSettings) -> Any:
        """Read the settings of a data set; what is not said is as for the others."""
        known_fields(said, _OF_A_DATASET, where)
        found: dict[str, Any] = {}
        if "latency" in said:
            found["latency"] = _latency(said["latency"], where)
        if "approval" in said:
            found["approval"] = flag(said, "approval", where) is True
        if "collusion" in said:
            found["collusion"] = said["collusion"]
            if said["collusion"] not in COLLUSION:
                raise UsageError(f"collusion of {where} is one of {', '.join(COLLUSION)}")
        for name in ("people", "refresh"):
            if name in said:
                found[name] = _words(said, name, where)
        if "caps" in said:
            found["caps"] = Caps.from_fields(said["caps"], f"caps of {where}")
        return replace(others, **found)


@dataclass(frozen=True)
class Limits:
    """What one request, one caller or one address may ask of the service."""

    body_bytes: int = 1_000_000
    report_bytes: int = 10_000_000  # of a request with reports of the local model
    header_seconds: int = 10  # until the head of a request is there
    body_seconds: int = 20  # until its body is there
    page: int = 100  # of a list, the most items at once
    waiting_jobs: int = 100  # of one caller, not yet done
    failed_tokens: int = 20  # of one address, in a minute
    connections: int = 500  # at once, of one process

    @classmethod
    def from_fields(cls, said: Any) -> Limits:
        """Read limits."""
        names = tuple(cls.__dataclass_fields__)
        fields = mapping(said, "limits")
        known_fields(fields, names, "limits")
        return cls(**{n: _whole(fields, n, "limits") for n in names if n in fields})


@dataclass(frozen=True)
class Login:
    """The organisation's own login: a provider of OpenID Connect."""

    issuer: str  # the address of the provider
    client_id: str
    secret_file: Path | None = None  # the file that holds the client's secret
    name_claim: str = "sub"  # the claim that names a person for good; ``sub`` where nothing is said
    team_claim: str | None = None  # the claim that names their team
    roles_claim: str = "groups"  # the claim whose values give roles
    # of each value of it, what it grants
    grants: Mapping[str, tuple[Grant, ...]] = field(default_factory=dict)
    scopes: tuple[str, ...] = ("openid", "profile")  # what is asked of the provider
    # the audience of the provider's own tokens that programs may send; None where they send tokens
    # of this service alone
    api_audience: str | None = None

    @classmethod
    def from_fields(cls, said: Any, folder: Path) -> Login:
        """Read the login."""
        fields = mapping(said, "login")
        known_fields(fields, tuple(cls.__dataclass_fields__), "login")
        for name in ("issuer", "client_id"):
            if name not in fields:
                raise UsageError(f"login lacks {name}: the provider of OpenID Connect gives it")
        found: dict[str, Any] = {
            name: _words(fields, name, "login") for name in _LOGIN_WORDS if name in fields
        }
        if found.get("api_audience") == found["client_id"]:
            raise UsageError(
                "api_audience of login must differ from client_id: a token from a sign-in is "
                "only for that sign-in"
            )
        _url(found["issuer"].rstrip("/"), "issuer of login", path=True)
        if "secret_file" in fields:
            found["secret_file"] = folder / _words(fields, "secret_file", "login")
        grants = {}
        for value, given in mapping(fields.get("grants", {}), "grants of login").items():
            many = given if isinstance(given, list) else [given]
            grants[value] = tuple(Grant.from_fields(mapping(g, "a grant")) for g in many)
        scopes = fields.get("scopes", ["openid", "profile"])
        if not isinstance(scopes, list) or "openid" not in scopes:
            raise UsageError("scopes of login is a list with 'openid' in it")
        return cls(**found, grants=grants, scopes=tuple(map(str, scopes)))


@dataclass(frozen=True)
class Settings:
    """All settings of a service.

    >>> Settings(Path("clinic")).dataset("visits").latency
    Fraction(2, 1)
    """

    folder: Path  # where the data sets are declared
    title: str = "Tacit"  # what pages call the service
    database: str = ""  # its address, as :class:`tacit.service.database.Database` takes it
    # where people reach it, such as ``https://statistics.example``; None on one machine
    url: str | None = None
    # the addresses whose word about the caller's address is taken
    trusted_proxies: tuple[str, ...] = ()
    # how each data set is hosted, where that is said
    datasets: Mapping[str, DatasetSettings] = field(default_factory=dict)
    default: DatasetSettings = DatasetSettings()
    session_hours: int = 8  # how long a sign-in to the pages lasts
    workers: int = 2  # how many questions a process answers at once
    limits: Limits = Limits()
    login: Login | None = None  # the organisation's own, or None
    # the fields of each question of the local model
    collections: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.database:
            object.__setattr__(self, "database", f"sqlite:///{self.folder / 'service.db'}")

    def dataset(self, name: str) -> DatasetSettings:
        """Return how a data set is hosted."""
        return self.datasets.get(name, self.default)

    @property
    def secure(self) -> bool:
        """Whether people reach the service through TLS."""
        return self.url is not None and self.url.startswith("https://")

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Settings:
        """Read the settings of a folder; without a ``service.toml`` they are the defaults."""
        place = Path(os.path.expanduser(folder))
        if not place.is_dir():
            raise UsageError(f"there is no folder {str(place)!r}: name that of the data sets")
        file = place / FILE
        if not file.exists():
            return cls(place)
        try:
            return cls.from_fields(read_toml(file, str(file)), place)
        except UsageError as error:
            raise UsageError(f"{file}: {error}") from None

    @classmethod
    def from_fields(cls, said: Mapping[str, Any], folder: Path) -> Settings:
        """Read the settings from the fields of a file."""
        where = "the service"
        known_fields(said, _FIELDS, where)
        default = DatasetSettings.from_fields(
            {name: said[name] for name in _OF_A_DATASET if name in said}, where, DatasetSettings()
        )
        found: dict[str, Any] = {"default": default}
        if "title" in said:
            found["title"] = _words(said, "title", where)
        if "database" in said:
            found["database"] = _database(_words(said, "database", where), folder)
        if "url" in said:
            found["url"] = _url(_words(said, "url", where), "url")
        for name in ("session_hours", "workers"):
            if name in said:
                found[name] = _whole(said, name, where)
        if "login" in said:
            if "url" not in said:
                raise UsageError(
                    "login needs the address of the service, to which people return after "
                    "signing in: url = 'https://...'"
                )
            found["login"] = Login.from_fields(said["login"], folder)
        datasets = mapping(said.get("datasets", {}), "datasets")
        found["datasets"] = {
            name: DatasetSettings.from_fields(
                mapping(one, f"datasets.{name}"), f"datasets.{name}", default
            )
            for name, one in datasets.items()
        }
        return cls(
            folder,
            trusted_proxies=_proxies(said.get("trusted_proxies", [])),
            limits=Limits.from_fields(said.get("limits", {})),
            collections=mapping(said.get("collections", {}), "collections"),
            **found,
        )


def _words(said: Mapping[str, Any], name: str, where: str) -> str:
    found = text(said, name, where)
    if not isinstance(found, str) or not found.isprintable():
        raise UsageError(f"{name} of {where} must be a line of text in quotes")
    return found


def _whole(said: Mapping[str, Any], name: str, where: str) -> int:
    found = whole(said, name, where)
    if not isinstance(found, int):
        raise UsageError(f"{name} of {where} must be a whole number of at least 1")
    return found


def _loss(said: Any, where: str) -> Budget:
    fields = mapping(said, where)
    known_fields(fields, ("epsilon", "delta", "rho"), where)
    found = read_loss(fields.get("epsilon"), fields.get("delta"), fields.get("rho"))
    if found is None:
        raise UsageError(f"{where} is a privacy loss, such as {{ epsilon = 1 }}")
    return found


def _latency(said: Any, where: str) -> Fraction:
    found = as_fraction(said, f"latency of {where}")
    least, most = _LATENCY
    if not least <= found <= most:
        raise UsageError(f"latency of {where} is a number of seconds from {least} to {most}")
    return found


def _database(said: str, folder: Path) -> str:
    return said if is_address(said) else f"sqlite:///{folder / said}"


def _url(said: str, where: str, *, path: bool = False) -> str:
    parts = urlsplit(said)
    whole_url = f"{parts.scheme}://{parts.netloc}" if path else said
    if not _HTTPS.fullmatch(whole_url) or parts.query or parts.fragment:
        raise UsageError(f"{where} is an address such as https://statistics.example")
    return said


def _proxies(said: Any) -> tuple[str, ...]:
    if not isinstance(said, list):
        raise UsageError("trusted_proxies is a list of addresses, such as ['10.0.0.1']")
    for one in said:
        try:
            ipaddress.ip_network(str(one))
        except ValueError:
            raise UsageError(
                f"trusted_proxies has {str(one)!r}, and takes addresses and networks, such as "
                "'10.0.0.1' or '10.0.0.0/24'"
            ) from None
    return tuple(map(str, said))
