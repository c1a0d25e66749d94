# Every target sets up .venv first (tools/environment.py) and needs nothing else.
# PYTHON may name any interpreter from 3.11 on; by default the first suitable one found.

SHELL  := /bin/sh
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; exit; }; \
	done; echo python3)
BIN    := .venv/bin
HTML   := _build/html/index.html
export PYTHONHASHSEED := 0
# Notebooks leave nothing in the home folder: settings and run-time files of Jupyter go to .venv.
HOME_OF_JUPYTER := $(CURDIR)/.venv/jupyter
export IPYTHONDIR := $(HOME_OF_JUPYTER)/ipython
export JUPYTER_CONFIG_DIR := $(HOME_OF_JUPYTER)/config
export JUPYTER_DATA_DIR := $(HOME_OF_JUPYTER)/data
export JUPYTER_RUNTIME_DIR := $(HOME_OF_JUPYTER)/runtime
export MPLCONFIGDIR := $(HOME_OF_JUPYTER)/matplotlib

.PHONY: help book pdf epub test lint unit coverage tampered notebooks strict lab live run bench fuzz mutants class wheel warm lock audit clean env

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /|/' | \
		while IFS='|' read -r t d; do printf '  make %-10s %s\n' "$$t" "$$d"; done

env:  ## make .venv from the lock (every other target does this first)
	@command -v $(PYTHON) >/dev/null || { echo "kernelbook: there is no command $(PYTHON); install \
	Python 3.11 or newer, or name one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) tools/environment.py

book: env  ## build the book as HTML and print its address
	@$(BIN)/python tools/build_book.py

test: env lint strict unit notebooks  ## everything CI checks: lint, strict build, unit tests, every notebook

lint: env  ## style of the code, the tests and the notebooks, and types
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

strict: env  ## the book again from nothing, every warning an error
	@$(BIN)/python tools/build_book.py --strict

unit: env  ## unit tests, first compiled, then (the jitted kernels) interpreted
	@HYPOTHESIS_PROFILE=gate $(BIN)/python -m pytest -q -n 2 --dist loadfile tests
	@HYPOTHESIS_PROFILE=gate NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -n 2 --dist loadfile -m interpreted tests

coverage: env  ## which lines the interpreted tests reach (compiled code cannot be measured)
	@HYPOTHESIS_PROFILE=gate NUMBA_DISABLE_JIT=1 $(BIN)/coverage run -m pytest -q -n 0 -m interpreted tests
	@$(BIN)/coverage report

tampered: env  ## ten thousand fits that were tampered with: the checker lets none pass (a quarter of an hour)
	@$(BIN)/python -m tests.verifier.tampered $(or $(N),10000)

notebooks: env  ## run every notebook and compare what it prints with what is stored
	@$(BIN)/python tools/check_notebooks.py

pdf: env  ## build the book as PDF (needs xelatex and latexmk) and print its address
	@$(BIN)/python tools/build_book.py --pdf

epub: env  ## build the book as EPUB and print its address
	@$(BIN)/python tools/build_book.py --epub

lab: env  ## open the chapters in JupyterLab (LABFLAGS="--no-browser --port=9999" to steer it)
	@$(BIN)/jupyter labextension disable --level=sys_prefix \
		"@jupyterlab/apputils-extension:announcements" >/dev/null 2>&1 || true
	@$(BIN)/jupyter lab --notebook-dir=. --LabApp.default_url=/lab/tree/book \
		$$(test "$$(id -u)" != 0 || echo --allow-root) $(LABFLAGS)

live: book  ## serve the book with code that runs in the page (LIVEFLAGS="--no-browser --port=9999" to steer it)
	@$(BIN)/python tools/live_book.py $(LIVEFLAGS)

run: env  ## re-execute notebooks in place: make run, or make run NB=book/part/chapter.ipynb
	@$(BIN)/python tools/run_notebooks.py $(NB)

bench: env  ## measure beside other libraries: make bench, make bench QUICK=1, make bench NAMES="gram grls_dense"
	@$(BIN)/python -m benchmarks $(if $(QUICK),--quick) $(NAMES)

fuzz: env  ## random problems beside independent oracles, on from the last seed: make fuzz MINUTES=10 NAMES="svm"
	@$(BIN)/python -m fuzz --minutes $(or $(MINUTES),5) $(NAMES)

mutants: env  ## change the code that matters and see whether tests notice: make mutants NAMES="certificates"
	@$(BIN)/python tools/mutants.py $(if $(MOST),--most $(MOST)) $(NAMES)

class: env  ## grade a generated class of a hundred, spread over all assignments; NAMES="svm primal": over these
	@$(BIN)/python tools/grade_class.py $(NAMES)

wheel: env  ## build sdist, wheel and its bill of materials (SBOM) in _build/dist
	@$(BIN)/python -m hatchling build -d _build/dist && $(BIN)/python tools/sbom.py _build/dist

audit: env  ## the lock against known vulnerabilities: make audit KERNELBOOK_ADVISORIES=all.zip
	@$(BIN)/python tools/audit.py

warm: env  ## compile everything that learners may need, in advance
	@$(BIN)/kernelbook warm

lock: env  ## write requirements.txt anew from pyproject.toml, with the hash of every file
	@$(BIN)/uv pip compile -q pyproject.toml --universal --python-version 3.11 --generate-hashes \
		--fork-strategy fewest --all-extras --no-emit-index-url --upgrade \
		--custom-compile-command "make lock" -o requirements.txt

clean:  ## remove what the targets made, except .venv
	@rm -rf _build .pytest_cache .ruff_cache .mypy_cache .hypothesis .coverage
