"""An nginx of the tests' own in front of a service, set up as the docs show; TLS ends there."""

from __future__ import annotations

import re
import shutil
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from support.servers.postgres_tls import Authority

ROOT = Path(__file__).parents[3]
HOST = "statistics.example"
PAGE = ROOT / "docs" / "service-behind-a-proxy.md"


def missing() -> tuple[str, str] | None:
    """Return what is missing and how to install it; None if a proxy can be started."""
    if shutil.which("openssl") is None:
        return "openssl", "apt-get install openssl"
    return None if program() else ("nginx", "apt-get install nginx-light")


def program() -> str | None:
    """The program."""
    return shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/bin")


@dataclass(frozen=True)
class Proxy:
    """A proxy that runs.

    Attributes:
        port: where it listens with TLS.
        root: the certificate that signs its own.
    """

    port: int
    root: Path

    def client(self, **headers: str) -> httpx.Client:
        """A client that believes this authority alone and asks for the public host."""
        context = ssl.create_default_context(cafile=str(self.root))
        transport = httpx.HTTPTransport(verify=context)
        return httpx.Client(
            transport=_Named(transport, self.port),
            base_url=f"https://{HOST}",
            headers=headers,
            timeout=60,
        )


class _Named(httpx.BaseTransport):
    """Asks the loopback for a host, so that no name has to be found."""

    def __init__(self, inner: httpx.BaseTransport, port: int) -> None:
        self._inner, self._port = inner, port

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.extensions = {**request.extensions, "sni_hostname": HOST}
        request.url = request.url.copy_with(host="127.0.0.1", port=self._port)
        return self._inner.handle_request(request)

    def close(self) -> None:
        self._inner.close()


@contextmanager
def tls_proxy(folder: Path, port: int, upstream: int) -> Iterator[Proxy]:
    """Run a proxy with the server that the docs show; its folder must be empty."""
    authority = Authority(folder, "authority")
    certificate, key = authority.sign(HOST)
    (shown,) = re.findall(r"```nginx\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    changes = {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "/etc/ssl/statistics.pem": str(certificate),
        "/etc/ssl/statistics.key": str(key),
        "127.0.0.1:8000": f"127.0.0.1:{upstream}",
    }
    for before, after in changes.items():
        assert before in shown
        shown = shown.replace(before, after)
    places = "".join(
        f"{name}_temp_path {folder}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    config = folder / "nginx.conf"
    config.write_text(
        f"daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;\n"
        f"events {{}}\nhttp {{ access_log off;\n{places}{shown}}}\n"
    )
    words = [str(program()), "-c", str(config), "-p", str(folder), "-e", str(folder / "error.log")]
    process = subprocess.Popen(words)
    proxy = Proxy(port, authority.root)
    try:
        _wait(proxy, process, folder / "error.log")
        yield proxy
    finally:
        process.terminate()
        process.wait(20)


def _wait(proxy: Proxy, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()
        try:
            with proxy.client() as client:
                client.get("/healthz")
            return
        except httpx.HTTPError:
            time.sleep(0.1)
    raise AssertionError(log.read_text())
