# `make demo` and `make test` each work as the only command on a fresh machine with Python 3.11+.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
SHARED := $(wildcard ../shared/data)

# Real data is used where it is present and never required.
export DCRA_DATA ?= $(abspath $(SHARED))

# What the compiled loops are made of: an edit there installs, and so builds, again.
NATIVE := CMakeLists.txt $(wildcard native/*.cpp native/*.hpp)

.PHONY: demo test lint format clean

demo: $(VENV)/.installed
	$(BIN)/dcra demo

test: $(VENV)/.test
	$(BIN)/python -m pytest -n 2

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.installed: pyproject.toml $(NATIVE) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.test: pyproject.toml $(NATIVE) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	@touch $@ $(VENV)/.installed

$(VENV)/.lint: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[lint]'
	@touch $@
