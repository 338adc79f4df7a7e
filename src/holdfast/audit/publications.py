"""What published tables reveal together: from the published files alone, no confidential data."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from holdfast.publication.report import PublicationReport, audit, file_of, spec_of
from holdfast.publication.spec import PublicationSpec
from holdfast.system.ways import about


def publication(
    what: str | Path | PublicationSpec | Sequence[str | Path],
    *,
    rule: Mapping[str, Any] | None = None,
    remedied: bool = True,
) -> PublicationReport:
    """Return what follows from published tables: of a spec, or of plain files that all follow one rule.

    A ``rule`` has the keys of a published table, as in ``{"rule": "rounded", "base": 5}``. What would undo a
    finding is looked for where it is to be ``remedied``. Nothing is read but what was published.

    >>> published = pl.DataFrame({"county": ["A", "A"], "sex": ["f", "m"], "n": ["10", "*"]})
    >>> published.write_csv("published.csv")
    >>> found = hf.audit.publication("published.csv", rule={"rule": "suppressed", "below": 5})
    >>> len(found.to_dict()["determined"])
    1
    """
    with about(file_of(what)):
        return audit(spec_of(what, rule), remedied=remedied)
