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
            help="With --server: a file that holds your token; else TACIT_TOKEN holds it.",
            panel=_SERVER,
            metavar="FILE",
        ),
    ] = None
    ca_file: Annotated[
        str | None,
        flag(
            "--ca-file",
            help="With --server: certificates to trust, of an authority of your own.",
            panel=_SERVER,
            metavar="FILE",
        ),
    ] = None
