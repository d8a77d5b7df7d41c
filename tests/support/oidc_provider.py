"""A certified provider of OpenID Connect on loopback, and a person who signs in with a browser."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx

HERE = Path(__file__).parent / "oidc"


def missing() -> tuple[str, str] | None:
    """Return what is missing and how to install it; None if the provider can be started."""
    if shutil.which("node") is None:
        return "Node.js", "apt-get install nodejs"
    if not (HERE / "node_modules" / "oidc-provider").is_dir():
        return "oidc-provider", "npm ci --omit=optional in tests/support/oidc"
    return None


@contextmanager
def provider(home: str, secret: str, accounts: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The issuer of a provider that knows a service at ``home``; it ends with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = {
        "port": port,
        "back": f"{home}/sign-in/back",
        "home": f"{home}/sign-in",
        "secret": secret,
        "accounts": accounts,
    }
    with subprocess.Popen(
        ["node", str(HERE / "provider.mjs"), json.dumps(config)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        issuer = process.stdout.readline().strip()
        while issuer and not issuer.startswith("http"):
            issuer = process.stdout.readline().strip()
        assert issuer, "the provider did not start"
        try:
            yield issuer
        finally:
            process.stdin.close()
            process.wait(20)


def signed_in_at(browser: httpx.Client, address: str, account: str, home: str) -> str:
    """Sign in at the provider as an account, agree, and return the address that leads back."""
    for _ in range(12):
        reply = browser.get(address)
        while reply.status_code == 200:  # a page with a form: the name of the account, or consent
            place = urljoin(
                str(reply.url), re.findall(r'<form[^>]* action="([^"]*)"', reply.text)[0]
            )
            prompt = re.findall(r'name="prompt" value="(\w+)"', reply.text)[0]
            form = {"prompt": prompt}
            if prompt == "login":
                form |= {"login": account, "password": "any"}
            reply = browser.post(place, data=form)
        assert reply.status_code in (302, 303), reply.text
        address = urljoin(str(reply.url), reply.headers["location"])
        if address.startswith(home):
            return address
    raise AssertionError("the provider leads in circles")
