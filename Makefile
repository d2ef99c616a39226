# Every target makes .venv when it is missing, installs what it needs into it, and runs.
#   make test ARGS="-k kernels"      options for pytest
#   make demo PYTHON=python3.13      the Python that .venv is made with

PYTHON ?= python3
VENV ?= .venv
ARGS ?=
BIN := $(VENV)/bin
CODE := $(wildcard src tests benchmarks examples docs)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: demo test test-all lint docs bench studies clean help

demo: $(VENV)/.demo ## map malaria in a simulated country, from files to a report, into demo-output/
	$(BIN)/bochner demo -o demo-output

# one test process per core, each with one thread: small matrices gain nothing from more
PYTEST := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

test: $(VENV)/.test ## run the tests, but for those marked slow
	$(PYTEST) -m "not slow" $(ARGS)

test-all: $(VENV)/.test ## run every test, the slow ones included
	$(PYTEST) $(ARGS)

lint: $(VENV)/.test ## check style and types
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy

docs: $(VENV)/.docs ## build the documentation into docs/_build/html; a warning is an error
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/.test $(VENV)/.peers ## speed against the limit and peers, one table and plots into out/bench; ARGS=--quick: five minutes
	$(BIN)/python benchmarks/speed.py $(ARGS)

studies: $(VENV)/.test ## run every script in benchmarks/: scores, coverage, memory; hours
	@set -e; for script in $(sort $(wildcard benchmarks/*.py)); do echo "== $$script"; $(BIN)/python $$script $(ARGS); done

clean: ## remove what the other targets made, except .venv
	rm -rf build dist demo-output out docs/_build docs/auto_gallery docs/generated docs/sg_execution_times.rst
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks .coverage htmlcov
	find $(CODE) -type d -name __pycache__ -prune -exec rm -rf {} +

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# One stamp per extra: installed again when the requirements or the version change.
$(VENV)/.%: pyproject.toml src/bochner/_version.py | $(BIN)/python
	$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check -e '.[$*]'
	@touch $@

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) was not found. Needed is Python 3.11 or newer: install it, or name it, as in: make PYTHON=python3.13"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is $$($(PYTHON) -V 2>&1). Needed is Python 3.11 or newer: install it, or name it, as in: make PYTHON=python3.13"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) cannot make a virtual environment: its modules venv and ensurepip are missing. Install them (Debian, Ubuntu: apt install python3-venv)."; exit 1; }
	$(PYTHON) -m venv $(VENV)
