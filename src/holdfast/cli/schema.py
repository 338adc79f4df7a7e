"""`holdfast certificate schema`."""

from pathlib import Path

from holdfast.certificate.schema import schema_text
from holdfast.cli.reports import require_new_file, write_text


def run(*, out: Path | None, records: bool = False) -> None:
    """Print the JSON schema of certificates, or write it to a new file."""
    require_new_file(out)
    write_text(schema_text(records=records), out)
