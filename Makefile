# Every target sets up what it needs.  A Python of 3.11 or newer, pip and make are enough:
#     make demo                     publish statistics of the bundled table
#     make test                     the fast tests
#     make test PYTHON=python3.13   with another interpreter (then: make clean first)

NEW_ENOUGH := -c 'import sys; sys.exit(sys.version_info < (3, 11))'
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
  $$name $(NEW_ENOUGH) 2>/dev/null && { echo $$name; break; }; done)
VENV ?= .venv
WORKERS ?= 2
# Two more where many tests wait: for a server, a browser, a tick.
WORKERS_ALL ?= 4
PEERS ?= opendp diffprivlib pydp
# Versions that were tested together.  The newest instead: make test CONSTRAINTS=
# the oldest: make test CONSTRAINTS=.ci/oldest.txt (make clean first)
CONSTRAINTS ?= constraints.txt

BIN := $(VENV)/bin
# Tests share the cores among them: threads of one that multiplies matrices would wait for another's.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest
RULES := tests/house
# What is used is compiled as it is imported; to compile all of it takes longer than the demo.
# Constraints in the environment hold for what builds Tacit too (by the second name since pip 25.3).
INSTALL := PIP_CONSTRAINT="$(strip $(PIP_CONSTRAINT) $(CONSTRAINTS))" \
  PIP_BUILD_CONSTRAINT="$(strip $(PIP_BUILD_CONSTRAINT) $(CONSTRAINTS))" \
  $(BIN)/python -m pip install --quiet --prefer-binary --no-compile
# Old releases of matplotlib call what newer ones of pyparsing warn of: .ci/oldest.txt has an old one,
# but none that imports what Python 3.11 warns of.
# Run by "make lock" alone: pip reads the files that uv writes, on every system and Python.
LOCK := build/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --no-annotate \
  --no-config --upgrade --custom-compile-command "make lock" pyproject.toml

# Each is a file that stands in the environment once its packages do.
DEMO_READY := $(VENV)/.ready-demo
TEST_READY := $(VENV)/.ready-test
CHECK_READY := $(VENV)/.ready-check
ENGINES_READY := $(VENV)/.ready-engines
DOCS_READY := $(VENV)/.ready-docs
BENCH_READY := $(VENV)/.ready-bench

export MPLBACKEND := Agg
# Compiled once, read by every process; without it each of the many that the tests start takes seconds.
unexport PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help setup setup-engines demo test test-all test-slow test-pythons bench docs docs-serve check lock clean

help:
	@echo "make demo       publish statistics of the bundled table; installs only what that needs"
	@echo "make test       the fast tests, the examples of the docs among them: three minutes"
	@echo "make test-all   the rest: the longer ones, PostgreSQL, Spark, the browser; more examples"
	@echo "make test-slow  the statistical tests, and every property on random examples: an hour"
	@echo "make check      lint, format, types, rules of the house"
	@echo "make docs       build the site: the pages and the reference; in build/docs/html"
	@echo "make docs-serve build it and show it at http://127.0.0.1:8123/"
	@echo "make test-pythons  the fast tests with every Python that can be had: half an hour"
	@echo "make bench      the benchmarks, each against a peer in the same run"
	@echo "make setup      create $(VENV) with Tacit and what its fast tests need"
	@echo "make setup-engines  the clients of PostgreSQL and Spark too (PySpark is 400 MB)"
	@echo "make lock       renew constraints.txt: the versions that the other commands install"
	@echo "make clean      remove $(VENV) and the caches"

# A Python without ensurepip (some Linux distributions split it off) still makes a bare
# environment, which the pip outside then fills.
$(DEMO_READY): pyproject.toml $(CONSTRAINTS)
	@test -n "$(PYTHON)" && $(PYTHON) $(NEW_ENOUGH) || \
	  { echo "Tacit needs Python 3.11 or newer; name one so: make demo PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || \
	  { rm -rf $(VENV) && $(PYTHON) -m venv --without-pip $(VENV) && \
	    $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; } || \
	  { rm -rf $(VENV); echo "cannot make $(VENV); on Debian or Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	$(INSTALL) --editable ".[page]"
	@touch $@

# Tacit is installed by now, so of these only the packages are: it is not built a second time.
$(TEST_READY): $(DEMO_READY)
	$(INSTALL) "tacit-dp[test]"
	@touch $@

$(CHECK_READY): $(TEST_READY)
	$(INSTALL) "tacit-dp[check]"
	@touch $@

$(ENGINES_READY): $(TEST_READY)
	$(INSTALL) "tacit-dp[engines]"
	@touch $@

$(DOCS_READY): $(DEMO_READY)
	$(INSTALL) "tacit-dp[docs]"
	@touch $@

$(BENCH_READY): $(TEST_READY)
	$(INSTALL) "tacit-dp[bench]"
	@touch $@

setup: $(TEST_READY)

setup-engines: $(ENGINES_READY)

demo: $(DEMO_READY)
	$(BIN)/tacit demo

test: $(TEST_READY)
	$(PYTEST) -n $(WORKERS) --ignore=$(RULES) -m "not slow and not full" --hypothesis-profile=fast

test-all: $(ENGINES_READY)
	$(PYTEST) -n $(WORKERS_ALL) --dist loadgroup --no-loadscope-reorder --ignore=$(RULES) -m "not slow and (full or hypothesis)"

test-slow: $(ENGINES_READY)
	$(PYTEST) -n $(WORKERS) --dist loadgroup --no-loadscope-reorder -m "slow or hypothesis" --hypothesis-profile=random

test-pythons: $(TEST_READY)
	.ci/pythons

bench: $(BENCH_READY)
	@set -e; for file in $(filter-out %/local_peers.py,$(wildcard benchmarks/[a-z]*.py)); do \
	  echo "== $$file"; $(BIN)/python "$$file"; done
	@for peer in $(PEERS); do test -x benchmarks/.venvs/$$peer/bin/python || \
	  $(BIN)/python -m benchmarks.peers.setup $$peer || echo "left out: $$peer" >&2; done
	$(BIN)/python -m benchmarks.peers speed
	$(BIN)/python -m benchmarks.peers error

docs: $(DOCS_READY)
	$(BIN)/python tools/make_docs.py

docs-serve: $(DOCS_READY)
	$(BIN)/python tools/make_docs.py --serve

check: $(CHECK_READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PYTEST) -n $(WORKERS) $(RULES)

lock:
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet uv
	echo 'editables>=0.5' | $(LOCK) - --all-extras --output-file constraints.txt
	printf '%s\n' 'editables>=0.5' 'pyparsing>=3.0.9,<3.3' | $(LOCK) - --extra test --resolution lowest-direct --output-file .ci/oldest.txt

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
