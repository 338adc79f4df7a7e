"""The facts that a publication audit found, as JSON: read back, and worked out again from the files."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.programs.solver import UNBOUNDED
from holdfast.publication.conflicts import point
from holdfast.publication.files import digest_of
from holdfast.publication.intervals import intervals
from holdfast.publication.remedies import BASES, rounded
from holdfast.publication.report import FORMAT, PublicationReport, audited
from holdfast.publication.spec import PublicationSpec
from holdfast.publication.tables import read_publication
from holdfast.system.checks import Check
from holdfast.system.errors import HoldfastError, ReleaseError
from holdfast.system.files import special
from holdfast.system.text import canonical, read_json

DERIVED = ("cells", "determined", "narrow", "groups", "anonymity", "differences", "tables_left")
TOLD = ("attributes", "narrow", "cells", "read")
REMEDY = {"cell", "drop", "round", "least", "largest"}
_NO_OTHERS = "each undoes what it names; that there are no others is not claimed"
DAMAGED = (AttributeError, HoldfastError, LookupError, OverflowError, TypeError, ValueError)
"""What claims of any content come to where they are looked up."""
MOST_BYTES = 2**30


def read_facts(path: Path) -> dict[str, Any]:
    """Return the facts in a file; raises ReleaseError where it holds none."""
    try:
        if (kind := special(path)) is not None:
            raise ReleaseError(f"{path} is {kind}: name the facts of an audit.")
        if path.stat().st_size > MOST_BYTES:
            raise ReleaseError(
                f"{path} has more than {MOST_BYTES // 2**20:,} MB: audit fewer cells together."
            )
        content = read_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReleaseError(f"{path} cannot be read ({error.strerror}): check its permissions.") from None
    except ValueError:
        raise ReleaseError(f"{path} is no JSON text: name the facts of an audit.") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ReleaseError(f"{path} holds no facts of the form {FORMAT}: audit the published tables first.")
    return content


def checks(path: Path, claimed: Mapping[str, Any]) -> Iterator[Check]:
    """Yield whether the published files are the same, and whether each kind of fact follows from them."""
    try:
        spec = _spec(claimed, path.parent)
        files = list(_files(claimed, path.parent))
    except DAMAGED as error:
        told = (
            str(error).rstrip(".") if isinstance(error, HoldfastError) else "a section is missing or damaged"
        )
        yield Check("facts", holds=False, detail=told)
        return
    yield from files
    if not all(one.holds for one in files):
        return
    try:
        report = audited(read_publication(spec), remedied=False)
    except HoldfastError as error:
        yield Check("tables", holds=False, detail=str(error).rstrip("."))
        return
    follows = report.to_dict()
    yield Check.that("sections", set(claimed) == set(follows), "there are more than an audit has, or fewer")
    asked = claimed["population"]
    same = all(_same(asked.get(name), follows["population"][name]) for name in TOLD)
    yield Check.that("population", same, "it is not what the files and what was asked make of it")
    for name in DERIVED:
        said = f"{name.replace('_', ' ')} are not what follows from the files"
        yield Check.that(name, _same(claimed.get(name), follows[name]), said)
    yield _conflicting(report, claimed.get("contradictions"), follows["contradictions"])
    yield _undoing(report, claimed.get("remedies"))


def _same(claimed: Any, follows: Any) -> bool:
    """Whether two values have one JSON text: neither true nor 1.0 is the number 1."""
    try:
        return canonical(claimed) == canonical(follows)
    except ValueError:
        return False


def _spec(claimed: Mapping[str, Any], folder: Path) -> PublicationSpec:
    """Return the spec that facts were found for."""
    tables = [
        {name: one for name, one in table.items() if name != "sha256"} for table in claimed["published"]
    ]
    asked = {name: one for name, one in claimed["population"].items() if name not in ("cells", "read")}
    if "hierarchies" in asked:
        asked["hierarchies"] = {name: one["path"] for name, one in asked["hierarchies"].items()}
    return PublicationSpec.of({"published": tables, "population": asked}, folder=folder)


def _files(claimed: Mapping[str, Any], folder: Path) -> Iterator[Check]:
    nested = claimed["population"].get("hierarchies", {}).values()
    for one in (*claimed["published"], *nested):
        try:
            same = digest_of(folder / one["path"]) == one.get("sha256")
        except OSError:
            yield Check(str(one["path"]), holds=False, detail="it cannot be read: put it where the facts say")
            continue
        yield Check.that(str(one["path"]), same, "it is not the file that was audited")


def _conflicting(report: PublicationReport, claimed: Any, follows: list[Any]) -> Check:
    """Check that claimed sets of numbers have no table, and that there are some only if there are any."""
    name = "contradictions"
    if _same(claimed, follows):
        return Check(name, holds=True)
    try:
        sets = [_places(report, one["numbers"]) for one in claimed]
        holds = bool(sets) == bool(follows) and all(
            point(report.publication.numbers.some(rows)) is None for rows in sets
        )
        least = min((len(one["numbers"]) for one in follows), default=0)
        holds = holds and all(not one["smallest"] or len(one["numbers"]) <= least for one in claimed[:1])
        holds = holds and all(set(one) == {"numbers", "smallest"} for one in claimed)
    except DAMAGED:
        holds = False
    return Check.that(name, holds, "the numbers that are named do not contradict each other, or others do")


def _undoing(report: PublicationReport, claimed: Any) -> Check:
    """Check what is claimed to be known of a cell without a table, or without a number."""
    try:
        holds = isinstance(claimed, list) and all(_undoes(report, one) for one in claimed)
    except DAMAGED:
        holds = False
    return Check(
        "remedies", holds, _NO_OTHERS if holds else "leaving out what is named leaves something else"
    )


def _undoes(report: PublicationReport, claimed: Mapping[str, Any]) -> bool:
    publication = report.publication
    drop = claimed["drop"]
    if set(drop) == {"path"}:
        table = [file.name for file in publication.files].index(drop["path"])
        rows = np.flatnonzero(publication.table == table)
    else:
        rows = _places(report, [drop])
    asked = report.asked
    cell = [asked.named(place) for place in range(asked.count)].index(claimed["cell"])
    one = csr_array(asked.matrix[[cell]])
    kept = np.setdiff1d(np.arange(publication.numbers.low.size), rows)
    high: int | None
    if kept.size:
        left = intervals(publication.numbers.some(kept), one)
        low, high = int(left.low[0]), None if left.high[0] == UNBOUNDED else int(left.high[0])
    else:
        low, high = 0, None
    if set(claimed) != REMEDY or not _same([low, high], [claimed["least"], claimed["largest"]]):
        return False
    if claimed["round"] is None:
        return True
    if type(claimed["round"]) is not int or claimed["round"] not in BASES:
        return False
    width = intervals(rounded(publication.numbers, rows, claimed["round"]), one).width[0]
    return bool(width >= max(report.narrow, 1))


def _places(report: PublicationReport, cited: list[Mapping[str, Any]]) -> IntArray:
    """Return the places of numbers that are named by file and row, or by being unlisted."""
    known: dict[tuple[Any, ...], int] = {}
    for number in range(report.publication.table.size):
        known.setdefault(_key(report.cited(number).to_dict()), number)
    return np.array([known[_key(one)] for one in cited], dtype=np.int64)


def _key(one: Mapping[str, Any]) -> tuple[Any, ...]:
    return one["path"], one["row"], tuple(one["levels"].items()), one["value"]
