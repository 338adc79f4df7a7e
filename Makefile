# Two commands: `make demo` runs the main job, `make test` checks everything. Both set up what they need.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# Hundreds of tests start Python anew: it reads bytecode instead of compiling every module again.
unexport PYTHONDONTWRITEBYTECODE
PIP := bin/python -m pip --quiet --disable-pip-version-check

.PHONY: demo docs slides docs-update test quick check java postgres r node browser wheels pythons lowest stress studies format schema lock bundle clean
demo: $(READY)
	@rm -rf demo-release
	@$(BIN)/holdfast demo --out demo-release

test: check java postgres r node browser
	$(BIN)/pytest
	$(BIN)/python -m tests.stress --short

# While you work: lint, types of what changed, one case of each mechanism through the contract, one path of every command.
quick: check
	$(BIN)/pytest -m quick tests/contract/test_mechanisms.py tests/cli/test_every_command.py tests/test_architecture.py

check: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --num-workers 2

# Spark runs on Java 17 or newer: it is installed where it is missing and may be. Without it, tests of Spark are skipped.
java:
	@{ "$${JAVA_HOME:+$$JAVA_HOME/bin/}java" -version || { test "$$(id -u)" = 0 && apt-get update && \
		export DEBIAN_FRONTEND=noninteractive INSTALL='apt-get install -y --no-install-recommends' && \
		{ $$INSTALL openjdk-17-jre-headless || $$INSTALL openjdk-21-jre-headless; }; }; } > /dev/null 2>&1 || \
		echo 'Java 17 or newer is missing and could not be installed: tests of Spark are skipped.'

# Databases are tried on a server of PostgreSQL that tests start: it is installed where it is missing and may be.
postgres:
	@{ ls /usr/lib/postgresql/*/bin/pg_ctl || command -v pg_ctl || { test "$$(id -u)" = 0 && apt-get update && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postgresql; }; } > /dev/null 2>&1 || \
		echo 'PostgreSQL is missing and could not be installed: tests of its databases are skipped.'

# The R package is tried where R is: it is installed where it is missing and may be.
r:
	@{ Rscript --version || { test "$$(id -u)" = 0 && apt-get update && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends r-base-core; }; } > /dev/null 2>&1 || \
		echo 'R is missing and could not be installed: the test of its package is skipped.'

# The page that verifies in a browser is tried with Node: it is installed where it is missing and may be.
node:
	@{ node --version || { test "$$(id -u)" = 0 && apt-get update && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends nodejs; }; } > /dev/null 2>&1 || \
		echo 'Node is missing and could not be installed: tests of verify.html are skipped.'

# Pages are tried in a real browser: Chromium is installed where it is missing and may be.
browser:
	@{ chromium --version || chromium-browser --version || google-chrome --version || { test "$$(id -u)" = 0 && \
		apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium fonts-dejavu-core; }; } > /dev/null 2>&1 || \
		echo 'Chromium is missing and could not be installed: tests of pages in a browser are skipped.'

# Races, kills, faults at system calls, power cuts, tampering, fuzzing, places; `make test` runs a short part of it.
stress: $(READY)
	$(BIN)/python -m tests.stress

# The site, offline, into site/: open site/index.html. What readers would stumble over ends the build.
docs: $(READY)
	$(BIN)/python -m website.build

# The slides for those who decide, as slides.pdf, printed by Chromium.
slides: $(READY)
	$(BIN)/python -m website.slides

# What pages show of commands and Python is rewritten where they print something else.
docs-update: $(READY)
	$(BIN)/python -m website.runs

# Each paper's tables and figures, two studies at a time, and studies/report.html: ours beside what is printed.
studies: $(READY)
	$(BIN)/python -m studies.all $(STUDIES)

format: $(READY)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# What `holdfast certificate schema` prints, after a change of the certificate's sections.
schema: $(READY)
	$(BIN)/python -c 'import json; from holdfast.certificate.model import json_schema as s; print(json.dumps(s(), indent=2))' > src/holdfast/certificate/schema.json

# The oldest dependencies that pyproject.toml allows: the demo, the contract of all mechanisms, every command, Spark.
# What old releases say of newer ones beside them is not looked at.
lowest: .venv-lowest/.ready java
	.venv-lowest/$(PIP) install --no-deps --no-build-isolation --force-reinstall .
	@rm -rf .venv-lowest/demo
	.venv-lowest/bin/holdfast demo --out .venv-lowest/demo
	.venv-lowest/bin/python -m pytest -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning tests/contract tests/cli tests/mechanisms/swapping/test_spark.py

$(READY): requirements.lock pyproject.toml
	$(call venv,.venv)
	.venv/$(PIP) install --require-hashes --requirement requirements.lock
	.venv/$(PIP) install --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q src/holdfast
	@touch $@

.venv-lowest/.ready: requirements-lowest.lock
	$(call venv,.venv-lowest)
	.venv-lowest/$(PIP) install --require-hashes --requirement requirements-lowest.lock
	@touch $@

# Makes a virtual environment, or says what it takes.
define venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'Holdfast needs Python 3.11 or newer: call make PYTHON=/path/to/python3.11 ...'; exit 1; }
	@$(PYTHON) -m venv $(1) || { echo 'Python could not make a virtual environment: install its venv module (Debian: apt-get install python3-venv).'; exit 1; }
endef

# Both locks, for every system and Python: versions and the hashes of their files, so any index serves them.
# Versions stay as they are where they can; `make lock UPGRADE=--upgrade` takes the newest. In the lowest lock
# tools are those of the other one.
TOOLS := editables|hatchling|hypothesis|mpmath|pytest|pytest-xdist
COMPILE = .venv-lock/bin/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 \
	--generate-hashes --no-annotate --custom-compile-command 'make lock'
lock:
	$(call venv,.venv-lock)
	.venv-lock/$(PIP) install uv==0.13.7
	$(COMPILE) --extra dev $(UPGRADE) --output-file requirements.lock
	@sed -nE 's/^(($(TOOLS))==[^ ]+).*/\1/p' requirements.lock > .venv-lock/tools.txt
	$(COMPILE) --extra build --extra databases --extra files --extra infer --extra lakes --extra spark --extra test --extra web --constraint .venv-lock/tools.txt --resolution lowest-direct --upgrade \
		--output-file requirements-lowest.lock

# Wheels of Holdfast and all that it needs, in the versions of the lock, for a machine without a network:
# python -m pip install --no-index --find-links bundle holdfast-dp
EXTRAS ?= databases,files,infer
bundle: $(READY)
	@rm -rf bundle
	.venv/$(PIP) wheel --no-deps --no-build-isolation --wheel-dir bundle .
	@sed -nE 's/^([a-zA-Z0-9._-]+==[^ ]+)( ; .*)? \\$$/\1\2/p' requirements.lock > bundle/versions.txt
	.venv/$(PIP) download --dest bundle --constraint bundle/versions.txt "$$(ls bundle/holdfast_dp-*.whl)[$(EXTRAS)]"
	@cd bundle && sha256sum *.whl > SHA256SUMS

# Wheels and sources of Holdfast, its verifier and its documentation, with a bill of materials and SHA256SUMS: built
# again they are the same bytes.
wheels: $(READY)
	$(BIN)/python -m distribution.build

# The wheels, installed and tried as a stranger would, on every Python from 3.11 to 3.13 that is here. It downloads
# what Holdfast needs for each; ONLY=3.12 tries one.
pythons: wheels java
	$(BIN)/python -m distribution.trial $(ONLY)

clean:
	rm -rf .venv .venv-lowest .venv-lock .venv-tried bundle wheels demo-release
