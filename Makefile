# make run    installs what is needed, then simulates the shipped cluster of eight H100s
# make test   runs the tests that take no more than seconds, make test-slow the others; make lint checks style and
#             types; make clean forgets it all
# make notebooks runs the notebooks and stores what they show; make tables the sweeps that some of them read
# make docs   builds the site of the documentation into site/; its links are checked
# make fast   puts a build with compiled hot modules into .venv, a copy of the sources as they are now (a C compiler
#             is needed); the next make run, test or lint goes back to the sources themselves
# Only python3 (3.11 or newer, with venv) and make are needed; packages come from PyPI.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable

.PHONY: run test test-slow lint notebooks tables docs fast clean

run: $(VENV)/run.stamp
	$(BIN)/sim run scenarios/agg8.toml

test: $(VENV)/test.stamp
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-slow: $(VENV)/test.stamp
	$(BIN)/python -m pytest -n 2 -m slow

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

notebooks: $(VENV)/test.stamp
	$(BIN)/python -m tests.notebooks

tables: $(VENV)/run.stamp
	$(BIN)/python notebooks/shootout_tables.py
	$(BIN)/python notebooks/regions.py
	$(BIN)/python notebooks/tables.py

docs: export NO_MKDOCS_2_WARNING = 1
docs: $(VENV)/docs.stamp
	$(BIN)/python -m mkdocs build --strict --quiet

fast: | $(BIN)/python
	rm -f $(VENV)/*.stamp
	HATCH_BUILD_HOOKS_ENABLE=true $(BIN)/python -m pip install --quiet --disable-pip-version-check .
	$(BIN)/sim --version

# A stamp says that a set of packages is installed; one set holds the other's packages too.
$(VENV)/run.stamp: pyproject.toml | $(BIN)/python
	$(INSTALL) .
	touch $@

$(VENV)/test.stamp: pyproject.toml | $(BIN)/python
	$(INSTALL) ".[test]"
	touch $(VENV)/run.stamp $@

$(VENV)/dev.stamp: pyproject.toml | $(BIN)/python
	$(INSTALL) ".[dev]"
	touch $(VENV)/run.stamp $(VENV)/test.stamp $@

$(VENV)/docs.stamp: pyproject.toml | $(BIN)/python
	$(INSTALL) ".[docs]"
	touch $(VENV)/run.stamp $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and "Python 3.11 or newer is needed, $(PYTHON) is %d.%d" % v[:2])'
	$(PYTHON) -m venv $(VENV)

clean:
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
