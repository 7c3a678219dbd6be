# Every target sets up what it needs: a fresh clone needs only python3 (3.11+) and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
DEMO   := $(VENV)/.ready-for-demo
TESTS  ?= tests
BROWSERS := chromium chromium-browser google-chrome chrome
# Spark is a large package, and its tests run only where Java is.
COMMA  := ,
EXTRAS := dev$(if $(shell command -v java 2>/dev/null),$(COMMA)spark)
# For another set of experiments, fewer runs, or the page in docs/: see its --help.
REPRODUCE ?= all --out reproduce-output
# The samples stay in simulate-output/, the page goes into docs/; --quick for a few samples.
SIMULATE ?= --out simulate-output --docs docs

.DEFAULT_GOAL := help
.PHONY: help demo test test-all browser check format bench reproduce simulate docs clean

help:
	@echo "make demo    fit fair paths on two data sets, show the trade-off, write the audit reports"
	@echo "make test    run the tests that take moments"
	@echo "make test-all  run all tests: clusters, browsers, wheels and long reproductions as well"
	@echo "make check   format, lint, types, import layers"
	@echo "make format  rewrite the code in the house format"
	@echo "make bench   measure against other libraries"
	@echo "make reproduce  compute every figure and claim of the paper; goes on where it stopped"
	@echo "make simulate  measure coverage, certificates, rules and monitors; goes on where it stopped"
	@echo "make docs    build the documentation into site/"

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[$(EXTRAS)]"
	touch $(READY)

# The demonstration needs the command line only.
$(DEMO): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[cli]"
	touch $(DEMO)

demo: $(DEMO)
	$(BIN)/fairridge demo

test: $(READY)
	SCIPY_ARRAY_API=1 $(BIN)/python -m pytest -n auto -m "not slow" $(TESTS)

test-all: $(READY) browser
	SCIPY_ARRAY_API=1 $(BIN)/python -m pytest -n auto $(TESTS)

# The audit report is tested in a real browser; without one these tests skip with the reason.
browser:
	@for name in $(BROWSERS); do command -v $$name && exit; done; \
	if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		echo "installing Chromium for the tests of the audit report"; \
		apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium; \
	else echo "no browser: install Chromium to run the tests of the audit report"; fi

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

reproduce: $(READY)
	$(BIN)/python -m reproduction $(REPRODUCE)

simulate: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m simulations $(SIMULATE)

docs: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) site build dist demo-output bench-output reproduce-output simulate-output
