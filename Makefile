# `make` alone lists the targets. They need python3 (3.11 or newer), git and make, and install the rest into .venv.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN := .venv/bin

# mypy's Django plugin loads the settings, which require these variables. Nothing connects to these addresses.
CHECK_ENVIRONMENT := CAUSELINE_SECRET_KEY=only-to-check-types-never-to-serve DATABASE_URL=postgresql:///check REDIS_URL=redis://check
LOCK := $(BIN)/uv pip compile pyproject.toml --quiet --universal --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"

# Tests of processes and browsers wait for much, so more processes run them than there are cores.
QUICK := -n auto --dist worksteal
PATIENT := -n 4 --dist worksteal --durations 40 --durations-min 2

# The digest of what `make image-push` pushed last.
PUSHED = $$($(BIN)/python -c "import json; print(json.load(open('build/image.json'))['containerimage.digest'])")

# Hundreds of processes import the same modules, so Python may write their bytecode even if the shell forbids it.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test test-process test-browser test-all process-tools browser-tools examples soak check lint types layers shape hooks bench bench-check docs docs-site pictures chart release image image-push image-sign image-pin lock forms-check vendor-check advisories clean

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1 — /p' Makefile

demo: .venv/runtime ## start Causeline with a sample recording and its own servers; Ctrl-C ends it
	@CAUSELINE_DATA_DIR="$${CAUSELINE_DATA_DIR:-$(CURDIR)/.causeline}" exec $(BIN)/causeline demo $(DEMO_ARGS)

test: .venv/dev ## run the tests that need no more than Python packages: units and database (PYTEST_ARGS="tests/unit -k name" runs some)
	@$(BIN)/python -m compileall -q collectors dashboard timeline tests
ifdef PYTEST_ARGS
	@$(BIN)/pytest $(PYTEST_ARGS)
else
	@$(BIN)/pytest $(QUICK) tests/unit
	@$(BIN)/pytest $(QUICK) tests/database
endif

test-process: .venv/dev process-tools ## run the tests of whole commands, clusters and the Helm chart; installs kubectl, helm and others
	@$(BIN)/pytest $(PATIENT) tests/process

test-browser: .venv/dev browser-tools ## run the tests in a real browser; installs Chromium
	@$(BIN)/pytest $(PATIENT) tests/browser

test-all: test process-tools browser-tools ## run all tests
	@$(BIN)/pytest $(PATIENT) tests/process tests/browser

process-tools: browser-tools
	@deploy/install-kubectl.sh
	@deploy/install-prometheus.sh
	@deploy/install-chart-tools.sh
	@deploy/install-proxies.sh

browser-tools: .venv/dev
	@deploy/install-browser.sh

examples: .venv/dev ## try all examples, and 200 times as many in the property tests (PYTEST_ARGS="tests/unit/judging" tries some)
	@$(BIN)/pytest -n 2 --dist worksteal --hypothesis-profile examples -m "hypothesis or examples" --timeout 0 $(PYTEST_ARGS)

soak: .venv/dev ## kill, freeze and restart everything at random for an hour, and count what was lost (SOAK_ARGS="--minutes 10")
	@deploy/install-browser.sh
	@deploy/install-proxies.sh
	@$(BIN)/python -m bench.soak $(SOAK_ARGS)

check: lint types layers shape ## check style, types, import contracts and the shape of the code, without running the tests

lint: .venv/dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: .venv/dev
	$(CHECK_ENVIRONMENT) $(BIN)/mypy

layers: .venv/dev
	$(BIN)/lint-imports

shape: .venv/dev
	$(BIN)/python -m deploy.check_shape

hooks: .venv/dev ## run the check before each commit in this checkout (pre-commit)
	$(BIN)/pre-commit install

bench: .venv/dev ## measure every promised speed beside a bare JSON loop (BENCH_ARGS="--only windows live")
	@deploy/install-browser.sh
	$(BIN)/python -m bench $(BENCH_ARGS)

bench-check: .venv/dev ## measure, and fail if a figure is more than 15 % worse than in bench/baseline.json
	@deploy/install-browser.sh
	$(BIN)/python -m bench --check $(BENCH_ARGS)

docs: .venv/runtime ## write docs/rules.md again from the rules
	$(BIN)/causeline rules --markdown > docs/rules.md
	$(BIN)/causeline schema tables > docs/tables.md

docs-site: .venv/dev ## build the documentation as a site into build/site; a broken link fails it
	NO_MKDOCS_2_WARNING=1 $(CHECK_ENVIRONMENT) $(BIN)/mkdocs build
	@echo "To read it: python3 -m http.server --bind 127.0.0.1 --directory build/site"

pictures: .venv/dev ## take the pictures of docs/images again from a running demo
	@deploy/install-browser.sh
	$(BIN)/python -m deploy.pictures

chart: .venv/dev ## write again what the Helm chart derives from other files, and the plain manifests
	@deploy/install-chart-tools.sh
	$(BIN)/python -m deploy.chart.derive

release: .venv/dev ## build wheel, sdist, SBOM and their SHA-256 of the last commit into dist/
	$(BIN)/python -m deploy.release

image: .venv/runtime ## build the container image and label it with the version and the commit (needs Docker)
	version=$$($(BIN)/causeline --version | cut -d " " -f 2) && docker build --tag causeline --tag "causeline:$$version" \
		--build-arg "VERSION=$$version" --build-arg "REVISION=$$(git rev-parse HEAD)" .

image-push: .venv/runtime ## build the image for amd64 and arm64 with SBOM and provenance, and push it (IMAGE=registry/name; needs Docker)
	@test -n "$(IMAGE)" || { echo "Say where to push it: make $@ IMAGE=registry.example.org/causeline" >&2; exit 1; }
	mkdir -p build
	version=$$($(BIN)/causeline --version | cut -d " " -f 2) && docker buildx build --platform linux/amd64,linux/arm64 \
		--tag "$(IMAGE):$$version" --build-arg "VERSION=$$version" --build-arg "REVISION=$$(git rev-parse HEAD)" \
		--sbom=true --provenance=mode=max --metadata-file build/image.json --push .
	@echo "$(IMAGE)@$(PUSHED)"

image-sign: ## sign the image that was pushed last, by its digest and without a key of your own (IMAGE=registry/name; needs cosign)
	@test -n "$(IMAGE)" || { echo "Say which one: make $@ IMAGE=registry.example.org/causeline" >&2; exit 1; }
	cosign sign --yes "$(IMAGE)@$(PUSHED)"
	@echo "$(IMAGE)@$(PUSHED)"

image-pin: .venv/runtime ## replace the digests of the base images with those that their tags have now (needs Docker)
	$(BIN)/python -m deploy.pin_images

lock: .venv/dev ## resolve pyproject.toml's dependencies to their newest fitting versions
	$(LOCK) --upgrade --all-extras --group dev --output-file requirements-dev.lock
	$(LOCK) --upgrade --constraint requirements-dev.lock --output-file requirements.lock
	$(LOCK) --upgrade --all-extras --constraint requirements-dev.lock --output-file requirements-all.lock

vendor-check: .venv/runtime ## compare the vendored files with what their projects published (needs npm)
	$(BIN)/python deploy/check_vendor.py

forms-check: .venv/runtime ## show which rules of RULES=gitleaks.toml, or of other lists, redaction does not cover
	$(BIN)/python -m deploy.check_forms $(RULES)

advisories: .venv/dev ## compare the locked versions with known vulnerabilities, and ask OSV where it can be reached
	$(BIN)/python -m deploy.check_advisories

clean: ## remove what was built and installed (.causeline, the demo's data, stays)
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis test-results
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/runtime: requirements.lock deploy/bootstrap.sh deploy/install.py
	deploy/bootstrap.sh requirements.lock
	touch $@

.venv/dev: requirements-dev.lock deploy/bootstrap.sh deploy/install.py
	deploy/bootstrap.sh requirements-dev.lock
	touch $@ .venv/runtime
