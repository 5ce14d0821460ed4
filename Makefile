# `make demo` and `make test` each work as the only command on a fresh machine with Python 3.11+.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
SHARED := $(wildcard ../shared/data)

# Real data is used where it is present and never required.
export DCRA_DATA ?= $(abspath $(SHARED))

# What the compiled loops are made of: an edit there installs, and so builds, again. A checkout has the library that
# this processor takes, and no other; wheels have them all.
FLAGS := $(shell grep -m 1 ^flags /proc/cpuinfo 2> /dev/null)
HERE := $(if $(filter avx512vl,$(FLAGS)),v4,$(if $(filter avx2,$(FLAGS)),v3,v2))
HERE := $(if $(filter x86_64,$(shell uname -m)),$(HERE),native)
BUILD := --config-settings=cmake.define.DCRA_LEVELS=$(HERE)
LEVEL := $(if $(filter x86_64,$(shell uname -m)),v2,native)
NATIVE := CMakeLists.txt $(wildcard native/*.cpp native/*.hpp)

comma := ,
CLUSTER ?= --size 500 500 --starts 16

.PHONY: cluster-demo demo test coverage lint format docs packages sanitize campaign exact-page clean

demo: $(VENV)/.installed
	$(BIN)/dcra demo

# One problem on threads and on 1, 2 and 4 workers of a local cluster: make cluster-demo CLUSTER="--size 1000 1000"
cluster-demo: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet 'dask[array,distributed]'
	OMP_NUM_THREADS=1 $(BIN)/python examples/cluster.py $(CLUSTER)

# COVERAGE=yes also says how much of the solver the tests go through, lines and branches, and wants 95 %.
SOLVER := api auto batch bounds compiled constrained engines exact losses methods model polish result search solving
TESTS ?=
test: $(VENV)/.dev
	$(if $(COVERAGE),$(BIN)/python -m pip install --quiet 'pytest-cov>=6')
	$(BIN)/python -m pytest -n 2 --durations=25 --durations-min=3 $(if $(COVERAGE),--cov --cov-report=) $(TESTS)
	$(if $(COVERAGE),$(BIN)/python -m coverage report --fail-under=$(if $(TESTS),0,95) \
	  --include='$(subst $(eval) ,$(comma),$(foreach part,$(SOLVER),*/dcra/$(part)/* */dcra/$(part).py))')

# The same for some of the tests: make coverage TESTS="tests/engines tests/polish"
coverage:
	$(MAKE) test COVERAGE=yes

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The site, from nothing, in an environment of its own, into docs/_build/html; then it is opened in a browser.
docs: $(VENV)-docs/.installed
	rm -rf docs/_build docs/gallery docs/reference/generated
	OMP_NUM_THREADS=1 $(VENV)-docs/bin/sphinx-build -b html -W --keep-going -q docs docs/_build/html
	$(VENV)-docs/bin/python -m pytest tests/docs/test_site.py

build/tools: | $(BIN)/python
	$(BIN)/python -m pip install --quiet build
	mkdir -p build && touch $@

# The wheel and the source distribution, each installed into an empty environment and tried.
packages: build/tools
	rm -rf dist $(VENV)-wheel $(VENV)-sdist
	$(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv $(VENV)-wheel
	$(VENV)-wheel/bin/python -m pip install --quiet dist/*.whl
	cd / && $(abspath $(VENV)-wheel)/bin/python $(CURDIR)/.ci/smoke.py
	$(PYTHON) -m venv $(VENV)-sdist
	$(VENV)-sdist/bin/python -m pip install --quiet --config-settings=cmake.define.DCRA_LEVELS=$(LEVEL) dist/*.tar.gz
	cd / && $(abspath $(VENV)-sdist)/bin/python $(CURDIR)/.ci/smoke.py

# The tests of the loops under address and undefined-behaviour sanitizers.
sanitize:
	test -d $(VENV)-sanitize || $(PYTHON) -m venv $(VENV)-sanitize
	$(VENV)-sanitize/bin/python -m pip install --quiet pytest pytest-timeout pytest-xdist hypothesis sybil array-api-strict
	$(VENV)-sanitize/bin/python -m pip install --quiet --config-settings=cmake.define.DCRA_SANITIZE=ON \
	  --config-settings=cmake.define.DCRA_LEVELS=$(LEVEL) --config-settings=build-dir=build/sanitize .
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0 \
	  $(VENV)-sanitize/bin/python -m pytest -n 2 -p no:cacheprovider tests/kernels

# Random problems, damaged files and time limits at length: make campaign SECONDS=600 SEED=7
SECONDS ?= 600
SEED ?= 7
campaign: $(VENV)/.dev
	$(BIN)/python -m tests.campaign.problems --seconds $$(($(SECONDS) * 3 / 20)) --seed $(SEED)
	$(BIN)/python -m tests.campaign.plans --seconds $$(($(SECONDS) / 20)) --seed $(SEED)
	$(BIN)/python -m tests.campaign.partly --seconds $$(($(SECONDS) / 20)) --seed $(SEED)
	$(BIN)/python -m tests.campaign.devices --seconds $$(($(SECONDS) / 20)) --seed $(SEED)
	$(BIN)/python -m tests.campaign.proofs --seconds $$(($(SECONDS) / 10)) --seed $(SEED)
	$(BIN)/python -m tests.campaign.whole_numbers --seconds $$(($(SECONDS) / 20)) --seed $(SEED)
	$(BIN)/python -m tests.campaign.fields --seconds $$(($(SECONDS) * 3 / 20)) --seed $(SEED)
	$(BIN)/python -m tests.campaign.files --seconds $$(($(SECONDS) * 3 / 10)) --seed $(SEED)
	$(BIN)/python -m tests.campaign.limits --seconds $$(($(SECONDS) / 5)) --seed $(SEED)

# Time to the proof, all families and solvers, and its page; hours on a quiet machine, and it goes on where it stopped
exact-page: $(VENV)/.installed
	OMP_NUM_THREADS=1 $(BIN)/dcra bench exact --preset full --out bench-exact
	$(BIN)/dcra report bench-exact

clean:
	rm -rf $(VENV) $(VENV)-docs $(VENV)-wheel $(VENV)-sdist $(VENV)-sanitize docs/_build docs/gallery build dist .pytest_cache .mypy_cache .ruff_cache

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.installed: pyproject.toml $(NATIVE) | $(BIN)/python
	$(BIN)/python -m pip install --quiet $(BUILD) --editable .
	$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/.dev: pyproject.toml $(NATIVE) | $(BIN)/python
	$(BIN)/python -m pip install --quiet $(BUILD) --editable '.[test,lint]'
	$(BIN)/python -m compileall -q src
	@touch $@ $(VENV)/.installed

$(VENV)-docs/.installed: pyproject.toml $(NATIVE)
	test -d $(VENV)-docs || $(PYTHON) -m venv $(VENV)-docs
	$(VENV)-docs/bin/python -m pip install --quiet $(BUILD) --editable '.[docs]'
	@touch $@
