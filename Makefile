# Every target makes .venv by itself when it is missing or older than what it is made from.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.made-from
TEST_WORKERS ?= 2

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export OMP_NUM_THREADS ?= 1
export OMP_WAIT_POLICY ?= PASSIVE
export TOKENIZERS_PARALLELISM := false
# Hundreds of processes begin in a run: without bytecode each compiles all that it loads.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: demo test test-long check help

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt torch
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[decoding,embedded,dev]'
	@touch $@

demo: $(STAMP) ## Watch two real models draft and rule, real calls held and released, and the ledger that proves it
	@$(BIN)/commitgate demo $(ARGS)

test: $(STAMP) ## Run the suite (11 to 13 minutes on 2 cores)
	$(BIN)/pytest -n $(TEST_WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

test-long: $(STAMP) ## Run everything, also the long cases; results go to bench/results
	COMMITGATE_TEST_LONG=1 $(BIN)/pytest -n $(TEST_WORKERS) --timeout 3600 $(ARGS)

check: $(STAMP) ## Style, types, import rules, and that the migrations equal the models
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.migrations.equality
	$(BIN)/python -m tests.lint

help: ## Say what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
