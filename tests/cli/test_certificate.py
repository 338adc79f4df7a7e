"""`holdfast certificate schema`: what is shipped, which is what the models say."""

import json
import subprocess
import sys

from tests.cli.conftest import Run

from holdfast.certificate.model import json_schema

HEAVY = {"numpy", "polars", "scipy", "flint", "highspy", "matplotlib", "jinja2"}


def test_the_schema_is_the_one_of_the_models(run: Run) -> None:
    """Run `make schema` after a change of the certificate."""
    outcome = run("certificate", "schema")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == json.dumps(json_schema(), indent=2) + "\n"


def test_the_schema_waits_for_no_heavy_library() -> None:
    code = (
        "import sys\nfrom holdfast.cli import main\nsys.argv = ['holdfast', 'certificate', 'schema']\n"
        f"try:\n    main()\nfinally:\n    print(sorted({HEAVY} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["title"] == "Certificate"
    assert done.stderr.strip() == "[]"
