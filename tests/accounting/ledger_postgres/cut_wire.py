"""A wire to a server that can be cut at a chosen moment of a transaction."""

import contextlib
import socket
import threading
from urllib.parse import urlsplit


class Wire:
    """A port of the loopback that leads to a server.

    Attributes:
        cut: ``None``, or where the next commit is lost: ``"before"`` it reaches the server, or
            ``"after"``, when the server has done it and its word is still on the way.
        down: refuse whoever connects.
        commits: how many commits were cut so far.
    """

    def __init__(self, port):
        self._port = port
        self.cut = None
        self.down = False
        self.commits = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def through(self, address):
        """The same address by way of this wire."""
        return address.replace(f":{urlsplit(address).port}/", f":{self.port}/")

    def close(self):
        self._listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.down:
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self._port))
            state = {"swallow": False}
            for ends in ((client, server, True), (server, client, False)):
                threading.Thread(target=self._carry, args=(*ends, state), daemon=True).start()

    def _carry(self, source, target, from_client, state):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if from_client and self.cut and b"COMMIT" in data and b"BEGIN" not in data:
                    self.commits += 1
                    moment, self.cut = self.cut, None
                    if moment == "before":
                        break
                    state["swallow"] = True
                if not from_client and state["swallow"]:
                    break
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)  # so that the thread of the other way ends too
        source.close()
