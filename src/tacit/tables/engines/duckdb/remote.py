"""Files at an address, which DuckDB reads by extensions of its own that the user has installed."""

from __future__ import annotations

from tacit.errors import DataSourceError, did_you_mean
from tacit.tables.engines.duckdb.engine import DuckEngine

__all__ = ["check_remote", "is_remote", "public_part", "unreachable"]

_EXTENSIONS = {
    **dict.fromkeys(("http", "https", "s3", "s3a", "s3n", "gcs", "gs", "r2", "hf"), "httpfs"),
    **dict.fromkeys(("az", "azure", "abfs", "abfss"), "azure"),
}
"""What reads each kind of address."""


def is_remote(path: str) -> bool:
    """Whether a path is an address such as ``s3://bucket/visits/*.parquet``."""
    return "://" in path


def public_part(path: str) -> str:
    """Return an address without what may be a secret: a user, a password, a signature.

    >>> public_part("https://ann:pw@example.org/visits.parquet?signature=abc")
    'https://example.org/visits.parquet'
    """
    if not is_remote(path):
        return path
    kind, _, rest = path.partition("://")
    host, slash, place = rest.partition("/")
    return f"{kind}://{host.rpartition('@')[2]}{slash}{place.partition('?')[0]}"


def check_remote(address: str, engine: DuckEngine) -> None:
    """Refuse an address that the engine has nothing to read with.

    Nothing is fetched to make up for it: an extension is code, and the user's to install.

    Raises:
        DataSourceError: an unknown kind of address, or an extension that is not installed.
    """
    kind = address.partition("://")[0].casefold()
    extension = _EXTENSIONS.get(kind)
    if extension is None:
        raise DataSourceError(
            f"DuckDB reads no addresses of the form {kind}://; "
            f"{did_you_mean(kind, _EXTENSIONS)}, or give the path of a local file without it"
        )
    known = engine.rows(
        "select installed or loaded from duckdb_extensions() "
        f"where extension_name = {engine.dialect.literal(extension)}"
    )
    if known != [(True,)]:
        raise DataSourceError(
            f"DuckDB reads {kind}:// by its extension {extension}, which is not installed: run "
            f"python -c \"import duckdb; duckdb.sql('install {extension}')\" once, or copy the "
            "file to a local folder"
        )


def unreachable(address: str) -> DataSourceError:
    """Return the error of an address that gave nothing that can be read."""
    return DataSourceError(
        f"{public_part(address)} cannot be read: look at the address, at the network and at your "
        "right to read it (DuckDB stores keys: create persistent secret), and whether it is "
        "a Parquet or CSV file (details are withheld: they may quote the data)"
    )
