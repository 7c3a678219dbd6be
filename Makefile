# Every target sets up what it needs: a fresh clone needs only python3 (3.11+) and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
TESTS  ?= tests

.DEFAULT_GOAL := help
.PHONY: help demo test check format bench docs clean

help:
	@echo "make demo    fit a fair path on generated data and save its plot"
	@echo "make test    run the tests"
	@echo "make check   format, lint, types, import layers"
	@echo "make format  rewrite the code in the house format"
	@echo "make bench   measure against other libraries"
	@echo "make docs    build the documentation into site/"

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $(READY)

demo: $(READY)
	$(BIN)/python examples/demo.py

test: $(READY)
	SCIPY_ARRAY_API=1 $(BIN)/python -m pytest -n auto $(TESTS)

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/python -m benchmarks

docs: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) site build dist demo-output bench-output
