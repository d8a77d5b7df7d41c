"""The disk of the server's log of changes is full: it goes down, and no charge is forgotten."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from support.servers.left_out import leave_out
from support.servers.postgres_server import PostgresServer, missing
from tacit.accounting import create_ledger, epsilon, open_ledger
from tacit.errors import LedgerError

COST = epsilon("1/1000")
pytestmark = [pytest.mark.full, pytest.mark.xdist_group("postgres")]


@pytest.fixture(name="small")
def _small():
    """A server whose ``pg_wal`` is a disk of 48 megabytes, and the folder of that disk."""
    lacking = missing()
    if lacking is not None:
        leave_out(*lacking)
    server = PostgresServer(min_wal_size="32MB", max_wal_size="32MB")
    disk, log = server.folder / "wal", server.data / "pg_wal"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=48m,mode=777", "tmpfs", str(disk)]
    try:
        if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
            leave_out("the right to mount a small disk", "run the tests as root")
        try:
            server.stop()
            owner = log.stat()
            place = disk / "pg_wal"
            shutil.copytree(log, place)
            for path in (place, *place.rglob("*")):
                os.chown(path, owner.st_uid, owner.st_gid)
            place.chmod(0o700)
            shutil.rmtree(log)
            log.symlink_to(place)
            server.start()
            yield server, disk
        finally:
            server.stop("immediate")
            subprocess.run(["umount", "-l", str(disk)], check=True)
    finally:
        server.remove()


def test_a_full_disk_of_the_log_forgets_no_charge(small, monkeypatch):
    server, disk = small
    monkeypatch.setattr("tacit.accounting.ledger_postgres.PATIENCE", 2)
    create_ledger(server.dsn(), dataset="d", budget=epsilon(1)).close()
    granted, refused = 0, None
    with open_ledger(server.dsn(), dataset="d") as ledger:
        (disk / "ballast").write_bytes(bytes(shutil.disk_usage(disk).free))
        for number in range(100):
            try:
                ledger.charge(f"k{number}", COST, {"text": os.urandom(500_000).hex()})
            except LedgerError as error:
                refused = str(error)
                break
            granted += 1
    assert refused is not None, "the disk was never full"
    assert granted > 0
    assert "nothing more was spent" in refused or "count it as spent" in refused
    (disk / "ballast").unlink()
    server.stop("immediate")
    server.start()
    with open_ledger(server.dsn(), dataset="d") as ledger:
        unknown = "count it as spent" in refused
        spent = ledger.spent.amount / COST.amount
        assert spent in ((granted, granted + 1) if unknown else (granted,))
        assert len(ledger.history()) == spent
        assert ledger.charge("after", COST, {}).state == "open"
        assert ledger.verify_chain() == spent + 2
