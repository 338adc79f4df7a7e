# Two commands: `make demo` runs the main job, `make test` checks everything. Both set up what they need.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test check stress studies format schema lock clean
demo: $(READY)
	@rm -rf demo-release
	@$(BIN)/holdfast demo --out demo-release

test: check
	$(BIN)/pytest

check: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# The ledger under whole processes and kill -9; takes several minutes.
stress: $(READY)
	$(BIN)/python tests/stress/ledger.py

# Each paper's tables and figures; pictures and numbers go to studies/*/output. Minutes, not seconds.
studies: $(READY)
	$(BIN)/python -m studies.semi_dp.run
	$(BIN)/python -m studies.congenial_dp.run
	$(BIN)/python -m studies.integer_subspace.run

format: $(READY)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# What `holdfast certificate schema` prints, after a change of the certificate's sections.
schema: $(READY)
	$(BIN)/python -c 'import json; from holdfast.certificate.model import json_schema as s; print(json.dumps(s(), indent=2))' > src/holdfast/certificate/schema.json

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'Holdfast needs Python 3.11 or newer: call make PYTHON=/path/to/python3.11 ...'; exit 1; }
	@$(PYTHON) -m venv .venv || { echo 'Python could not make a virtual environment: install its venv module (Debian: apt-get install python3-venv).'; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(READY)

# The lock names versions only: any index serves it.
lock:
	$(BIN)/python -m pip freeze --exclude-editable | grep -v '^-e' > requirements.lock

clean:
	rm -rf .venv demo-release
