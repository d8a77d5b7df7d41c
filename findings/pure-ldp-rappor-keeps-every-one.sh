#!/usr/bin/env bash
# pure-ldp 1.2.0 (Python 3.11): how often RAPPOR flips the bits of a Bloom filter, and its f.
#
# Guess: with f = 0.76 a bit that is 1 stays 1 with probability 1 - f/2 = 0.62, and one that is 0
#        becomes 1 with probability f/2 = 0.38; f for epsilon 1 and 12 is 0.7551 and 0.0049.
# Seen:  a bit that is 1 is always reported as 1; only zeros are flipped.  So a 0 in a report
#        rules out, with certainty, every item whose filter has a 1 there: the loss is infinite.
#        And f is rounded to two decimals, 0.76 and 0.0: at epsilon 12 nothing is random.
# (xxhash is pinned below 4: with it this class raises a TypeError.)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pure-ldp==1.2.0 xxhash==3.6.0 \
  numpy==2.4.6 scikit-learn==1.9.1 statsmodels==0.14.5 pandas==2.3.3 bitarray==3.12.3
cat >"$folder/seen.py" <<'PY'
from pure_ldp.frequency_oracles.rappor import RAPPORClient, RAPPORServer

server = RAPPORServer(0.76, 64, 2, 100, num_of_cohorts=4)
hashes = server.get_hash_funcs()
client = RAPPORClient(0.76, 64, hashes, num_of_cohorts=4)
ones = kept = zeros = flipped = 0
for run in range(20_000):
    item = run % 100 + 1
    report, cohort = client.privatise(item)
    true = {hash_function(str(client.index_mapper(item))) for hash_function in hashes[cohort]}
    ones += len(true)
    kept += sum(report[bit] for bit in true)
    zeros += 64 - len(true)
    flipped += sum(report) - sum(report[bit] for bit in true)
print(f"ones reported as 1: {kept / ones:.2f}; zeros reported as 1: {flipped / zeros:.2f}")
print("f for epsilon 1 and 12:", client.convert_eps_to_f(1), client.convert_eps_to_f(12))
PY
"$folder/venv/bin/python" -W ignore "$folder/seen.py" | tee "$folder/seen.txt"
diff - "$folder/seen.txt" <<'SEEN'
ones reported as 1: 1.00; zeros reported as 1: 0.38
f for epsilon 1 and 12: 0.76 0.0
SEEN
