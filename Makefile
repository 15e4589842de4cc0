# make demo       train the whole engine on synthetic notes and look at the result
# make test       run every test
# make check      ruff and mypy, which only report
# make format     ruff, which rewrites
# make meddocan   train on MEDDOCAN's train part and score its dev part; CORPUS=folder says where the corpus is
# make clean      remove the environment and everything that the other targets made
#
# Every target makes the environment .venv first, where it is missing or older than setup.cfg.

VENV := .venv
PYTHON := $(VENV)/bin/python
INSTALLED := $(VENV)/installed
CORPUS ?= ../shared/corpora/meddocan
DEMO_OUTPUT ?= demo_output

# One process a core and one thread a process: numeric libraries that start threads of their own only make it slower.
test demo meddocan: export TF_CPP_MIN_LOG_LEVEL = 3
test: export OMP_NUM_THREADS = 1

.PHONY: help demo test check format meddocan clean
.DEFAULT_GOAL := help

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

demo: $(INSTALLED)
	@rm -rf $(DEMO_OUTPUT)
	@$(VENV)/bin/phistack demo --out $(DEMO_OUTPUT)

test: $(INSTALLED)
	@$(PYTHON) -m pytest -q -n 2 --dist loadfile

check: $(INSTALLED)
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m ruff format --check .
	@$(PYTHON) -m mypy

format: $(INSTALLED)
	@$(PYTHON) -m ruff check --fix .
	@$(PYTHON) -m ruff format .

meddocan: $(INSTALLED)
	@$(PYTHON) -m benchmarks.meddocan --corpus $(CORPUS) --readme

clean:
	rm -rf $(VENV) $(DEMO_OUTPUT) meddocan_output build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The first of these interpreters that runs and is Python 3.11 or newer makes the environment.
INTERPRETERS := python3.11 python3 python

$(INSTALLED): setup.cfg pyproject.toml
	@found=; for python in $(INTERPRETERS); do \
		if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then echo "phistack needs Python 3.11 or newer, and found none as: $(INTERPRETERS)" >&2; exit 1; fi; \
	echo "Making the environment $(VENV) with $$found"; $$found -m venv $(VENV)
	@echo "Installing phistack and the libraries that it needs into $(VENV): about 1 GB to download, some minutes"
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@
