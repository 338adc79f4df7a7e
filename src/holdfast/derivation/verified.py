"""A released table that was verified, for whoever works something out from it."""

from pathlib import Path

from holdfast.certificate.public import Published
from holdfast.derivation.several import TablesVerifier
from holdfast.derivation.verifying import Verifying
from holdfast.system.checks import ViolatedError
from holdfast.system.errors import ReleaseError
from holdfast.system.text import closest
from holdfast.system.ways import option


def verified(folder: str | Path, table: str | None = None) -> Published:
    """Return a released table that was verified, of several tables the one that is named.

    What is worked out from a release rests on its table and the law of its noise: its expected error is not
    simulated again, nor its page drawn, which may be missing. Raises ViolatedError where it is not kept.
    """
    found = Verifying.of(Path(folder))
    if found.kind not in ("table", ""):
        raise ReleaseError(
            f"{folder} holds {'swapped records' if found.kind == 'records' else 'a processed table'}, whose"
            " law depends on the data: intervals and processed tables are made of tables with noise."
        )
    verification = found.run({"table": TablesVerifier()}, whole=False)
    if not verification.kept:
        raise ViolatedError(verification)
    names = list(found.derivations)
    if table is None and len(names) > 1:
        raise ReleaseError(
            f"{folder} holds several tables: name one with {option('table')}, of {', '.join(names)}."
        )
    if table is not None and found.derivations[names[0]].name is None:
        raise ReleaseError(f"{folder} holds one table: leave out {option('table')}.")
    if table is not None and table not in names:
        raise ReleaseError(f"{folder} has no table {table!r}: {closest(table, names)}")
    chosen = found.derivations[table or names[0]]
    return Published(Path(folder), chosen.claimed, chosen.public)
