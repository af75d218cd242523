# One task runner, the same on a laptop and in continuous integration.
PYTHON ?= python3
UV_VERSION := 0.13.8
VENV := .venv
BIN := $(VENV)/bin
# Every path of the environment is in .venv: nothing is installed elsewhere.
export UV_PYTHON := $(VENV)/bin/python
export UV_NO_CONFIG := 1
# A browser is the one thing that no Python package brings.
CHROMIUM := $(firstword $(foreach name,chromium chromium-browser google-chrome google-chrome-stable chrome,$(shell command -v $(name))))
# Databases of tests wait for no disk where there is room for them in memory: 4 million KiB.
MEMORY := $(shell test "$$(df -Pk /dev/shm 2>/dev/null | awk 'END {print $$4}')" -gt 4000000 2>/dev/null && echo TMPDIR=/dev/shm)
# Processes that tests start read the bytecode of the package instead of compiling it again.
# Threads of a training that wait for one another sleep: if they spun, they would take the cores of other processes.
# Three at a time on two cores: a test often waits for processes that it has started. Each has a third of the files, so
# that few fixtures are made again, until the first that is done takes over from the others.
TESTS := $(MEMORY) PYTHONDONTWRITEBYTECODE= OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest --numprocesses=3 --dist=worksteal

# The distribution of the client is in this tree: settings of uv say where, and no lock names it.
COMPILE := env -u UV_NO_CONFIG $(BIN)/uv pip compile --quiet --universal --no-header --python-version 3.11 \
	--no-emit-package scoring-model-client
NAMES := sed -n 's/^\([a-z0-9][^= ]*\)==.*/\1/p' | sort -u

.DEFAULT_GOAL := help
.PHONY: help install run demo serve retrain docs test coverage lint format types imports unit lock wheel container clean

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(VENV)/.installed: requirements.lock pyproject.toml packaging/client/pyproject.toml Makefile
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	$(BIN)/uv pip sync --quiet --require-hashes --compile-bytecode requirements.lock
	$(BIN)/uv pip install --quiet --no-deps --no-build-isolation --editable . --editable packaging/client
	touch $@

install: $(VENV)/.installed ## set up the environment in .venv

run: install ## the main job on invented records, from nothing to a scored file; THREADS=1 where others work
	THREADS=$(THREADS) $(BIN)/python pipelines/main_job.py

demo: install ## everything once on invented people: a report, then a service, a client and a ring; Ctrl-C ends it
	$(BIN)/scoring-model demo --folder runs/demo

serve: install ## the service on that job's bundle, with a client and a first request to try
	$(BIN)/python pipelines/demo_service.py

retrain: install ## a service retrained on invented records: export, train, compare, promote, activate
	$(BIN)/python pipelines/demo_retrain.py

docs: install ## the pages as a site with a search that needs no network, in build/site
	test -x $(VENV)/docs/bin/zensical || $(BIN)/python -m venv --without-pip $(VENV)/docs
	$(BIN)/uv pip install --quiet --python $(VENV)/docs/bin/python --group docs
	$(BIN)/python pipelines/site.py $(VENV)/docs/bin/zensical

test: lint imports ## everything that has to hold
	@$(MAKE) --no-print-directory --jobs=2 types unit # tests that wait leave room for the types

lint: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

imports: install
	$(BIN)/lint-imports

types: install
	$(BIN)/mypy

unit: install
ifeq ($(CHROMIUM),)
	@echo 'NOT RUN: tests of pages, which need a browser: apt-get install chromium' >&2
	$(TESTS) -m 'not browser'
	@echo 'NOT RUN: tests of pages, which need a browser: apt-get install chromium' >&2
else
	$(TESTS)
endif

coverage: install ## the tests again, with the share of lines and branches that they reach; fails below 95 %
	$(TESTS) --cov --cov-report=term

format: install ## format and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: install ## resolve the dependencies anew
	$(COMPILE) --generate-hashes --no-emit-index-url --no-emit-find-links --all-extras --group dev pyproject.toml \
		--output-file requirements.lock
	$(COMPILE) --no-annotate --constraint requirements.lock --extra serve \
		$(addprefix --no-emit-package=,numba llvmlite pyarrow) pyproject.toml | $(NAMES) > deploy/serve.txt
	$(COMPILE) --no-annotate --constraint requirements.lock --all-extras pyproject.toml | $(NAMES) > deploy/train.txt

wheel: install ## both distributions as wheels in dist, which the images install
	rm -f dist/*.whl # an older one beside the new one could not be installed
	$(BIN)/uv build --quiet --wheel --no-build-isolation --out-dir dist
	$(BIN)/uv build --quiet --wheel --no-build-isolation --out-dir dist packaging/client

container: wheel ## check deploy/, build the image `serve` with buildah, try it with BUNDLE=runs/first; as root
	sh deploy/container.sh

clean: ## remove the environment and everything that a run wrote
	rm -rf $(VENV) runs .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
