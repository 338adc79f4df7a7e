"""The least coarsening of confidential tables, from a spec to a folder of what is to be published."""

from pathlib import Path

from holdfast.publication.coarsening.report import METHODS, CoarseningReport, found_by
from holdfast.publication.spec import PublicationSpec, read_publication_spec
from holdfast.system.drafts import require_new
from holdfast.system.errors import SpecError
from holdfast.system.text import closest
from holdfast.system.ways import about


def coarsen(
    what: str | Path | PublicationSpec, *, method: str | None = None, out: str | Path | None = None
) -> CoarseningReport:
    """Return the least coarsening after which no asked-for cell is determined or narrower than asked.

    A spec names confidential tables with the rule of each. The ``method`` is suppression, recoding or
    rounding; all of them unless one is named here or there. A new folder ``out`` takes the coarser tables,
    with the audit of them as evidence.

    >>> firms = pl.DataFrame({"region": ["A", "A", "B", "B"], "branch": ["x", "y"] * 2, "n": [9, 1, 4, 6]})
    >>> firms.write_csv("firms.csv")
    >>> spec = '''
    ... published = [{ path = "firms.csv", rule = "suppressed", below = 3 }]
    ... coarsen = { totals = true }
    ... '''
    >>> Path("coarsen.toml").write_text(spec) > 0
    True
    >>> hf.coarsen("coarsen.toml", method="suppression").ways[0].lost["with_them"]
    3
    """
    spec = what if isinstance(what, PublicationSpec) else read_publication_spec(what)
    if method is not None and method not in METHODS:
        raise SpecError(f"there is no method {method!r}: {closest(method, METHODS)}")
    if out is not None:
        require_new(out)
    with about("" if isinstance(what, PublicationSpec) else str(what)):
        found = found_by(spec, method or spec.coarsen.method)
    if out is not None:
        found.write(out)
    return found
