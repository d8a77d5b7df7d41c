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

FILE = "service.toml"
_FIELDS = (
    *("title", "database", "url", "trusted_proxies", "latency", "approval", "collusion", "people"),
    *(
        "caps",
        "refresh",
        "session_hours",
        "limits",
        "login",
        "datasets",
        "workers",
        "collections",
        "webhook",
        "wire",
    ),
)
_OF_A_DATASET = ("latency", "approval", "collusion", "people", "caps", "refresh")
_LOGIN_WORDS = (
    *("issuer", "client_id", "name_claim", "team_claim", "roles_claim", "api_audience"),
)
_SHORTEST_SECRET = 16  # bytes
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
    def from_fields(cls, value: Any, where: str) -> Caps:
        """Read caps: ``{each_analyst = {epsilon = 1}, teams = {oncology = {epsilon = 2}}}``."""
        fields = mapping(value, where)
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
    """Hosting of one data set."""

    latency: Fraction = Fraction(2)  # seconds after which the outcome of a question becomes visible
    approval: bool = False  # whether someone must approve each question
    collusion: str = "everyone"  # ``everyone`` (all analysts spend one budget) or ``teams apart``
    # whom the budget belongs to; data sets of the same people share one ledger
    people: str | None = None
    caps: Caps = Caps()  # shares of teams and analysts
    refresh: str | None = None  # when growing data is read again, such as ``daily 03:00``

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any], where: str, others: DatasetSettings) -> Any:
        """Read the settings of a data set; missing fields are those of the others."""
        known_fields(fields, _OF_A_DATASET, where)
        values: dict[str, Any] = {}
        if "latency" in fields:
            values["latency"] = _latency(fields["latency"], where)
        if "approval" in fields:
            values["approval"] = flag(fields, "approval", where) is True
        if "collusion" in fields:
            values["collusion"] = fields["collusion"]
            if fields["collusion"] not in COLLUSION:
                raise UsageError(f"collusion of {where} is one of {', '.join(COLLUSION)}")
        for name in ("people", "refresh"):
            if name in fields:
                values[name] = _words(fields, name, where)
        if "caps" in fields:
            values["caps"] = Caps.from_fields(fields["caps"], f"caps of {where}")
        return replace(others, **values)


@dataclass(frozen=True)
class Limits:
    """Limits on one request, one caller or one address."""

    body_bytes: int = 1_000_000
    report_bytes: int = 10_000_000  # of a request with reports of the local model
    header_seconds: int = 10  # until the head of a request is there
    body_seconds: int = 20  # until its body is there
    page: int = 100  # maximum number of items of a list
    waiting_jobs: int = 100  # of one caller, not yet done
    plan_questions: int = 20  # of one plan: the time to plan them grows faster than their number
    failed_tokens: int = 20  # of one address, in a minute
    connections: int = 500  # at once, of one process

    @classmethod
    def from_fields(cls, value: Any) -> Limits:
        names = tuple(cls.__dataclass_fields__)
        fields = mapping(value, "limits")
        known_fields(fields, names, "limits")
        return cls(**{n: _integer(fields, n, "limits") for n in names if n in fields})


@dataclass(frozen=True)
class Login:
    """The organisation's own login: a provider of OpenID Connect."""

    issuer: str  # the address of the provider
    client_id: str
    secret_file: Path | None = None  # the file that holds the client's secret
    name_claim: str = "sub"  # the claim that names a person permanently
    team_claim: str | None = None  # the claim that names their team
    roles_claim: str = "groups"  # the claim whose values give roles
    # grants of each value of that claim
    grants: Mapping[str, tuple[Grant, ...]] = field(default_factory=dict)
    scopes: tuple[str, ...] = ("openid", "profile")  # requested from the provider
    # the audience of the provider's own tokens that programs may send; None where they send tokens
    # of this service alone
    api_audience: str | None = None

    @classmethod
    def from_fields(cls, table: Any, folder: Path) -> Login:
        fields = mapping(table, "login")
        known_fields(fields, tuple(cls.__dataclass_fields__), "login")
        for name in ("issuer", "client_id"):
            if name not in fields:
                raise UsageError(f"login needs {name}: the provider of OpenID Connect gives it")
        values: dict[str, Any] = {
            name: _words(fields, name, "login") for name in _LOGIN_WORDS if name in fields
        }
        if values.get("api_audience") == values["client_id"]:
            raise UsageError(
                "api_audience of login must differ from client_id: a token from a sign-in is "
                "only for that sign-in"
            )
        _url(values["issuer"].rstrip("/"), "issuer of login", path=True)
        if "secret_file" in fields:
            values["secret_file"] = folder / _words(fields, "secret_file", "login")
        grants = {}
        for value, given in mapping(fields.get("grants", {}), "grants of login").items():
            many = given if isinstance(given, list) else [given]
            grants[value] = tuple(Grant.from_fields(mapping(g, "a grant")) for g in many)
        scopes = fields.get("scopes", ["openid", "profile"])
        if not isinstance(scopes, list) or "openid" not in scopes:
            raise UsageError("scopes of login is a list with 'openid' in it")
        return cls(**values, grants=grants, scopes=tuple(map(str, scopes)))


@dataclass(frozen=True)
class WebhookSettings:
    """The program that is told what waits and what was decided."""

    url: str  # https, or on this machine
    secret_file: Path  # the file with the secret that signs messages

    @classmethod
    def from_fields(cls, table: Any, folder: Path) -> WebhookSettings:
        fields = mapping(table, "webhook")
        known_fields(fields, ("url", "secret_file"), "webhook")
        for name in ("url", "secret_file"):
            if name not in fields:
                raise UsageError(f"webhook needs {name}")
        url = _url(_words(fields, "url", "webhook"), "url of webhook", path=True)
        return cls(url, folder / _words(fields, "secret_file", "webhook"))

    def secret(self) -> bytes:
        """Return the secret, read each time, so that it can be replaced.

        Raises:
            OSError: it cannot be read, or is too short to be one.
        """
        secret = self.secret_file.read_bytes().strip()
        if len(secret) < _SHORTEST_SECRET:
            raise OSError("too short")
        return secret


@dataclass(frozen=True)
class WireSettings:
    """Where clients of PostgreSQL are answered; the service has none unless it is set."""

    host: str = "127.0.0.1"  # the address; ``127.0.0.1`` is this machine alone
    port: int = 5433
    connections: int = 100  # at once, of one process

    @classmethod
    def from_fields(cls, table: Any) -> WireSettings:
        fields = mapping(table, "wire")
        known_fields(fields, tuple(cls.__dataclass_fields__), "wire")
        values: dict[str, Any] = {
            name: _integer(fields, name, "wire")
            for name in ("port", "connections")
            if name in fields
        }
        if values.get("port", 1) > 65_535:
            raise UsageError("port of wire is a number up to 65535")
        if "host" in fields:
            values["host"] = _words(fields, "host", "wire")
        return cls(**values)


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
    # hosting of data sets, where it is set
    datasets: Mapping[str, DatasetSettings] = field(default_factory=dict)
    default: DatasetSettings = DatasetSettings()
    session_hours: int = 8  # how long a sign-in to the pages lasts
    workers: int = 2  # how many questions a process answers at once
    limits: Limits = Limits()
    login: Login | None = None  # the organisation's own, or None
    # the fields of each question of the local model
    collections: Mapping[str, Any] = field(default_factory=dict)
    webhook: WebhookSettings | None = None
    wire: WireSettings | None = None  # where clients of PostgreSQL are answered, or None

    def __post_init__(self) -> None:
        if not self.database:
            object.__setattr__(self, "database", f"sqlite:///{self.folder / 'service.db'}")

    def dataset(self, name: str) -> DatasetSettings:
        return self.datasets.get(name, self.default)

    @property
    def secure(self) -> bool:
        """True if people reach the service through TLS."""
        return self.url is not None and self.url.startswith("https://")

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Settings:
        """Read the settings of a folder; without a ``service.toml`` they are the defaults."""
        path = Path(os.path.expanduser(folder))
        if not path.is_dir():
            raise UsageError(f"there is no folder {str(path)!r}: name that of the data sets")
        file = path / FILE
        if not file.exists():
            return cls(path)
        try:
            return cls.from_fields(read_toml(file, str(file)), path)
        except UsageError as error:
            raise UsageError(f"{file}: {error}") from None

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any], folder: Path) -> Settings:
        where = "the service"
        known_fields(fields, _FIELDS, where)
        default = DatasetSettings.from_fields(
            {name: fields[name] for name in _OF_A_DATASET if name in fields},
            where,
            DatasetSettings(),
        )
        values: dict[str, Any] = {"default": default}
        if "title" in fields:
            values["title"] = _words(fields, "title", where)
        if "database" in fields:
            address = _words(fields, "database", where)
            file = f"sqlite:///{folder / address}"
            values["database"] = address if is_address(address) else file
        if "url" in fields:
            values["url"] = _url(_words(fields, "url", where), "url")
        for name in ("session_hours", "workers"):
            if name in fields:
                values[name] = _integer(fields, name, where)
        if "login" in fields:
            if "url" not in fields:
                raise UsageError(
                    "login needs the address of the service, to which people return after "
                    "signing in: url = 'https://...'"
                )
            values["login"] = Login.from_fields(fields["login"], folder)
        if "webhook" in fields:
            values["webhook"] = WebhookSettings.from_fields(fields["webhook"], folder)
        if "wire" in fields:
            values["wire"] = WireSettings.from_fields(fields["wire"])
        datasets = mapping(fields.get("datasets", {}), "datasets")
        values["datasets"] = {
            name: DatasetSettings.from_fields(
                mapping(one, f"datasets.{name}"), f"datasets.{name}", default
            )
            for name, one in datasets.items()
        }
        return cls(
            folder,
            trusted_proxies=_proxies(fields.get("trusted_proxies", [])),
            limits=Limits.from_fields(fields.get("limits", {})),
            collections=mapping(fields.get("collections", {}), "collections"),
            **values,
        )


def _words(fields: Mapping[str, Any], name: str, where: str) -> str:
    value = text(fields, name, where)
    if not isinstance(value, str) or not value.isprintable():
        raise UsageError(f"{name} of {where} must be a line of text in quotes")
    return value


def _integer(fields: Mapping[str, Any], name: str, where: str) -> int:
    value = whole(fields, name, where)
    if not isinstance(value, int):
        raise UsageError(f"{name} of {where} must be a whole number of at least 1")
    return value


def _loss(value: Any, where: str) -> Budget:
    fields = mapping(value, where)
    known_fields(fields, ("epsilon", "delta", "rho"), where)
    loss = read_loss(fields.get("epsilon"), fields.get("delta"), fields.get("rho"))
    if loss is None:
        raise UsageError(f"{where} is a privacy loss, such as {{ epsilon = 1 }}")
    return loss


def _latency(value: Any, where: str) -> Fraction:
    latency = as_fraction(value, f"latency of {where}")
    lowest, highest = _LATENCY
    if not lowest <= latency <= highest:
        raise UsageError(f"latency of {where} is a number of seconds from {lowest} to {highest}")
    return latency


def _url(address: str, where: str, *, path: bool = False) -> str:
    parts = urlsplit(address)
    origin = f"{parts.scheme}://{parts.netloc}" if path else address
    if not _HTTPS.fullmatch(origin) or parts.query or parts.fragment:
        raise UsageError(f"{where} is an address such as https://statistics.example")
    return address


def _proxies(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise UsageError("trusted_proxies is a list of addresses, such as ['10.0.0.1']")
    for one in value:
        try:
            ipaddress.ip_network(str(one))
        except ValueError:
            raise UsageError(
                f"trusted_proxies has {str(one)!r}, and takes addresses and networks, such as "
                "'10.0.0.1' or '10.0.0.0/24'"
            ) from None
    return tuple(map(str, value))
