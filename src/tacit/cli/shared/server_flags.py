"""The flags that say which service is asked, instead of a table of one's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tacit.cli.shared.signature import flag

__all__ = ["ServerOptions"]

_SERVER = "Asking a service"


@dataclass(frozen=True)
class ServerOptions:
    """Which service is asked, and with which token; the table is the name of a data set then."""

    server: Annotated[
        str | None,
        flag(
            "--server",
            help="Ask a service; the table is then the name of one of its data sets.",
            panel=_SERVER,
            metavar="URL",
        ),
    ] = None
    token_file: Annotated[
        str | None,
        flag(
            "--token-file",
            help="With --server: the file with your token; without it TACIT_TOKEN is read.",
            panel=_SERVER,
            metavar="FILE",
        ),
    ] = None
    ca_file: Annotated[
        str | None,
        flag(
            "--ca-file",
            help="With --server: certificates of a certificate authority to trust in addition.",
            panel=_SERVER,
            metavar="FILE",
        ),
    ] = None
