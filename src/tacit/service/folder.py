"""The folder of a service: the data sets that are declared in it, and the key that signs tokens."""

from __future__ import annotations

import hashlib
import os
import secrets
import unicodedata
from contextlib import suppress
from pathlib import Path

from tacit.errors import UsageError
from tacit.service.database import Database
from tacit.service.settings import FILE, Settings
from tacit.tables.dataset.declaration import Dataset

KEY_FILE = "service.key"
_KEY = 32


def declarations(settings: Settings, *, drafts: bool = False) -> dict[str, Dataset]:
    # A data set is a TOML file next to ``service.toml``.
    datasets: dict[str, Dataset] = {}
    seen: dict[str, Path] = {}
    for path in sorted(settings.folder.glob("*.toml")):
        if path.name == FILE:
            continue
        dataset = Dataset.load(path)
        try:
            if not drafts:
                dataset.refuse_open()
        except UsageError as error:
            raise UsageError(f"{path.name}: {error}") from None
        same = unicodedata.normalize("NFKC", dataset.name).casefold()
        if same in seen:
            raise UsageError(
                f"{path.name} and {seen[same].name} declare data sets of one name: each ledger is "
                "named after its data set, so give one of them another name"
            )
        seen[same] = path
        datasets[dataset.name] = dataset
    unknown = sorted(set(settings.datasets) - set(datasets))
    if unknown:
        raise UsageError(
            f"{FILE} has settings for {unknown[0]!r}, and no file of the folder declares it"
        )
    return datasets


def signing_key(folder: Path, *, create: bool = True) -> bytes:
    """Return the key that signs tokens; created if it is missing."""
    # It is in ``service.key``, which only the operator may read.  Machines that share a
    # database need the same file.
    path = folder / KEY_FILE
    try:
        if create and not path.exists():
            _make(path)
        text = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise UsageError(f"the key of the service, {path}, cannot be read: {why}") from None
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != _KEY:
        raise UsageError(
            f"{path} is not a key of a service, which is 64 characters of 0-9 and a-f. Bring the "
            "file back; a new key makes every token invalid"
        )
    return key


def open_store(settings: Settings) -> tuple[Database, bytes]:
    """Return the database of a service, with its tables made, and the key that signs tokens."""
    key = signing_key(settings.folder)
    database = Database(settings.database)
    try:
        database.create()
        if not database.register_key(key_digest(key)):
            raise UsageError(
                f"{database.name} belongs to a service with another key: copy its {KEY_FILE} to "
                f"{settings.folder}"
            )
    except BaseException:
        database.close()
        raise
    return database, key


def key_digest(key: bytes) -> str:
    """Return a digest of a key, which shows only whether two keys are equal."""
    return hashlib.sha256(b"tacit service key\0" + key).hexdigest()


def _make(path: Path) -> None:
    """Write a new key under another name first: no process reads half a key."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    file = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(file, "w", encoding="ascii") as out:
            out.write(secrets.token_bytes(_KEY).hex() + "\n")
            out.flush()
            os.fsync(out.fileno())
        with suppress(FileExistsError):  # another process was first
            os.link(draft, path)
    finally:
        draft.unlink()
