"""Why a connection to PostgreSQL failed over TLS, and what to do: from libpq's words, in ours."""

from __future__ import annotations

__all__ = ["tls_cause"]

# The first whose words are there; where libpq tried twice, with TLS and without, the first counts.
_CAUSES = {
    "certificate verify failed": (
        "its TLS certificate has expired, or is not signed by an authority in the file of "
        "sslrootcert: ask its administrator for the certificate of the authority, and do not "
        "connect without it, since it may be somebody else's server"
    ),
    "does not match host name": (
        "its TLS certificate is for another host: write the name that it is for, with hostaddr= "
        "beside it where that name leads elsewhere"
    ),
    "root certificate file": (
        "the file of sslrootcert is not there, or holds no certificate: give the path of the "
        "certificate of the authority that signed the server's"
    ),
    "requires a valid client certificate": (
        "it asks for a certificate of yours: give the files with sslcert= and sslkey="
    ),
    "certificate authentication failed": (
        "the certificate of sslcert is not for the user of the address"
    ),
    "private key": (
        "the file of sslkey is not there, does not belong to sslcert, or may be read by others "
        "(chmod 600)"
    ),
    "certificate file": "the file of sslcert is not there, or holds no certificate",
    "tlsv1 alert": (
        "it does not accept the certificate of sslcert: ask its administrator for one that its "
        "own authority has signed"
    ),
    "no encryption": "it refuses connections without TLS: write sslmode=verify-full",
    "server does not support ssl": (
        "it offers no TLS, which sslmode demands: ask its administrator to turn ssl on"
    ),
    "ssl error": "it and this computer do not agree on TLS (sslmode, ssl_min_protocol_version)",
}


def tls_cause(told: str) -> str | None:
    """Return what went wrong with TLS, or None where it was something else.

    Args:
        told: what libpq said; nothing of it is repeated.

    >>> print(tls_cause("server does not support SSL, but SSL was required"))
    it offers no TLS, which sslmode demands: ask its administrator to turn ssl on
    >>> tls_cause("password authentication failed; no pg_hba.conf entry, no encryption") is None
    True
    """
    text = told.casefold()
    if "password authentication failed" in text:
        return None
    return next((cause for words, cause in _CAUSES.items() if words in text), None)
