# make demo       train the whole engine on synthetic notes and look at the result
# make test       run every test
# make check      ruff, mypy, codespell and the order of the imports, which only report
# make coverage   run every test and list the lines that none of them ran; fewer than 95 % run is an error
# make format     let ruff rewrite the code
# make meddocan   train on MEDDOCAN's train part and score its dev part; CORPUS=folder says where the corpus is
# make english    the same on synthetic notes and on presidio-synth-v2; CORPORA=folder says where the latter is
# make results    write the tables of README.md and docs/results.md from the measurements of these two
# make pictures   write a picture of each HTML page into docs/pictures, with Chromium
# make docs       build the manual into build/manual, with its notebooks; a warning is an error
# make wheelhouse wheels of phistack and all that it needs, to install without a network; EXTRAS=parquet,review
# make sbom       write sbom.json, a bill of materials (CycloneDX) of what the wheelhouse installs
# make clean      remove the environment and everything that the other targets made
#
# Every target first makes the environment .venv, if it is missing or older than setup.cfg.

VENV := .venv
PYTHON := $(VENV)/bin/python
INSTALLED := $(VENV)/installed
# The packages laid out as installed, `phistack` with its folders in it, for tools that do not ask Python for them.
TREE := $(VENV)/tree
CORPORA ?= ../shared/corpora
CORPUS ?= $(CORPORA)/meddocan
DEMO_OUTPUT ?= demo_output
EXTRAS ?= parquet

# The environment is installed without bytecode. With this variable, which container images often set, no bytecode is
# written either, and each process would compile all that it imports (TensorFlow: 8 seconds).
unexport PYTHONDONTWRITEBYTECODE

# One process per core and one thread per process: numeric libraries that start their own threads only slow this down.
test demo meddocan english: export TF_CPP_MIN_LOG_LEVEL = 3
test meddocan english: export OMP_NUM_THREADS = 1

# Some tests wait for other processes, so one process more than cores keeps both cores of a small machine busy.
PARALLEL := -n 3 --dist loadfile --no-loadscope-reorder

.PHONY: help demo test coverage check format meddocan english results pictures docs wheelhouse sbom clean
.DEFAULT_GOAL := help

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

demo: $(INSTALLED)
	@rm -rf $(DEMO_OUTPUT)
	@$(VENV)/bin/phistack demo --out $(DEMO_OUTPUT)

test: $(INSTALLED)
	@$(PYTHON) -m pytest -q $(PARALLEL) $(MEASURE)

coverage:
	@$(MAKE) --no-print-directory test MEASURE=--cov

check: $(INSTALLED)
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m ruff format --check .
	@$(PYTHON) -m mypy
	@$(PYTHON) -m codespell_lib
	@PYTHONPATH=$(TREE) $(VENV)/bin/lint-imports --no-cache

format: $(INSTALLED)
	@$(PYTHON) -m ruff check --fix .
	@$(PYTHON) -m ruff format .

meddocan: $(INSTALLED)
	@$(PYTHON) -m benchmarks.meddocan --corpus $(CORPUS)

english: $(INSTALLED)
	@$(PYTHON) -m benchmarks.english --corpora $(CORPORA)

results: $(INSTALLED)
	@$(PYTHON) -m benchmarks.results

pictures: $(INSTALLED)
	@$(PYTHON) -m benchmarks.pages

docs: $(INSTALLED)
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --editable '.[manual]'
	@PYTHONPATH=$(TREE) $(PYTHON) -m sphinx --quiet --nitpicky --fail-on-warning --keep-going -c docs . build/manual
	@echo "The manual is build/manual/index.html"

wheelhouse:
	@rm -rf wheelhouse
	@python3 -m pip wheel --quiet --disable-pip-version-check --wheel-dir wheelhouse '.[$(EXTRAS)]'

sbom: $(INSTALLED) wheelhouse
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --editable '.[release]'
	@python3 -m venv --clear build/shipped
	@build/shipped/bin/pip install --quiet --no-index --find-links wheelhouse 'phistack[$(EXTRAS)]'
	@$(VENV)/bin/cyclonedx-py environment --output-reproducible -o sbom.json build/shipped/bin/python

clean:
	rm -rf $(VENV) $(DEMO_OUTPUT) meddocan_output english_output build dist docs/generated wheelhouse sbom.json *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache .coverage*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The first of these interpreters that runs and is Python 3.11 or newer makes the environment.
INTERPRETERS := python3.11 python3 python

$(INSTALLED): setup.cfg pyproject.toml
	@found=; for python in $(INTERPRETERS); do \
		if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then echo "phistack needs Python 3.11 or newer, and found none as: $(INTERPRETERS)" >&2; exit 1; fi; \
	echo "Making the environment $(VENV) with $$found"; $$found -m venv $(VENV)
	@echo "Installing phistack and the libraries that it needs into $(VENV): about 0.7 GB to download, some minutes"
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[dev]'
	@mkdir -p $(TREE)/phistack
	@ln -sfn $(addprefix $(CURDIR)/,features tbed submodels ensemble $(wildcard ensemble/face/*.*)) $(TREE)/phistack
	@touch $@
