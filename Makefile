# `make run` opens the chat, `make test` runs every test: both do the whole set-up first, once.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMPS := .stamps
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# What pip has to say goes into a log: of a lost connection it speaks at length, and blames a package.
INSTALL_FAILED = { echo "set-up: the packages could not be installed; connect to the network and run make again."; \
	echo "set-up: details are in $(STAMPS)/pip.log"; exit 1; }

.PHONY: setup run test test-long check bench bench-ui screenshots app check-app lock clean
.DEFAULT_GOAL := run

setup: $(STAMPS)/run $(STAMPS)/starter

run: setup
	@$(BIN)/python -m app

# Three parts side by side, since the tests of the window wait more than they work; what the others say follows at the
# end. The slowest of each are printed.
PYTEST := $(BIN)/python -m pytest --durations=20
BESIDE := $(addprefix tests/mtplx_engine/,bench cli hub models)
test: $(STAMPS)/dev $(STAMPS)/starter
	@$(PYTEST) tests/mtplx_engine $(BESIDE:%=--ignore=%) >$(STAMPS)/engine-tests.log 2>&1 & engine=$$!; \
	$(PYTEST) $(BESIDE) tests/support tests/packaging $(wildcard tests/test_*.py) \
		>$(STAMPS)/beside-tests.log 2>&1 & beside=$$!; \
	$(PYTEST) tests/app tests/scripts; window=$$?; \
	wait $$beside; beside=$$?; cat $(STAMPS)/beside-tests.log; \
	wait $$engine; engine=$$?; cat $(STAMPS)/engine-tests.log; exit $$((window || beside || engine))

test-long: $(STAMPS)/dev $(STAMPS)/starter
	$(BIN)/python -m pytest -m long -rP
	$(BIN)/python -m pytest --hypothesis-profile=searching

check: $(STAMPS)/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy app mtplx_engine packaging/mtplx_bundle
	$(BIN)/lint-imports

# Every drafter on the starter and on the trained toy. Each also drafts for itself, to try a second model's machinery:
# a smaller one with the same tokenizer is not at hand.
DRAFTERS := mtp prompt_lookup mtp+prompt_lookup draft_model
bench: setup
	$(BIN)/mtplx bench --drafters $(DRAFTERS) --draft-model smollm2-135m-instruct
	$(BIN)/mtplx bench --drafters $(DRAFTERS) --model tests/data/toy --draft-model tests/data/toy

bench-ui: setup
	$(BIN)/python -m scripts.bench_ui

screenshots: setup
	$(BIN)/python -m scripts.screenshots

# On Linux too: MTPLX.app for Macs, and its zip. `make app ARGS="--identity NAME"` signs it on a Mac: packaging/README.md.
app: $(STAMPS)/packaging $(STAMPS)/starter
	@$(BIN)/python packaging/build.py $(ARGS)

# Every gate, and on Linux the twin: the same app laid out for this machine answers a question.
check-app: $(STAMPS)/packaging
	@$(BIN)/python packaging/check.py
	@test "$$(uname -s)" != Linux || { $(BIN)/python packaging/build.py --twin && $(BIN)/python packaging/twin.py \
		&& $(BIN)/python -m pytest -m packaging tests/packaging; }

$(STAMPS)/venv:
	@command -v $(PYTHON) >/dev/null || { echo "MTPLX needs Python 3.11 (or: make PYTHON=/path/to/python3.11)"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' \
		|| { echo "MTPLX needs Python 3.11, $(PYTHON) is another version"; exit 1; }
	@sh packaging/linux_libraries.sh
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV) \
		|| { echo "Python's venv module is incomplete; on Debian: apt-get install python3.11-venv"; exit 1; }
	@mkdir -p $(STAMPS) && touch $@

# Byte-compiled here because PYTHONDONTWRITEBYTECODE may be set, and then every start would compile again.
$(STAMPS)/run: $(STAMPS)/venv requirements/run.txt requirements/build.txt pyproject.toml
	@echo "set-up: installing the locked requirements (780 MB, once)"
	@$(PIP) install --require-hashes --only-binary :all: -r requirements/run.txt -r requirements/build.txt \
		>$(STAMPS)/pip.log 2>&1 \
		|| $(INSTALL_FAILED)
	@$(PIP) install --no-deps --no-build-isolation -e . >>$(STAMPS)/pip.log 2>&1 || $(INSTALL_FAILED)
	@$(BIN)/python -m compileall -qq -j 2 $(VENV)/lib app mtplx_engine || true
	@touch $@

$(STAMPS)/dev: $(STAMPS)/run requirements/dev.txt
	@echo "set-up: installing the tools for tests and checks"
	@$(PIP) install --require-hashes --only-binary :all: -r requirements/dev.txt >$(STAMPS)/pip.log 2>&1 \
		|| $(INSTALL_FAILED)
	@touch $@

$(STAMPS)/packaging: $(STAMPS)/dev requirements/packaging.txt
	@echo "set-up: installing the tools that pack the app"
	@$(PIP) install --require-hashes --only-binary :all: -r requirements/packaging.txt >$(STAMPS)/pip.log 2>&1 \
		|| $(INSTALL_FAILED)
	@touch $@

# Fast when the model is in place; repairs it when a former set-up was interrupted.
.PHONY: $(STAMPS)/starter
$(STAMPS)/starter: $(STAMPS)/run
	@$(BIN)/python -m mtplx_engine.models.starter

LOCK := $(BIN)/uv pip compile --universal --generate-hashes --python-version 3.11 --no-emit-index-url --no-header
lock: $(STAMPS)/dev
	$(LOCK) pyproject.toml -o requirements/run.txt
	$(LOCK) --group build -c requirements/run.txt -o requirements/build.txt
	$(LOCK) --group build --group dev -c requirements/run.txt -c requirements/build.txt pyproject.toml \
		-o requirements/dev.txt
	$(LOCK) --group packaging -o requirements/packaging.txt

clean:
	rm -rf $(VENV) $(STAMPS) build dist
