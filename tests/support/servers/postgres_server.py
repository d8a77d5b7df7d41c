"""A PostgreSQL of the tests' own: its own folder, its own port, gone when they end.

It is made from the programs that are on the machine (``apt-get install postgresql``), listens on
the loopback only, asks every role for a password, and lives in a private folder.  PostgreSQL
refuses to run as root, so under root it runs as ``postgres``, or as ``nobody``.

However the tests end, the server ends with them: a keeper waits at a pipe whose other end only
this process holds, and removes server and folder when the pipe closes.
"""

from __future__ import annotations

import itertools
import os
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pwd

    import psycopg

SUPERUSER = "curator"
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "60",
    "shared_buffers": "64MB",
    "fsync": "on",
    "logging_collector": "off",
    "log_statement": "all",
    "log_connections": "on",
}
BUSY_TIMEOUT = 60


def missing() -> tuple[str, str] | None:
    """Return what is missing and how to install it; None if a server can be started."""
    if programs() is None:
        return "PostgreSQL", "apt-get install postgresql"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg", "make setup-engines"
    if os.name != "posix":
        return "a system on which the tests can start PostgreSQL", "run them on Linux"
    return None


def programs() -> Path | None:
    """The folder of ``initdb`` and ``pg_ctl``.

    It is that of ``POSTGRES_BIN``, by which the tests run against another version; else the newest
    of Debian's, or that on the PATH.
    """
    if named := os.environ.get("POSTGRES_BIN"):
        return Path(named)
    paths = list(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if paths:
        return max(paths, key=lambda path: float(path.parts[-3])).parent
    on_path = shutil.which("initdb")
    return Path(os.path.realpath(on_path)).parent if on_path else None


@dataclass(frozen=True)
class Database:
    """A fresh, empty database of a server.

    Attributes:
        server: where it is.
        name: unlike any other of this server.
    """

    server: PostgresServer
    name: str

    def dsn(self, user: str = SUPERUSER, **options: str) -> str:
        """A URL of this database; see :meth:`PostgresServer.dsn`."""
        return self.server.dsn(user, self.name, **options)

    @contextmanager
    def connect(self, user: str = SUPERUSER) -> Iterator[psycopg.Connection[Any]]:
        """A connection in autocommit mode, closed at the end."""
        with self.server.connect(user, self.name) as connection:
            yield connection

    def run(self, *statements: str, user: str = SUPERUSER) -> list[tuple[Any, ...]]:
        """Run statements one after another, and return the rows of the last one."""
        with self.connect(user) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []


class PostgresServer:
    """A server of one's own: made and started at once, stopped and removed by :meth:`remove`.

    Args:
        settings: of ``postgresql.conf``, beside or instead of ``SETTINGS``.
    """

    def __init__(self, **settings: str) -> None:
        folder_of_programs = programs()
        assert folder_of_programs is not None, "ask missing() first"
        self._bin = folder_of_programs
        self._account = _other_account()
        self.password = secrets.token_urlsafe(12)
        self._names = itertools.count(1)
        self.folder = Path(tempfile.mkdtemp(prefix="tacit-pg-"))
        self.data = self.folder / "data"
        self.log = self.folder / "log"
        self.settings = {**SETTINGS, **settings}
        try:
            self._keeper = self._keep()
            self._make()
            self.start()
        except BaseException:
            self.remove()
            raise

    # --- how to reach it ---------------------------------------------------------------------

    def dsn(self, user: str = SUPERUSER, dbname: str = "postgres", **options: str) -> str:
        """A URL with the password in it; ``options`` such as ``connect_timeout="3"``."""
        query = "&".join(f"{name}={value}" for name, value in options.items())
        url = f"postgresql://{user}:{self.password}@127.0.0.1:{self.port}/{dbname}"
        return f"{url}?{query}" if query else url

    @contextmanager
    def connect(
        self, user: str = SUPERUSER, dbname: str = "postgres"
    ) -> Iterator[psycopg.Connection[Any]]:
        """A connection in autocommit mode, by default as the superuser; closed at the end."""
        import psycopg

        with psycopg.connect(self.dsn(user, dbname), autocommit=True) as connection:
            yield connection

    def role(self, name: str, options: str = "LOGIN") -> str:
        """Make a role (or change it) with the password of the server, and return its name."""
        with self.connect() as connection:
            known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name])
            verb = "ALTER" if known.fetchone() else "CREATE"
            connection.execute(f"{verb} ROLE \"{name}\" {options} PASSWORD '{self.password}'")
        return name

    def trust(self) -> None:
        """Ask nobody for a password any more, where many connections are made."""
        (self.data / "pg_hba.conf").write_text("host all all 127.0.0.1/32 trust\n")
        self._run("pg_ctl", "-D", self.data, "reload")

    @contextmanager
    def database(self) -> Iterator[Database]:
        """A fresh database, dropped at the end, whoever is still connected to it."""
        name = f"test_{next(self._names)}"
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name}")
        try:
            yield Database(self, name)
        finally:
            self.start()
            with self.connect() as connection:
                connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    @property
    def version(self) -> int:
        """The major version of the server's programs."""
        result = subprocess.run(
            [self._bin / "postgres", "--version"], capture_output=True, text=True
        )
        return int(result.stdout.split()[2].split(".")[0])

    # --- its life ----------------------------------------------------------------------------

    @property
    def pid(self) -> int | None:
        """The process of the postmaster, or None while there is none."""
        with suppress(OSError, ValueError, IndexError):
            pid = int((self.data / "postmaster.pid").read_text().splitlines()[0])
            os.kill(pid, 0)
            return pid
        return None

    def start(self) -> None:
        """Start it unless it runs, and wait until it accepts connections."""
        deadline = time.monotonic() + BUSY_TIMEOUT
        while self.pid is None:
            done = self._run("pg_ctl", "-D", self.data, "-l", self.log, "-t", BUSY_TIMEOUT, "start")
            if done.returncode and time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL does not start:\n{done.stdout}\n{self.logged()}")
            # after kill(), the shared memory is in use until the last child has noticed
            time.sleep(0.2 if done.returncode else 0)
        while self._run("pg_isready", "-q", "-h", "127.0.0.1", "-p", self.port).returncode:
            if time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL takes no connections:\n{self.logged()}")
            time.sleep(0.05)

    def stop(self, mode: str = "fast") -> None:
        """Stop it: ``"smart"``, ``"fast"`` (connections are cut) or ``"immediate"`` (a crash)."""
        if self.pid is not None:
            self._run("pg_ctl", "-D", self.data, "-m", mode, "-t", BUSY_TIMEOUT, "-w", "stop")

    def restart(self, mode: str = "fast") -> None:
        """Stop it and start it again."""
        self.stop(mode)
        self.start()

    def kill(self) -> None:
        """Kill the postmaster and all its children at once, as a machine that dies would."""
        pid = self.pid
        assert pid is not None, "it does not run"
        listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True)
        pairs = [tuple(map(int, line.split())) for line in listing.stdout.splitlines()]
        for each in [pid, *(child for child, parent in pairs if parent == pid)]:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def logged(self) -> str:
        """All that the server has written into its log."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def remove(self) -> None:
        """Stop it and remove its folder; it cannot be started again."""
        self._keeper.stdin.close()  # type: ignore[union-attr]
        self._keeper.wait(BUSY_TIMEOUT)
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- how ---------------------------------------------------------------------------------

    def _make(self) -> None:
        secret = self.folder / "password"
        secret.touch(mode=0o600)
        secret.write_text(self.password)
        self.data.mkdir(mode=0o700)
        if self._account is not None:
            for path in (self.folder, secret, self.data):
                os.chown(path, self._account.pw_uid, self._account.pw_gid)
        made = self._run(
            "initdb", "-D", self.data, "-U", SUPERUSER, "-A", "scram-sha-256", "-E", "UTF8",
            "--no-locale", "--no-sync", f"--pwfile={secret}",
        )  # fmt: skip
        if made.returncode:
            raise RuntimeError(f"initdb failed:\n{made.stdout}")
        self.port = _free_port()
        settings = {**self.settings, "port": str(self.port), "unix_socket_directories": ""}
        if (
            self.version >= 14 and sys.platform == "linux"
        ):  # after a crash, one sync instead of one for each file
            settings.setdefault("recovery_init_sync_method", "syncfs")
        if len(str(self.folder)) < 80:  # the name of a socket has 107 bytes
            settings["unix_socket_directories"] = str(self.folder)
        with open(self.data / "postgresql.conf", "a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())

    def _keep(self) -> subprocess.Popen[bytes]:
        """Start what removes the server when this process ends, in whatever way."""
        stop = shlex.join([str(self._bin / "pg_ctl"), "-D", str(self.data), "-m", "immediate"])
        if self._account is not None:
            stop = f"runuser -u {self._account.pw_name} -- {stop}"
        script = f"cd /; cat; {stop} -w stop; rm -rf {shlex.quote(str(self.folder))}"
        return subprocess.Popen(
            ["sh", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # the keyboard's interrupt is not for the keeper
        )

    def _run(self, program: str, *words: object) -> subprocess.CompletedProcess[str]:
        account = self._account
        who: dict[str, Any] = {}
        if account is not None:
            who = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        paths = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}
        if "POSTGRES_BIN" in os.environ:  # with the libraries that came with it, not the system's
            paths["LD_LIBRARY_PATH"] = str(self._bin.parent / "lib")
        # pg_ctl leaves its output open to the server, so it must not be a pipe
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(
                [str(self._bin / program), *map(str, words)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=paths,
                **who,
            )
            output.seek(0)
            output_text = output.read().decode(errors="replace")
        return subprocess.CompletedProcess(done.args, done.returncode, output_text, "")


def _other_account() -> pwd.struct_passwd | None:
    """Whose server it is, where it must be somebody else's."""
    import pwd  # which Windows does not have

    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise RuntimeError("PostgreSQL does not run as root, and there is no user 'postgres'")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
