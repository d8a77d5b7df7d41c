# Every target sets up what it needs.  A Python of 3.11 or newer, pip and make are enough:
#     make demo                     publish statistics of the bundled table
#     make test                     the fast tests
#     make test PYTHON=python3.13   with another interpreter (then: make clean first)

NEW_ENOUGH := -c 'import sys; sys.exit(sys.version_info < (3, 11))'
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
  $$name $(NEW_ENOUGH) 2>/dev/null && { echo $$name; break; }; done)
VENV ?= .venv
WORKERS ?= 2
PEERS ?= opendp diffprivlib pydp

BIN := $(VENV)/bin
READY := $(VENV)/.ready
ENGINES_READY := $(VENV)/.ready-engines
BENCH_READY := $(VENV)/.ready-bench
PYTEST := $(BIN)/python -m pytest

export MPLBACKEND := Agg
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help setup setup-engines demo test test-slow bench docs check clean

help:
	@echo "make setup      create $(VENV) with Tacit and all that its tests need"
	@echo "make setup-engines  the clients of other engines too (PySpark is 400 MB), for their tests"
	@echo "make demo       publish statistics of the bundled table"
	@echo "make test       the fast tests, the examples of the docs among them"
	@echo "make test-slow  the statistical tests that take minutes"
	@echo "make bench      the benchmarks, each against a peer in the same run"
	@echo "make docs       run every example of the README and the docs"
	@echo "make check      lint, format, types, rules of the house"
	@echo "make clean      remove $(VENV) and the caches"

setup: $(READY)

# A Python without ensurepip (some Linux distributions split it off) still makes a bare
# environment, which the pip outside then fills.
$(READY): pyproject.toml
	@test -n "$(PYTHON)" && $(PYTHON) $(NEW_ENOUGH) || \
	  { echo "Tacit needs Python 3.11 or newer; name one so: make setup PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || \
	  { rm -rf $(VENV) && $(PYTHON) -m venv --without-pip $(VENV) && \
	    $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; } || \
	  { rm -rf $(VENV); echo "cannot make $(VENV); on Debian or Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --prefer-binary --editable ".[all,test,check]"
	@touch $@

setup-engines: $(ENGINES_READY)

$(ENGINES_READY): $(READY)
	$(BIN)/python -m pip install --quiet --prefer-binary --editable ".[postgres,spark]"
	@touch $@

$(BENCH_READY): $(READY)
	$(BIN)/python -m pip install --quiet --prefer-binary --editable ".[bench]"
	@touch $@

demo: $(READY)
	$(BIN)/tacit demo

test: $(READY)
	$(PYTEST) -n $(WORKERS)

test-slow: $(READY)
	$(PYTEST) -m slow -n $(WORKERS)

bench: $(BENCH_READY)
	@set -e; for file in $(filter-out %/local_peers.py,$(wildcard benchmarks/[a-z]*.py)); do \
	  echo "== $$file"; $(BIN)/python "$$file"; done
	@for peer in $(PEERS); do test -x benchmarks/.venvs/$$peer/bin/python || \
	  $(BIN)/python -m benchmarks.peers.setup $$peer || echo "left out: $$peer" >&2; done
	$(BIN)/python -m benchmarks.peers speed
	$(BIN)/python -m benchmarks.peers error

docs: $(READY)
	$(PYTEST) tests/docs

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PYTEST) tests/house

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
