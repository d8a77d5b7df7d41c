#!/usr/bin/env bash
# IPython 9.18.1 (Python 3.11): a misspelt attribute, which Python answers with the nearest one.
#
# Guess: a notebook shows the "Did you mean" that the same Python shows in a terminal.
# Seen:  the terminal shows it, IPython does not: Python adds it when it prints the traceback, and
#        it is no part of the message.  So who wants it in a notebook puts it into the message.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ipython==9.18.1
export IPYTHONDIR="$folder/ipython" NO_COLOR=1
cat >"$folder/seen.py" <<'PY'
import types

types.SimpleNamespace(width=1).widht
PY
{ "$folder/venv/bin/python" "$folder/seen.py" 2>&1 || true; } | grep -c "Did you mean" >"$folder/count" || true
echo "Python suggests: $(cat "$folder/count")" | tee "$folder/seen.txt"
{ "$folder/venv/bin/ipython" --no-banner --colors=nocolor "$folder/seen.py" 2>&1 || true; } >"$folder/shown.txt"
grep -q "has no attribute 'widht'" "$folder/shown.txt"
echo "IPython suggests: $(grep -c "Did you mean" "$folder/shown.txt" || true)" | tee -a "$folder/seen.txt"
diff - "$folder/seen.txt" <<'SEEN'
Python suggests: 1
IPython suggests: 0
SEEN
