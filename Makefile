# Two commands do everything: `make run` and `make test`. The rest are parts of them.
# Each target sets up what it needs first; running one twice is quick and changes nothing.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
VENV := .venv
PY := $(VENV)/bin/python
TILEWRIGHT := $(VENV)/bin/tilewright
# Tests run in as many processes as there are cores, unless told otherwise: `make test JOBS=4`.
JOBS ?= auto
# One benchmark, or all of them: `make bench BENCH=interpreter`.
BENCH ?= all
TESTS ?= tests
# Pictures of all pages in both themes and two widths, in var/screenshots: `make test PICTURES=yes TESTS=tests/browser`.
export PICTURES ?=

.PHONY: help run test check drills counts bench doctor format setup setup-test clean

help: ## Say what each target does
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Set up what `run` needs: virtual environment, packages, bubblewrap
	@scripts/setup.sh run

setup-test: ## Set up what `test` needs besides: Chromium, PostgreSQL binaries, test tools
	@scripts/setup.sh test

run: setup ## Set up, then start web and CPU worker on SQLite and print the address
	@$(TILEWRIGHT) run

test: setup-test check drills ## Set up, then lint, types, contracts, the drills' gate, content and all tests
	@$(TILEWRIGHT) check content
	@$(PY) -m pytest -n $(JOBS) $(TESTS)

check: setup-test ## Lint, formatting, types and import contracts
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports --no-logo 2>/dev/null || $(VENV)/bin/lint-imports

drills: setup-test ## Put every drill through the publication gate
	@$(TILEWRIGHT) check drills --report var/gate

counts: setup-test ## Count attacks, hostile programs, mutants and correct kernels, and how they end
	@$(PY) scripts/counts.py

bench: setup-test ## Print benchmark ratios (BENCH=name for one)
	@$(PY) scripts/bench.py $(BENCH)

doctor: setup ## Explain this machine: sandbox, GPU, torch, triton, browsers, database
	@$(TILEWRIGHT) doctor

format: setup-test ## Format the code
	@$(VENV)/bin/ruff format .
	@$(VENV)/bin/ruff check --fix .

clean: ## Remove the virtual environment and caches; data under var/ stays
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache build *.egg-info
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
