# People and CI use the same targets. `make help` lists them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
LISTEN ?= 127.0.0.1:$(if $(UPSTREAM),9192,9092)
STORE  ?= sqlite:///.run/$(if $(UPSTREAM),gateway,kconf).db
SHELL  := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help install run check format test conformance conformance-full faults bench docs jdk browser ready clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 18

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kconf needs Python 3.11 or newer; this is %d.%d. Name another one: make PYTHON=python3.12" % sys.version_info[:2])'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml src/kconf/version.py | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[console]'
	@touch $@

$(VENV)/.tools: pyproject.toml src/kconf/version.py | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.core

$(VENV)/.all: pyproject.toml src/kconf/version.py | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[zookeeper,spark,tls,oauth,msk,console,dev]'
	@touch $@ $(VENV)/.core $(VENV)/.tools

install: $(VENV)/.all ## install the package with all extras into .venv, prepare Spark
	-@if command -v java >/dev/null; then $(BIN)/kconf pipeline prepare --s3; fi

$(VENV)/.zookeeper: pyproject.toml src/kconf/version.py | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[zookeeper,console]'
	@touch $@ $(VENV)/.core

$(VENV)/.spark: pyproject.toml src/kconf/version.py | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[zookeeper,spark,console]'
	@touch $@ $(VENV)/.core $(VENV)/.zookeeper

# Spark is installed if there is a JDK; without one the demo skips its last step.
JDK := $(if $(filter run,$(MAKECMDGOALS)),$(shell $(PYTHON) -m lab.java > /dev/null 2>&1 && echo found))
ifdef UPSTREAM
RUNS_ON := $(VENV)/.core
else ifeq ($(STORE),zookeeper)
RUNS_ON := jdk $(VENV)/.spark
else
RUNS_ON := $(if $(JDK),$(VENV)/.spark,$(if $(filter zookeeper:%,$(STORE)),$(VENV)/.zookeeper,$(VENV)/.core))
endif

run: $(RUNS_ON) ## run a demo (STORE=zookeeper) or a gateway (UPSTREAM=HOST:PORT)
ifdef UPSTREAM
	@mkdir -p .run
	@$(BIN)/kconf serve --upstream $(UPSTREAM) $(if $(CONTROLLERS),--controllers $(CONTROLLERS)) --listen $(LISTEN) --store $(STORE)
else
	@$(BIN)/python -m examples.demo --listen $(LISTEN) --store $(STORE)
endif

check: $(VENV)/.tools ## style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.tools ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Whole files, in the order in which tests/support/workers.py puts them. Tests often wait for servers and time limits, so
# a third worker keeps two processors busy. The large matrices start several Kafkas per worker, and have two.
DIST    := --dist loadfile --no-loadscope-reorder
WORKERS := -n 3 $(DIST)
FEWER   := -n 2 $(DIST)

jdk:
	@$(PYTHON) -m lab.java

browser:
	@$(PYTHON) -m lab.browser

# These start Spark often: a class archive makes each start faster.
ready: jdk $(VENV)/.tools
	-@$(BIN)/kconf pipeline prepare --s3

# Each test runs in exactly one of these four targets: tests/support/targets.py.
SMOKE := -m 'not full and not faults'

test: ready browser ## test every capability, without a real Kafka
	$(BIN)/python -m pytest $(WORKERS) $(SMOKE) --ignore=tests/conformance $(ARGS)

conformance: ready ## compare kconf with the real Kafka
	$(BIN)/python -m lab.jars
	$(BIN)/python -m pytest $(WORKERS) $(SMOKE) tests/conformance $(ARGS)

conformance-full: ready browser ## the large matrices: every client, listener, release, browser
	$(BIN)/python -m lab.jars
	$(BIN)/python -m pytest $(FEWER) -m full $(ARGS)

faults: ready ## crashes, lost connections, full disks, long fuzzing
	$(BIN)/python -m lab.jars
	$(BIN)/python -m pytest $(FEWER) -m faults $(ARGS)

bench: jdk $(VENV)/.tools ## compare the speed of kconf and the real Kafka
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python -m bench $(ARGS)

docs: $(VENV)/.tools ## build the documentation as a site, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

clean: ## remove what was built here, but not the lab's jars and .run
	rm -rf $(VENV) dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
