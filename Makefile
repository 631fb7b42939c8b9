# Every command makes its own environment in .venv; a bare Python 3.11 or newer is all it needs.

PYTHON ?= $(shell for name in python3.11 python3 python3.12 python3.13; do \
    $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$name && break; done)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
TORCH := $(shell sed -n '/^torch==/p' constraints.txt)
PEERS := .venv-bench
PEERS_PIP = $(PEERS)/bin/python -m pip --disable-pip-version-check install --quiet -c constraints.txt
JOEYNMT_NEEDS := importlib-metadata packaging pandas plotly protobuf sacremoses subword-nmt tensorboard
SOURCES := regard tests benchmarks website
unexport PYTHONDONTWRITEBYTECODE # where it is set, every process that a test starts compiles all modules anew
export OMP_NUM_THREADS ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)

.DEFAULT_GOAL := help
.PHONY: help install demo test test-slow check bench docs reproduce clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(READY) ## the environment in .venv, with everything pinned in constraints.txt

$(READY): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Regard needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) (once; torch is large) ..."
	@$(PIP) $(TORCH) -c constraints.txt
	@$(PIP) --no-build-isolation --editable '.[dev,docs,plot,serve]' -c constraints.txt
	@touch $@

demo: $(READY) ## trains a small translator (two minutes on two idle cores), translates, and writes a page with its attention
	@$(BIN)/regard demo

test: check ## the quick tier: check with the house rules, then every other test that is not slow
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --ignore=tests/test_house.py --numprocesses=2 --dist=worksteal --quiet --durations=50

test-slow: $(READY) ## kill loops, load, trained figures, repeated configs and products of parts
	$(BIN)/python -m pytest -m slow

check: $(READY) ## format, lint, types, floors and the house rules
	@$(BIN)/ruff format --check --quiet $(SOURCES) || { echo "unformatted: $(BIN)/ruff format $(SOURCES)"; exit 1; }
	@$(BIN)/ruff check --quiet $(SOURCES)
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m pytest --quiet tests/test_house.py tests/test_words.py

bench: $(PEERS)/.ready ## speed beside peers: hours; writes docs/results/speed.md. BENCH="--quick", "--only decoding" …
	$(PEERS)/bin/python benchmarks/all.py $(BENCH)

$(PEERS)/.ready: pyproject.toml constraints.txt benchmarks/constraints.txt
	@test -n "$(PYTHON)" || { echo "Regard needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	@echo "Installing into $(PEERS), with the peers (once; torch is large) ..."
	@$(PEERS_PIP) $(TORCH)
	@$(PEERS_PIP) --no-build-isolation --editable '.[plot,serve]'
	@$(PEERS_PIP) transformers ctranslate2 -c benchmarks/constraints.txt
	@$(PEERS_PIP) --no-deps joeynmt -c benchmarks/constraints.txt
	@$(PEERS_PIP) $(JOEYNMT_NEEDS) -c benchmarks/constraints.txt
	@touch $@

docs: $(READY) ## settings and catalogue out of the code, and the site in build/site
	@$(BIN)/python -m regard.reports.catalogue .
	@$(BIN)/python website/build.py

reproduce: $(READY) ## trains and scores every file in configs/ (hours; REGARD_DATA names the folder of the data)
	@set -e; for config in configs/*/*.yaml; do \
	    run="runs/$$(basename "$$config" .yaml)"; \
	    test -d "$$run" || $(BIN)/regard train "$$config" "run=$$run"; \
	    $(BIN)/regard evaluate "$$run"; \
	done

clean: ## removes the environment and what tools left behind; runs/ stays
	rm -rf $(VENV) $(PEERS) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
