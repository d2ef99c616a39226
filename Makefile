# Every target makes .venv when it is missing, installs what it needs into it, and runs.
#   make test ARGS="-k kernels"      options for pytest
#   make demo PYTHON=python3.13      the Python that .venv is made with

PYTHON ?= python3
VENV ?= .venv
ARGS ?=
BIN := $(VENV)/bin
CODE := $(wildcard src tests benchmarks examples docs)
# many of the tests start processes: without bytecode each would compile what it imports, for seconds
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: demo test test-all style lint docs bench studies capabilities calibration coverage mutants oldest fuzz faults clean help

demo: $(VENV)/.demo ## map malaria in a simulated country, from files to a report, into demo-output/
	$(BIN)/bochner demo -o demo-output

# one test process per core, each with one thread: small matrices gain nothing from more
PYTEST := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

test: $(VENV)/.test ## run the tests, but for those marked slow, and a sixth of the cases of tests of many cases
	$(PYTEST) -m "not slow" $(ARGS)

test-all: $(VENV)/.test ## run every test and every case
	$(PYTEST) $(ARGS)

style: $(VENV)/.test ## check style
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)

lint: style ## check style and types
	$(BIN)/mypy

docs: $(VENV)/.docs ## build the documentation into docs/_build/html; a warning is an error
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/.test $(VENV)/.peers ## speed beside bare products and transforms, peers, and seconds wanted: one table and a picture into out/bench; ARGS=--quick: five minutes
	$(BIN)/python benchmarks/speed.py $(ARGS)

studies: $(VENV)/.test ## run every script in benchmarks/: scores, coverage, memory; hours
	@set -e; for script in $(filter-out $(addprefix benchmarks/,calibration_page.py capabilities.py mutants.py oldest.py panel_sets.py),$(sort $(wildcard benchmarks/*.py))); do echo "== $$script"; $(BIN)/python $$script $(ARGS); done

capabilities: $(VENV)/.test ## one short check of each capability, ten minutes; ARGS="--record base.json", then ARGS="--compare base.json": what was lost
	$(BIN)/python benchmarks/capabilities.py $(ARGS)

# one thread: the matrices are small, and results do not wait for each other
calibration: $(VENV)/.test ## are the posteriors right? every family x scheme x size into docs/calibration.md; hours, goes on where it stopped; ARGS=--quick: minutes
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python benchmarks/calibration.py $(ARGS)

ROOMS := kernels frequencies features moments solvers posterior families neighbours inference
TESTS_OF_ROOMS := $(addprefix tests/,laws kernels frequencies features moments solvers posterior neighbours inference properties agreement estimators sources)
comma := ,
empty :=
COVERED := $(subst $(empty) ,$(comma),$(addprefix */bochner/,$(addsuffix /*,$(ROOMS))))
# compiled loops are not traced: Numba tells the lines that it compiles, so nothing compiled before is used
MEASURED := COVERAGE_FILE=out/coverage/data OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 NUMBA_JIT_COVERAGE=1 NUMBA_CACHE_DIR=$(CURDIR)/out/coverage/numba
COV := --cov=bochner --cov-context=test --cov-report=
# device_*.py needs a device, and is not counted where there is none
ELSEWHERE := $(if $(shell command -v nvidia-smi),,--omit='*/device_*.py')

coverage: $(VENV)/.test ## lines of the mathematical rooms that tests reach, room by room: at least 95 % of each
	rm -rf out/coverage/numba && mkdir -p out/coverage
	$(MEASURED) $(BIN)/python -m pytest -n auto $(COV) --junitxml=out/coverage/tests.xml $(TESTS_OF_ROOMS) $(ARGS)
	$(MEASURED) $(BIN)/python -m coverage report --include='$(COVERED)' $(ELSEWHERE) --skip-covered --show-missing
	@short=0; for room in $(ROOMS); do printf '%-12s' $$room; \
	$(MEASURED) $(BIN)/python -m coverage report --include="*/bochner/$$room/*" $(ELSEWHERE) --format=total --fail-under=95 || short=1; done; exit $$short

mutants: $(VENV)/.test ## would the tests notice? 200 faults, one at a time (after make coverage: faster); ARGS="--n 40 --seed 1"
	$(BIN)/python benchmarks/mutants.py $(ARGS)

oldest: $(VENV)/.test ## run the tests with the oldest dependencies that are allowed, in .venv-oldest
	mkdir -p out && $(BIN)/python benchmarks/oldest.py > out/oldest.txt
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check --prefer-binary -c out/oldest.txt -e '.[test]'
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-oldest/bin/python -m pytest -n auto --dist worksteal $(ARGS)

fuzz: $(VENV)/.test ## 20,000 odd inputs to every door, each within limits of time and memory, as a table; ARGS="--cases 3000 --seed 1"
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz $(ARGS)

faults: $(VENV)/.test ## signals, full disks, closed folders and the like in every command, as a table; ARGS="--moments 3"
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults $(ARGS)

clean: ## remove what the other targets made, except .venv
	rm -rf build dist demo-output out docs/_build docs/auto_gallery docs/generated docs/sg_execution_times.rst
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks .coverage htmlcov
	find $(CODE) -type d -name __pycache__ -prune -exec rm -rf {} +

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# One stamp per extra: installed again when the requirements or the version change. What is imported is compiled then.
$(VENV)/.%: pyproject.toml src/bochner/_version.py | $(BIN)/python
	$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --no-compile -e '.[$*]'
	@touch $@

# the pip that comes with Python 3.11 takes twice as long as today's; without a network it has to do
$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) was not found. Needed is Python 3.11 or newer: install it, or name it, as in: make PYTHON=python3.13"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is $$($(PYTHON) -V 2>&1). Needed is Python 3.11 or newer: install it, or name it, as in: make PYTHON=python3.13"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) cannot make a virtual environment: its modules venv and ensurepip are missing. Install them (Debian, Ubuntu: apt install python3-venv)."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	-@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --no-compile --upgrade pip
