"""Where a service is, and with which token it is asked."""

from __future__ import annotations

import ipaddress
import os
import stat
from pathlib import Path
from urllib.parse import urlsplit

from tacit.errors import UsageError

__all__ = ["is_loopback", "read_address", "read_token"]

TOKEN = "TACIT_TOKEN"
"""The environment variable that holds a token."""
_LONGEST = 4096


def read_address(url: str) -> str:
    """Return the address of a service without a slash at its end, or refuse an unsafe one.

    A token over plain HTTP could be read on the way, so that is for this machine alone.

    Raises:
        UsageError: it is no address, or it is of plain HTTP on another machine.

    >>> read_address("https://statistics.example/")
    'https://statistics.example'
    >>> read_address("http://statistics.example")
    Traceback (most recent call last):
    tacit.errors.UsageError: http://statistics.example would send your token unencrypted: ...
    """
    example = "such as 'https://statistics.example'"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except (ValueError, AttributeError, TypeError):
        raise UsageError(f"the address of a service is text {example}") from None
    if parts.scheme not in ("https", "http") or not host:
        raise UsageError(f"the address of a service begins with https://, {example}")
    if parts.username is not None or parts.password is not None:
        raise UsageError(f"leave names and passwords out of the address: give a token, {example}")
    if parts.query or parts.fragment:
        raise UsageError(f"the address of a service has no ? and no #, {example}")
    if parts.scheme == "http" and not is_loopback(host):
        raise UsageError(
            f"http://{host} would send your token unencrypted: use https://; http:// is for a "
            "service on this machine, http://127.0.0.1:8000"
        )
    return url.rstrip("/")


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, by its name or number alone.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("127.0.0.1.example")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def read_token(token: str | None, file: str | os.PathLike[str] | None) -> str:
    """Return the token that is given, in a file, or in the environment variable TACIT_TOKEN.

    Raises:
        UsageError: both are given, none is, or it is no token.

    >>> read_token("tacit_abc ", None)
    'tacit_abc'
    """
    if token is not None and file is not None:
        raise UsageError("give a token or a file that holds one, not both")
    if file is not None:
        token = _from_file(Path(os.path.expanduser(file)))
    if token is None:
        token = os.environ.get(TOKEN)
    if token is None:
        raise UsageError(
            "say who asks: token='...', token_file='...', or the environment variable TACIT_TOKEN; "
            "whoever runs the service creates a token with tacit token create"
        )
    token = token.strip()
    if not token or len(token) > _LONGEST or not token.isascii() or not token.isprintable():
        raise UsageError("the token must be one line of letters and digits")
    return token


def _from_file(path: Path) -> str:
    try:
        mode = path.stat().st_mode
        with path.open(encoding="ascii") as opened:
            text = opened.read(_LONGEST + 2)
    except OSError as error:
        raise UsageError(f"the file of the token cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} holds no token") from None
    if os.name == "posix" and mode & (stat.S_IRGRP | stat.S_IROTH):
        raise UsageError(
            f"others on this machine can read the file of the token (mode {mode & 0o777:o}): run "
            f"chmod 600 {path}; if somebody may have read it, have the token revoked and ask for a "
            "new one"
        )
    return text
