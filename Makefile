# Every target sets up what it needs: a fresh clone needs only python3 (3.11+) and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
DEMO   := $(VENV)/.ready-for-demo
DOCS   := $(VENV)/.ready-for-docs
RIVALS := $(VENV)/.ready-for-bench
LOWEST := .venv-lowest
PYTHONS := 3.11 3.12 3.13 3.14
TESTS  ?= tests
BROWSERS := chromium chromium-browser google-chrome chrome
# Tests run in one process per core: each has one thread, and compiled files are kept for all of
# them and for the commands that they start, even where the environment says otherwise.
ALONE  := SCIPY_ARRAY_API=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=
PYTEST := -m pytest -n auto --dist worksteal
# Spark is a large package, and its tests run only where Java is.
COMMA  := ,
EXTRAS := dev$(if $(shell command -v java 2>/dev/null),$(COMMA)spark)
# For another set of experiments, fewer runs, or the page in docs/: see its --help.
REPRODUCE ?= all --out reproduce-output
# Parts, and --quick for smaller problems: make bench BENCH="small growth --quick".
BENCH  ?=
# The samples stay in simulate-output/, the page goes into docs/; --quick for a few samples.
SIMULATE ?= --out simulate-output --docs docs

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-lowest test-pythons mutants browser check types format bench \
	bench-record bench-compare reproduce simulate pictures docs docs-publish dist clean

help:
	@echo "make demo    fit fair paths on two data sets, show the trade-off, write the audit reports"
	@echo "make test    run the tests that take moments"
	@echo "make test-all  run all tests: clusters, browsers, wheels and long reproductions as well"
	@echo "make test-lowest  run the tests of make test with the lowest versions pyproject.toml allows"
	@echo "make test-pythons  run them with every Python from 3.11 to 3.14 that is installed"
	@echo "make mutants  put fifty small faults into the package, and count those that the tests find"
	@echo "make check   format, lint, types, import layers, docstrings"
	@echo "make types   compare the types that checkers see with the package at runtime"
	@echo "make format  rewrite the code in the house format"
	@echo "make bench   measure against other libraries, and say what became slower; ten minutes"
	@echo "make bench-record  the same, and write the record and benchmarks/tables.md"
	@echo "make reproduce  compute every figure and claim of the paper; goes on where it stopped"
	@echo "make simulate  measure coverage, certificates, rules and monitors; goes on where it stopped"
	@echo "make pictures  take the pictures of README and site anew; needs Chromium"
	@echo "make docs    build the documentation into site/"
	@echo "make dist    build sdist and wheel into dist/, and try them in a clean environment"

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
	$(ALONE) $(BIN)/python $(PYTEST) -m "not slow" $(TESTS)

# The site has tests, too: formulas, links and search.
test-all: $(READY) $(DOCS) browser
	$(ALONE) $(BIN)/python $(PYTEST) $(TESTS)

# The lower bounds of pyproject.toml are promises, too.
test-lowest:
	test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(PYTHON) tools/lowest.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --upgrade pip
	$(LOWEST)/bin/python -m pip install --quiet --constraint $(LOWEST)/constraints.txt \
		--editable ".[dev]"
	$(ALONE) $(LOWEST)/bin/python $(PYTEST) -m "not slow" $(TESTS)

test-pythons:
	@for version in $(PYTHONS); do \
		if command -v python$$version >/dev/null; then \
			$(MAKE) test PYTHON=python$$version VENV=.venv-$$version || exit 1; \
		else echo "python$$version is not installed: skipped"; fi; \
	done

# Another sample, or more of them: make mutants MUTANTS="--seed 1 --mutants 100".
mutants: $(READY)
	$(ALONE) $(BIN)/python -m tools.mutants $(MUTANTS)

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
	$(BIN)/python -m tools.docstrings

types: $(READY)
	$(BIN)/python -m mypy.stubtest fairridge --mypy-config-file pyproject.toml \
		--allowlist tools/stubtest-allowlist.txt --concise

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# glum is measured if it can be had; nothing else needs it.
$(RIVALS): $(READY)
	-$(BIN)/python -m pip install --quiet --constraint constraints.txt "glum>=3"
	touch $(RIVALS)

bench: $(RIVALS)
	$(BIN)/python -m benchmarks $(BENCH)

# Only on an idle machine: the table is what later measurements are compared with.
bench-record: $(RIVALS)
	$(BIN)/python -m benchmarks $(BENCH) --record

# Compares the last measurement with the recorded table; fails if something became slower.
bench-compare: $(READY)
	$(BIN)/python -m benchmarks compare $(BENCH)

reproduce: $(READY)
	$(BIN)/python -m reproduction $(REPRODUCE)

simulate: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m simulations $(SIMULATE)

pictures: $(READY) browser
	$(BIN)/python -m tools.pictures

$(DOCS): $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	touch $(DOCS)

docs: $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# Adds the version of pyproject.toml to the branch gh-pages, and makes it the latest one.
docs-publish: $(DOCS)
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=. $(BIN)/mike deploy --push --update-aliases \
		$$($(BIN)/python -c "import fairridge; print(fairridge.__version__)") latest
	$(BIN)/mike set-default --push latest

dist: $(READY)
	rm -rf dist
	$(BIN)/python -m hatchling build
	FAIRRIDGE_DIST=dist $(BIN)/python -m pytest -m slow tests/test_dist.py

clean:
	rm -rf .venv .venv-* site build dist demo-output bench-output reproduce-output simulate-output
