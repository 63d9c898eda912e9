# Two commands: `make demo` and `make test`. Both set up the environment first; a second call starts at once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp
# The CPU-capable build that is taken where no torch is installed. An installed torch is never replaced.
TORCH := torch==2.13.0
OUT ?= demo-output

.PHONY: setup demo test check lint clean

setup: $(STAMP)

$(STAMP): pyproject.toml tools/setup_environment.py
	$(PYTHON) tools/setup_environment.py --venv $(VENV) --torch "$(TORCH)"
	@touch $@

demo: setup
	$(BIN)/fxscope demo --output $(OUT) --force

test: setup
	$(BIN)/python -m pytest

lint: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

check: lint test

clean:
	rm -rf $(VENV) $(OUT) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
