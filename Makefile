# Two commands: `make demo` and `make test`. Both set up the environment first; a second call starts at once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SETUP := $(PYTHON) tools/setup_environment.py --venv $(VENV) --torch
STAMP := $(VENV)/.stamp
TEST_STAMP := $(VENV)/.stamp-test
# The CPU-capable build that is taken where no torch is installed. An installed torch is never replaced.
TORCH := torch==2.13.0
OUT ?= demo-output
# Each worker imports torch: more of them than this cost memory and save no time. TESTS='tests/fusion -k cost' runs some.
WORKERS ?= auto
TESTS ?=
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 8 --dist loadfile
NPM := npm --silent --prefix tests/js

.PHONY: setup demo test test-all check lint clean

setup: $(TEST_STAMP)

$(STAMP): pyproject.toml tools/setup_environment.py
	$(SETUP) "$(TORCH)"
	@touch $@

$(TEST_STAMP): $(STAMP)
	$(SETUP) "$(TORCH)" --extras test
	@touch $@

demo: $(STAMP)
	$(BIN)/fxscope demo --output $(OUT) --force

test: $(TEST_STAMP)
	$(PYTEST) -m "not slow" $(TESTS)

test-all: $(TEST_STAMP)
	$(PYTEST) $(TESTS)

lint: $(TEST_STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	@if command -v npm >/dev/null; then $(NPM) install --no-audit --no-fund --no-package-lock && $(NPM) run lint && $(NPM) test; \
	else echo "no npm: the page's scripts are not checked"; fi

check: lint test-all

clean:
	rm -rf $(VENV) $(OUT) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
