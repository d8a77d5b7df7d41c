#!/bin/bash
# uvicorn 0.54.0 with `--workers 2`: a reply that an application sends in two parts reaches a client
# on the same machine some 40 milliseconds later than with one process.
#
# Guess: the same, for the processes only share a listening socket.
# Seen: asyncio turns off Nagle's algorithm (TCP_NODELAY) where a socket was made for TCP by name.
# The socket that uvicorn makes for several processes was not, nor are its connections: TCP_NODELAY
# is 0 there and 1 with one process.  The second part of a reply waits for the client's delayed ACK.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q uvicorn==0.54.0
cd "$folder"
venv/bin/python - <<'PY'
import asyncio
import socket

import uvicorn


async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1")]})
    await send({"type": "http.response.body", "body": b"x"})


async def no_delay(shared):
    config = uvicorn.Config(app, port=0, http="h11", loop="asyncio", lifespan="off", log_level="critical")
    listening = config.bind_socket() if shared else None  # as for several processes
    server = uvicorn.Server(config)
    served = asyncio.create_task(server.serve(sockets=[listening] if shared else None))
    while not server.started:
        await asyncio.sleep(0.01)
    address = server.servers[0].sockets[0].getsockname()
    reader, writer = await asyncio.open_connection(*address)
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    await reader.readuntil(b"\r\n\r\n")
    (protocol,) = server.server_state.connections
    connection = protocol.transport.get_extra_info("socket")
    found = bool(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
    writer.close()
    server.should_exit = True
    await served
    return found


alone, together = asyncio.run(no_delay(False)), asyncio.run(no_delay(True))
print("TCP_NODELAY of a connection: one process", alone, "- a socket for several", together)
assert alone and not together, "changed"
PY
