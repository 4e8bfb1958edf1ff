# Every target works on a fresh clone: the environment in .venv is made as needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: paper test test-thorough test-benchmarks test-cluster test-browser screenshots test-versions package docs lint bench regret search samplers leaderboard clean help

help:
	@echo "make paper   reproduce the paper's experiments into results/paper"
	@echo "make test    run the tests, in about four minutes"
	@echo "make test-thorough  the tests that make test leaves out because they take long"
	@echo "make test-benchmarks  the tests of the benchmarks"
	@echo "make test-cluster  experiments on a Dask cluster of processes of this machine"
	@echo "make test-browser  the lab page in Debian's chromium (installed if it is missing)"
	@echo "make screenshots   the same, and keep pictures of every view in docs/lab"
	@echo "make test-versions  oldest and newest dependencies, every Python found, suites of other packages"
	@echo "make package  build wheel and source distribution, check them, install the wheel alone"
	@echo "make docs    build the site into docs/_build/html: pages, tutorials that run, API"
	@echo "make lint    ruff, mypy and codespell"
	@echo "make bench   measure speed and rivals into benchmarks/results"
	@echo "make regret  play against other packages for MINUTES (60), going on where it stopped"
	@echo "make search  search real tables and boxes against other packages for MINUTES (60), likewise"
	@echo "make samplers  tune against Optuna's own samplers for MINUTES (60), likewise"
	@echo "make leaderboard  play all policies of the catalogue for MINUTES (60), likewise"
	@echo "make clean   remove .venv and results"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "kernelbandits needs Python 3.11 or newer, got $$($(PYTHON) --version 2>&1); try make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "a virtual environment needs Python's venv module (on Debian: apt install python3-venv)"; exit 1; }

# One stamp for each set of extras, so that nothing is installed twice.
$(VENV)/%.installed: pyproject.toml | $(BIN)/python
	@echo "installing kernelbandits[$*] into $(VENV)"
	@$(PIP) -e ".[$*]"
	@touch $@

paper: $(VENV)/experiments.installed
	@$(BIN)/kernelbandits paper

test: $(VENV)/test.installed
	@$(BIN)/python -m pytest -n 2 -q -m "not thorough"

# Long statistics, many killed processes, large grids: what guards a promise is in `make test` too.
test-thorough: $(VENV)/test.installed
	@$(BIN)/python -m pytest -n 2 -q -m thorough

# Benchmarks are code too; their tests take long and concern whoever measures.
test-benchmarks: $(VENV)/test.installed
	@$(BIN)/python -m pytest -n 2 -q benchmarks/tests

test-cluster: $(VENV)/cluster-test.installed
	@$(BIN)/python -m pytest -q tests_cluster

# A missing browser is installed, or a failure: no test of the page is ever skipped.
test-browser: $(VENV)/browser.installed
	@test -x /usr/bin/chromium || { apt-get update -qq && apt-get install -y -qq chromium; }
	@$(BIN)/python -m pytest -q tests_browser

screenshots: export KERNELBANDITS_SCREENSHOTS = docs/lab
screenshots: test-browser

test-versions:
	@.ci/test-versions

package: $(VENV)/package.installed
	@.ci/check-package $(BIN)/python

# A warning of the site is an error: a link to nothing, a page in no menu, a cell that fails.
docs: $(VENV)/docs.installed
	@$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "the first page of the site is docs/_build/html/index.html"

lint: $(VENV)/test.installed $(VENV)/lint.installed
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/codespell

# BoTorch needs its torch first; make bench BOTORCH=1 brings both.
bench: $(VENV)/bench.installed
	@if [ -n "$(BOTORCH)" ]; then $(PIP) torch==2.13.0 && $(PIP) botorch; fi
	@$(BIN)/python -m benchmarks speed
	@$(BIN)/python -m benchmarks rivals

# Optuna's GPSampler needs torch too; without it the two are left out and the table says so.
regret: $(VENV)/rivals.installed
	@if [ -n "$(BOTORCH)" ]; then $(PIP) torch==2.13.0 && $(PIP) botorch; fi
	@$(BIN)/python -m benchmarks regret --minutes $(or $(MINUTES),60)

# BoTorch and BayBE need torch, which comes first; make search BOTORCH=1 brings all three.
search: $(VENV)/rivals.installed
	@if [ -n "$(BOTORCH)" ]; then $(PIP) torch==2.13.0 && $(PIP) botorch baybe; fi
	@$(BIN)/python -m benchmarks fetch-tables || echo "tables that could not be fetched are left out"
	@$(BIN)/python -m benchmarks search --minutes $(or $(MINUTES),60)

# GPSampler needs torch.
samplers: $(VENV)/rivals.installed
	@$(PIP) torch==2.13.0
	@$(BIN)/python -m benchmarks samplers --minutes $(or $(MINUTES),60)

leaderboard: $(VENV)/bench.installed
	@$(BIN)/python -m benchmarks leaderboard --minutes $(or $(MINUTES),60)

clean:
	rm -rf $(VENV) $(VENV)-versions results
