"""Making a release of swapped records, as its spec says."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.certificate.records.model import RecordsCertificate
from holdfast.certificate.text import CERTIFICATE
from holdfast.drafts import require_new
from holdfast.durable import write_new_text
from holdfast.errors import ReleaseError
from holdfast.handover import Written, make
from holdfast.spec.model import Spec
from holdfast.swapping.prepare import ENGINES, Engine, PreparedRecords, prepare_records
from holdfast.swapping.utility import Utility


def make_records_release(
    spec: Spec,
    out: str | Path,
    *,
    data: Any = None,
    engine: Engine = "embedded",
    utility: str | Path | None = None,
    **options: Any,
) -> Written[RecordsCertificate]:
    """Prepare, charge, swap and write records to a new folder.

    ``utility`` is the file of the curator's report, beside the folder unless it is given. The other options
    are those of a release of one table [holdfast, release.py].
    """
    if engine not in ENGINES:
        raise ReleaseError(f"there is no engine {engine!r}: choose {' or '.join(ENGINES)}.")
    if options.get("quote_formulas"):
        raise ReleaseError("records are written as they are: leave out --quote-formulas.")
    report, settled = utility_path(out, utility), list[PreparedRecords]()

    def prepared() -> PreparedRecords:
        settled.append(prepare_records(spec, data, engine=engine))
        return settled[0]

    written = make(prepared, out, **options)
    ready = settled[0]
    if not ready.watch.strata:  # it was drawn before, and only got its name
        return written
    _write_utility(report, ready.watch.report(str(ready.mechanism.rate)), written.folder)
    return replace(written, report=report)


def _write_utility(path: Path, found: Utility, folder: Path) -> None:
    try:
        write_new_text(path, json.dumps(found.to_dict(), indent=2) + "\n", mode=0o600)
    except OSError as error:
        reason = (error.strerror or "the disk refuses").lower()
        raise ReleaseError(
            f"{folder} is written, but the curator's report cannot be, to {path} ({reason}): the release is"
            " whole without it."
        ) from None


def utility_path(out: str | Path, utility: str | Path | None) -> Path:
    """Return where the curator's report goes: outside of the release, and to a new file."""
    folder = require_new(out)
    path = folder.with_name(f"{folder.name}-utility.json") if utility is None else Path(utility).absolute()
    if folder == path or folder in path.parents:
        raise ReleaseError(f"{path} is inside of the release: the curator's report must stay out of it.")
    if any((place / CERTIFICATE).exists() for place in path.parents):
        raise ReleaseError(
            f"{path} is inside of a release: name another place for the curator's report with --utility."
        )
    if path.suffix.lower() != ".json":
        raise ReleaseError(f"{path} has a name for no report: end it with .json.")
    if path.exists() or path.is_symlink():
        raise ReleaseError(f"{path} exists already: name a new file with --utility.")
    if not path.parent.is_dir():
        raise ReleaseError(f"the folder of {path} does not exist: create it first.")
    return path
