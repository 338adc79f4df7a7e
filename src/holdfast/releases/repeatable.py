"""Noise that is the same when the same table is asked for again: the identity that its key is made of.

Its words are F(salt, identity), F a keyed function whose values nobody without the salt of the ledger can
tell from independent uniform ones. So releases of different identities have independent noise, and those of
one identity are one release [theory, 17]. An identity that leaves something out would be a disaster: two
releases with the same noise, whose difference is what changed. It holds

    the confidential file, by its identity, and the confidential table: where either changed, noise is new;
    all that is public of it, the mechanism with its parameters, the unit and the scope: noise of another
    strength or shape that is made of the same words would cancel;
    the version of Holdfast, which may turn words into noise otherwise;
    the period that the publication states: a release of another one is never seen to be the same.
"""

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from holdfast.outputs import Output, TableOutput
from holdfast.releases.table import PreparedTable
from holdfast.sampling.entropy import KeyedEntropy
from holdfast.system.errors import ReleaseError, SpecError
from holdfast.system.text import canonical
from holdfast.system.ways import option, setting
from holdfast.version import VERSION

if TYPE_CHECKING:
    from holdfast.ledger.account import Ledger
    from holdfast.releases.part import PreparedPart


def is_repeatable(parts: "Mapping[str, PreparedPart]") -> bool:
    """Whether noise is to be the same each time; raises SpecError where that is asked of some of several."""
    asked = [name for name, part in parts.items() if part.mechanism.repeatable]
    if asked and len(parts) > 1:
        raise SpecError(
            f"{setting('mechanism', 'repeatable')} is for a release of one table, and {asked[0]} is one of"
            f" {len(parts)}: leave it out, or release that table in a spec of its own."
        )
    return bool(asked)


def keyed(part: "PreparedPart", ledger: "Ledger | None") -> KeyedEntropy:
    """Return the words of a table's own key; raises SpecError where no ledger has a salt for it."""
    if not isinstance(part, PreparedTable):
        raise ReleaseError(f"{part.name} is no table: noise is drawn anew for it.")
    if ledger is None:
        bound = f", and leave out {setting('mechanism', 'bound')}, whose delta no ledger takes" * part.bounded
        raise SpecError(
            f"{setting('mechanism', 'repeatable')} makes noise of the secret salt of a ledger: name one with"
            f" {option('ledger')}{bound}, or leave it out."
        )
    return KeyedEntropy(*ledger.stream_key(table_identity(part)))


def table_identity(part: PreparedTable) -> bytes:
    """Return the SHA-256 of all that the noise of a table may be the same for; confidential."""
    unit = part.guarantee.unit
    said = {
        "version": VERSION,
        "public": part.public.to_dict(),
        "mechanism": part.mechanism.record().model_dump(mode="json"),
        "scope": part.guarantee.scope.digest,
        "unit": [unit.name, unit.adjacency, unit.distance, unit.records, unit.neighbours],
        "period": part.spec.publication.period,
    }
    stream = hashlib.sha256(b"holdfast-repeatable/1\n")
    for each in (canonical(said).encode(), part.identity, _bytes(part.reading.table.counts)):
        stream.update(b"%d\n" % len(each))
        stream.update(each)
    return stream.digest()


def digest_of(outputs: Mapping[str, Output]) -> str:
    """Return the SHA-256 of the counts that were drawn, in whatever files they are."""
    stream = hashlib.sha256()
    for name, output in sorted(outputs.items()):
        if not isinstance(output, TableOutput):
            raise ReleaseError(f"the {name} of a release is no table: noise is drawn anew for it.")
        stream.update(canonical([name, output.table.counts.size]).encode() + _bytes(output.table.counts))
    return stream.hexdigest()


def _bytes(counts: "np.typing.NDArray[np.int64]") -> bytes:
    return np.ascontiguousarray(counts, dtype="<i8").tobytes()
