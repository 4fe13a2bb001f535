# Everything a developer or a new user runs.  `make demo` and `make test` need Python 3.11+ with pip,
# and make; all else is installed below this folder, in .tools and .venv.

PYTHON ?= python3
UV := .tools/bin/uv
VENV := .venv
BIN := $(VENV)/bin
export UV_PYTHON_DOWNLOADS := never
# Tests start many processes; each would compile everything anew.
export UV_COMPILE_BYTECODE := 1
unexport PYTHONDONTWRITEBYTECODE

DEMO_ARGS ?=
BENCH_ARGS ?=
# Of soak-kb --store, --kills and --seed; of soak-hostile --minutes and --seed.
SOAK_ARGS ?=
# XQuAD, CMRC 2018 and sql-eval; bench/kb.py and bench/db.py say where to get them.
BENCH_DATA ?= ../shared/data
PYTEST_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo test fuzz check format lock bench bench-kb bench-db soak-kb soak-hostile e2e docs clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(VENV)/test.stamp ## Install what tests and checks need, below this folder

demo: $(VENV)/demo.stamp ## Ask a real model a question that needs the web, and show every step
	$(BIN)/refdesk demo $(DEMO_ARGS)

test: $(VENV)/test.stamp tests/ai_sdk/node_modules ## Set everything up and run the tests
	$(BIN)/pytest $(PYTEST_ARGS)

fuzz: $(VENV)/test.stamp ## Explore with the property tests: other examples each time, the seed printed
	seed=$${SEED:-$$(date +%s)}; echo "SEED=$$seed make fuzz repeats this run"; \
	REFDESK_EXAMPLES=explore $(BIN)/pytest -m hypothesis --hypothesis-seed=$$seed $(PYTEST_ARGS)

check: $(VENV)/test.stamp ## Lint, types, layers, generated docs, and the docs' own examples
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/docs_tables.py --check

format: $(VENV)/test.stamp ## Format the code and regenerate the docs' tables
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python tools/docs_tables.py

lock: $(UV) ## Compile the locks anew: names, versions and hashes, no addresses
	for name in demo test; do \
	  $(UV) pip compile --quiet --universal --generate-hashes --python-version 3.11 \
	    --no-emit-package refdesk --no-emit-index-url --no-annotate \
	    --custom-compile-command 'make lock' requirements/$$name.in -o requirements/$$name.txt; \
	done

bench: $(VENV)/test.stamp ## Measure the gateway against nginx and LiteLLM
	bash bench/run.sh

bench-kb: $(VENV)/test.stamp ## Measure knowledge: nDCG@10, query and ingest rates, memory
	$(BIN)/python bench/kb.py --data $(BENCH_DATA) $(BENCH_ARGS)

bench-db: $(VENV)/test.stamp ## Measure database search on sql-eval and a million rows
	REFDESK_BENCH_DATA=$(BENCH_DATA) $(BIN)/python bench/db.py $(BENCH_ARGS)

soak-kb: $(VENV)/test.stamp ## Kill processes that take documents in, fifty times, and look what is left
	$(BIN)/python tests/soak/kb.py $(SOAK_ARGS)

soak-hostile: $(VENV)/test.stamp ## Attack a server for ten minutes while a client goes on using it
	$(BIN)/python tests/soak/hostile.py $(SOAK_ARGS)

e2e: $(VENV)/test.stamp ## Run thirteen real clients against the gateway, on loopback
	bash tests/e2e/run.sh

clean: ## Remove what the other targets installed and built
	rm -rf .tools $(VENV) .cache dist build bench/build

# uv does the rest.  `--target` also works where the system's pip may not touch the system.
$(UV):
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --root-user-action ignore \
	  --target .tools uv

$(BIN)/python: $(UV)
	$(UV) venv --quiet --allow-existing --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" $(VENV)

$(VENV)/demo.stamp: $(BIN)/python requirements/demo.txt pyproject.toml
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements/demo.txt
	$(UV) pip install --quiet --python $(BIN)/python --no-deps -e .
	touch $@

# Without node the tests that the AI SDK judges are skipped, and say so.
tests/ai_sdk/node_modules: tests/ai_sdk/package-lock.json
	if command -v npm >/dev/null; then npm ci --silent --prefix tests/ai_sdk && touch $@; fi

$(VENV)/test.stamp: $(BIN)/python requirements/test.txt pyproject.toml
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements/test.txt
	$(UV) pip install --quiet --python $(BIN)/python --no-deps -e .
	touch $@
