# Two commands do everything on a fresh machine, set-up included: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup demo demo-controller test test-slow crashes test-apiserver test-deploy chart version release-check released-state dist sbom bounds simulate mutants check docs reference format lock clean bench

setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "gitops-mc needs Python 3.11 or newer; say which with: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: setup
	@$(BIN)/gitops-mc demo

# The controller: two processes, pushes, an approval, a leader that is killed, a bad commit and its repair.
demo-controller: setup
	@$(BIN)/gitops-mc demo --controller

test: setup
	$(BIN)/pytest -n auto -m "not slow and not apiserver"

test-slow: setup
	$(BIN)/pytest -n auto -m "slow and not apiserver"

# Without Go this says that nothing ran, and is no failure; STRICT=1 makes it one.
test-apiserver: setup
	@if $(BIN)/python -m tests.apiserver; then $(BIN)/pytest -n0 -m apiserver; else test -z "$(STRICT)"; fi

# What needs helm and promtool; without Go it says what did not run, and is no failure; STRICT=1 makes it one.
test-deploy: setup
	@$(BIN)/python -m tests.deploy || test -z "$(STRICT)"
	$(BIN)/pytest -n0 -m "not apiserver" tests/deploy

# The chart holds copies of what lies in deploy/.
chart: setup
	$(BIN)/python -m tests.deploy.chart

# Seeds in bulk, the first ones after those of `make test`; MINUTES bounds it.
SEEDS ?= 1000
FROM ?= 20
MINUTES ?= 1000000
simulate: setup
	$(BIN)/python -m tests.simulation many --seeds $(SEEDS) --from $(FROM) --minutes $(MINUTES)

# Which seed finds each deliberate fault first; KEEP=--keep writes them down for the test that plays them again.
mutants: setup
	$(BIN)/python -m tests.simulation mutants $(KEEP)

crashes: setup
	$(BIN)/python -m tests.scenarios.crash_table

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/pytest -m "not slow" tests/docs

# The documentation as a site, in build/site; a link, an anchor or a page that is not in the navigation fails it. `make check` builds
# it, too.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# What of docs/ is made from code, written anew.
reference: setup
	$(BIN)/python -m tests.docs.reference

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Another version, wherever one stands: make version TO=1.2.3
version: setup
	$(BIN)/python -m tests.release.versions $(TO)
	@$(MAKE) --no-print-directory chart reference

# Whether this checkout can be released as the version that it says.
release-check: setup
	@$(BIN)/python -m tests.release.check

# What this version remembers, for the tests of the versions after it.
released-state: setup
	$(BIN)/python -m tests.release.state

# Wheel and sdist in dist/, the same bytes for the same commit.
dist: setup
	$(BIN)/python -m tests.release.dist dist

# build/sbom.json: CycloneDX of what the program needs to run. The tool has an environment of its own, by hash.
sbom: setup
	$(BIN)/python -m tests.release.sbom build/sbom.json

# Whether the lower bounds of the dependencies are true: the oldest that pyproject.toml allows, and the tests that use them.
bounds: setup
	$(BIN)/python -m tests.release.bounds

# Figures, each beside a yardstick that is measured in turns with it; ONLY="idle reload" names some.
bench: setup
	$(BIN)/python -m bench.compare $(ONLY) --json build/bench.json

lock:
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --group dev --no-header pyproject.toml -o requirements.lock

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
