"""Build the site into ``build/docs/html``; a warning of the build is an error.

Usage: ``python tools/make_docs.py`` (``--serve`` shows it on this machine, ``--port 8123``).
"""

from __future__ import annotations

import argparse
import functools
import http.server
from pathlib import Path

from docsite.build import build

ROOT = Path(__file__).parents[1]


def serve(folder: Path, port: int) -> None:
    """Serve a folder on the loopback address until Ctrl-C."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        print(f"http://127.0.0.1:{server.server_port}/ (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


def main() -> None:
    """Read the flags, build, and serve where that is asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "docs", help="the folder")
    parser.add_argument("--serve", action="store_true", help="show the site on 127.0.0.1")
    parser.add_argument("--port", type=int, default=8123, help="where it is shown")
    given = parser.parse_args()
    pages = build(given.out)
    print(f"{pages} pages in {given.out / 'html'}")
    if given.serve:
        serve(given.out / "html", given.port)


if __name__ == "__main__":
    main()
