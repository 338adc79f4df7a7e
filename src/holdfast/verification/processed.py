"""Verifying a processed table: every invariant of its release, and, with the release, all of it.

It is a module of its own as a quick verification loads none of this.

The folder alone shows that nothing was changed, that the table keeps what the release keeps, with exact
equality, and that no count is negative. That the table is the processed release, and that the bias is as it
says, follows by doing it again: processing is deterministic.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from math import isfinite
from pathlib import Path

import numpy as np

from holdfast.certificate.certified_cells import DAMAGE, CertifiedCells, DamagedCertificateError, Sums
from holdfast.certificate.model import Certificate
from holdfast.certificate.parts import ProcessedBiasSection, ProcessedPart
from holdfast.certificate.read import certificate_of
from holdfast.certificate.released_counts import read_column
from holdfast.certificate.text import CERTIFICATE, parse, read_text
from holdfast.derivation.derive import making_flaw
from holdfast.derivation.verifying import Verifying
from holdfast.lattice.arrays import IntArray
from holdfast.processing.methods import METHODS
from holdfast.processing.processed import RELEASE, TABLE, process, processed_from, source_section
from holdfast.system.checks import Check, ViolatedError
from holdfast.system.errors import HoldfastError
from holdfast.system.machine import require_memory
from holdfast.system.ways import option
from holdfast.version import VERSION, is_version

SIGMAS = 5
"""Standard errors within which biases of two versions agree."""


@dataclass(frozen=True)
class ProcessedVerifier:
    """How processed tables are verified: with their release, if it is named or lies beside them."""

    release: Path | None

    def kept(self, verifying: Verifying, claimed: Certificate) -> Iterator[Check]:
        """Check the table against what its release keeps."""
        yield from _caught("certificate", _kept(verifying.folder, claimed))

    def follows(self, verifying: Verifying, claimed: Certificate, *, whole: bool) -> Iterator[Check]:
        """Process the release again, where it is at hand."""
        del whole
        source = _beside(verifying.folder) if self.release is None else self.release
        if source is None:
            verifying.warnings.append(
                "the release was not at hand, and it was not checked that this table and its bias follow from"
                f" it: give {option('release')}."
            )
            return
        verifying.derived += ["table", "bias"]
        yield from _caught("release", _again(verifying.folder, claimed, source))


def _caught(name: str, checks: Iterator[Check]) -> list[Check]:
    """Return checks; what damage raises is one that fails."""
    found: list[Check] = []
    try:
        found.extend(checks)
    except ViolatedError:
        found.append(Check(name, holds=False, detail="the release itself is not as it was certified"))
    except (*DAMAGE, HoldfastError, OSError, ArithmeticError) as error:
        require_memory(error)
        told = isinstance(error, DamagedCertificateError | HoldfastError)
        detail = str(error).rstrip(".") if told else f"{CERTIFICATE} is damaged: restore it"
        found.append(Check(name, holds=False, detail=detail))
    return found


def _kept(folder: Path, claimed: Certificate) -> Iterator[Check]:
    """Check what is said against the release's certificate, and the table against what that keeps."""
    part, text = claimed.processed, (folder / RELEASE).read_bytes().decode("utf-8")
    release = certificate_of(parse(text, RELEASE), RELEASE)
    body = release.sealed(
        release.files,
        release.ledger,
        quoted_formulas=release.quoted_formulas,
        measured=release.measured,
        exports=release.exports,
    )
    same = release.to_json() == text and body.digest == release.digest == part.release.certificate_digest
    yield Check.that("release named", same, f"{RELEASE} is not the certificate that is named")
    if not same:
        return
    wrong = making_flaw(claimed) or _misstated(claimed, part, release)
    yield Check.that("certificate", not wrong, wrong)
    content = release.table.model_dump(mode="json", by_alias=True)
    cells = CertifiedCells.of(content["table"])
    counts = _numerators(folder / TABLE, cells.quoted if release.quoted_formulas else cells, part.places)
    yield Check("schema", holds=True)
    yield Check.that("counts at least 0", bool((counts >= 0).all()), "a count is negative")
    if cells.schema.impossible:
        empty = not counts[~cells.schema.possible].any()
        yield Check.that("structural zeros", empty, "a structural zero holds a count")
    for item in content["invariants"]:
        sums = Sums.of(item, cells)
        told = [value * 10**part.places for value in item["values"]]
        kept = sums.evaluate(counts) == told
        yield Check.that(f"invariant {sums.name}", kept, "a sum differs from its value")


def _misstated(claimed: Certificate, part: ProcessedPart, release: Certificate) -> str:
    """Return which field does not say what it has to, "" where all do."""
    follows = processed_from(release, part, created=claimed.created)
    numbers = [
        value
        for one in part.bias.simulated
        for mean in (one.small_cells, one.large_cells, *one.classes)
        for value in (mean.stand_in, mean.bias, mean.standard_error)
    ]
    right = {
        "outputs": (part.name, *part.outputs) == ("table", "table"),
        "method": part.method in METHODS,
        "release": part.release == source_section(release),
        "places": part.places == (6 if part.method.startswith("nonnegative") else 0),
        "solver": part.solver.name == "HiGHS" and is_version(part.solver.version),
        "bias": all(map(isfinite, numbers)),
        "quoted_formulas": claimed.quoted_formulas == release.quoted_formulas,
        "the head": follows.model_copy(update={"software": claimed.software}) == claimed.unsealed,
    }
    return next((f"{name} is not what it has to be" for name, so in right.items() if not so), "")


def _numerators(path: Path, cells: CertifiedCells, places: int) -> IntArray:
    """Return the counts of a table times ten to the places; each is written in one way."""
    form = re.compile(r"(0|[1-9]\d{0,17})" + (rf"\.(\d{{{places}}})" if places else ""), re.ASCII)
    found = read_column(path, cells)
    for row, text in enumerate(found, start=2):
        if not form.fullmatch(text):
            raise DamagedCertificateError(
                f"{path.name}, row {row} has {text[:20]!r}, which is not a count as written"
            )
    numbers = [int(text.replace(".", "")) for text in found]
    if sum(numbers) >= 2**63:
        raise DamagedCertificateError(f"the counts of {path.name} sum to more than fits 64 bits")
    return np.array(numbers, dtype=np.int64)


def _beside(folder: Path) -> Path | None:
    """Return the release if its folder lies beside this one: the certificate is the one that is kept here."""
    kept = (folder / RELEASE).read_bytes()
    for path in sorted(folder.absolute().parent.iterdir()):
        with suppress(OSError, HoldfastError):
            size = (path / CERTIFICATE).lstat().st_size  # most are told apart by it
            if size == len(kept) and read_text(path).encode("utf-8") == kept:
                return path
    return None


def _again(folder: Path, claimed: Certificate, source: Path) -> Iterator[Check]:
    """Process the release again, and compare the table and the bias."""
    part = claimed.processed
    same = read_text(source) == (folder / RELEASE).read_bytes().decode("utf-8")
    yield Check.that("release", same, f"{source} is not the release that is named")
    if not same:
        return
    draws = part.bias.simulated[0].draws if part.bias.measured else 0
    processed = process(source, METHODS[part.method], bias_draws=draws)
    follows = BytesIO()
    processed.write_table(follows)
    same = follows.getvalue() == (folder / TABLE).read_bytes()
    yield Check.that("table follows from the release", same, "processing the release gives another table")
    if not part.bias.measured:
        yield Check("bias", holds=True, detail="it was not measured")
        return
    again = processed.bias_section()
    if part.bias == again:
        yield Check("bias", holds=True)
    elif claimed.software.version != VERSION:
        agree = _agree(part.bias, again)
        said = "within simulation error" if agree else "it is not within simulation error"
        yield Check("bias", holds=agree, detail=said)
    else:
        yield Check("bias", holds=False, detail="measuring it again gives other numbers")


def _agree(claimed: ProcessedBiasSection, follows: ProcessedBiasSection) -> bool:
    """Whether two measurements of the bias agree within simulation error."""
    pairs = [
        (getattr(one, name), getattr(other, name))
        for one, other in zip(claimed.simulated, follows.simulated, strict=True)
        for name in ("small_cells", "large_cells")
    ]
    return all(
        abs(one.bias - two.bias) <= SIGMAS * (one.standard_error + two.standard_error) + 0.01
        for one, two in pairs
    )
