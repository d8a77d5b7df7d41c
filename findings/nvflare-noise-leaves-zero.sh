#!/bin/bash
# NVFlare 2.9.0, federated statistics: the noise on minima and maxima that is to protect them
# (`AddNoiseToMinMax`) is a share of the number itself, and has a known sign.
#
# Guess: noise in proportion to the spread of the column, or to its bounds, and of either sign.
# Seen: a minimum of 0 is published as a number between -9e-6 and -7e-6 and a maximum of 0 between
# 1.1e-5 and 1.3e-5, so that each tells that it was 0; a maximum of 2024 (a year of birth) becomes
# one between 2226 and 2632, and the mean of many answers gives it back.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q nvflare==2.9.0
"$folder/venv/bin/python" - <<'PY'
import logging

from nvflare.app_common.statistics.min_max_cleanser import AddNoiseToMinMax

logging.disable()
protect = AddNoiseToMinMax(0.1, 0.3)


def published(statistic, value):
    told, changed = protect.apply({statistic: {"train": {"x": value}}}, "site-1")
    assert changed
    return told[statistic]["train"]["x"]


for statistic, value, least, most in (
    ("min", 0.0, -9e-6, -7e-6),
    ("max", 0.0, 1.1e-5, 1.3e-5),
    ("max", 2024.0, 2226, 2632),
):
    seen = [published(statistic, value) for _ in range(2000)]
    print(statistic, value, "becomes", min(seen), "to", max(seen))
    assert least <= min(seen) and max(seen) <= most, "changed"
mean = sum(seen) / len(seen) / 1.2
print("from the mean of 2,000 answers:", round(mean))
assert abs(mean - 2024) < 20, "changed"
PY
