"""Certificates of the tests' own, made by ``openssl``, and a PostgreSQL that speaks TLS alone."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.servers import postgres_server
from support.servers.postgres_server import SUPERUSER, PostgresServer

HOST = "db.example"
"""Whom the server's certificate is for; no such host is asked: ``hostaddr`` says where it is."""
_HBA = """
hostssl all {superuser} 127.0.0.1/32 scram-sha-256
hostssl all certified 127.0.0.1/32 cert
hostssl all all 127.0.0.1/32 scram-sha-256
"""


def missing() -> tuple[str, str] | None:
    """Return what is missing and how to install it; None if such a server can be started."""
    if shutil.which("openssl") is None:
        return "openssl", "apt-get install openssl"
    return postgres_server.missing()


class Authority:
    """One that signs certificates, whose keys are in a folder.

    Attributes:
        root: its own certificate.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder / name
        self._folder.mkdir(parents=True)
        self.root = self._folder / "root.pem"
        self._key = self._folder / "root.key"
        self._openssl(
            "req", "-x509", *_KEY, "-days", "3", "-subj", f"/CN={name}",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign",
            "-keyout", self._key, "-out", self.root,
        )  # fmt: skip

    def sign(self, name: str) -> tuple[Path, Path]:
        """Make a certificate for a host or a role; return it and its key."""
        made, key, asked = (self._folder / f"{name}.{end}" for end in ("pem", "key", "csr"))
        extensions = self._folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName=DNS:{name}\n")
        self._openssl("req", *_KEY, "-subj", f"/CN={name}", "-keyout", key, "-out", asked)
        self._openssl(
            "x509", "-req", "-in", asked, "-CA", self.root, "-CAkey", self._key,
            "-CAcreateserial", "-days", "3", "-extfile", extensions, "-out", made,
        )  # fmt: skip
        key.chmod(0o600)
        return made, key

    @staticmethod
    def _openssl(*words: object) -> None:
        done = subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@contextmanager
def tls_server(authority: Authority) -> Iterator[PostgresServer]:
    """Run a server that lets nobody in without TLS; its certificate is for ``HOST``.

    The role ``certified``, if it is made, comes in by a certificate of the same authority and by
    nothing else.
    """
    server = PostgresServer()
    try:
        owner = server.data.stat()
        certificate, key = authority.sign(HOST)
        for source, name in ((certificate, "server.crt"), (key, "server.key"),
                             (authority.root, "root.crt")):  # fmt: skip
            place = server.data / name
            shutil.copy(source, place)
            os.chown(place, owner.st_uid, owner.st_gid)
            place.chmod(0o600)
        (server.data / "pg_hba.conf").write_text(_HBA.format(superuser=SUPERUSER))
        with open(server.data / "postgresql.conf", "a") as file:
            file.write("ssl = on\nssl_ca_file = 'root.crt'\n")
        server.restart()
        yield server
    finally:
        server.remove()
