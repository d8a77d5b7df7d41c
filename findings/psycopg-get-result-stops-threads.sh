#!/bin/bash
# psycopg 3.3.9 with its binary module: while one thread waits in `PGconn.get_result` for a server,
# no other thread of the process runs.  `PGconn.exec_`, `exec_params` and `exec_prepared` let them.
#
# Guess: all of them wait alike, for each is a call of libpq that may wait for the network.
# Seen: a thread that counts every 10 milliseconds counts about 50 in half a second of `exec_`, and
# hardly once in half a second of `get_result`.  With PSYCOPG_IMPL=python (ctypes) it counts in both.
# Who sends by `send_query` waits for the socket first, and calls `get_result` when `is_busy` is 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q "psycopg[binary]==3.3.9" pgserver==0.1.4
cd "$folder"
cat >ask.py <<'PY'
import sys
import tempfile
import threading
import time

import pgserver
import psycopg

counted, over = [0], threading.Event()


def count():
    while not over.wait(0.01):
        counted[0] += 1


def during(call):
    before = counted[0]
    call()
    return counted[0] - before


with pgserver.get_server(tempfile.mkdtemp()) as server:
    connection = psycopg.connect(server.get_uri(), autocommit=True)
    libpq, sleep = connection.pgconn, b"select pg_sleep(0.5)"

    def sent():
        libpq.send_query(sleep)
        while libpq.get_result() is not None:
            pass

    thread = threading.Thread(target=count)
    thread.start()
    exec_, get_result = during(lambda: libpq.exec_(sleep)), during(sent)
    over.set()
    thread.join()
    connection.close()
print(psycopg.pq.__impl__, "- counted during exec_:", exec_, "- during get_result:", get_result)
waits = sys.argv[1] == "binary"
assert psycopg.pq.__impl__ == sys.argv[1] and exec_ > 20, "changed"
assert get_result < 5 if waits else get_result > 20, "changed"
PY
for implementation in binary python; do
    PSYCOPG_IMPL=$implementation venv/bin/python ask.py $implementation
done
