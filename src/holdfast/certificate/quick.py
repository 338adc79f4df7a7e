"""The quick part of a verification: the seal, the files, and every table against every exact claim.

It reads the certificate as plain JSON and counts for itself, in integers and with exact equality, so that
nothing but numpy is loaded (and polars for Parquet). What a guarantee is worth is derived elsewhere
[holdfast, derivation/derive.py]. A table is written in one way only, so it is read in one way only.
"""

import csv
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from io import StringIO
from math import isfinite
from operator import eq, ge, le
from pathlib import Path
from typing import Any

from holdfast.certificate.certified_cells import (
    DAMAGE,
    CertifiedCells,
    DamagedCertificateError,
    Sums,
    listed,
    mapping_of,
)
from holdfast.certificate.released_counts import bytes_of, read_counts
from holdfast.certificate.text import CERTIFICATE, digest, flaw
from holdfast.lattice.arrays import IntArray
from holdfast.system.checks import Check
from holdfast.system.errors import HoldfastError
from holdfast.system.files import plain_name, special
from holdfast.system.machine import require_memory

PAGE = "certificate.html"
ENDINGS = (".csv", ".parquet")
BESIDE = {"processed": ("release.json",)}
"""What a kind of part has beside its outputs: the certificate of the release that it was made of."""


def seal_checks(folder: Path, text: str, content: Mapping[str, Any], *, page: bool = True) -> Iterator[Check]:
    """Check the digest, the text of the certificate, and the hash of every file, with or without the page."""
    body = {key: value for key, value in content.items() if key != "digest"}
    yield Check.that("certificate unchanged", digest(body) == content.get("digest"), "its digest differs")
    wrong = flaw(text, content)
    yield Check.that("certificate text", not wrong, wrong)
    try:
        files, named = dict(content["files"]), files_of(content)
        known = (
            *named.values(),
            *BESIDE.get(content["parts"][0]["kind"], ()),
            PAGE,
            *exports_of(content, named.values()),
        )
    except DAMAGE as error:
        yield Check("files", holds=False, detail=in_words(error))
        return
    if missing := [name for name in known if name not in files]:
        yield Check("files", holds=False, detail=f"the certificate does not name {missing[0]}")
    for name, expected in files.items():
        if page or name != PAGE:
            yield file_check(folder, name, expected, known)


def files_of(content: Mapping[str, Any]) -> dict[str, str]:
    """Return the file of every output that the parts of a certificate name; raises where one has none."""
    files, found = content["files"], dict[str, str]()
    if not all(part["outputs"] for part in content["parts"]):
        raise DamagedCertificateError("a part of the certificate has no outputs")
    for output in (output for part in content["parts"] for output in part["outputs"]):
        named = [file for end in ENDINGS if (file := f"{output}{end}") in files]
        if len(named) != 1 or output in found or not plain_name(named[0]):
            raise DamagedCertificateError("the certificate does not name one file for each output")
        found[output] = named[0]
    return found


def exports_of(content: Mapping[str, Any], others: Iterable[str]) -> list[str]:
    """Return the files that have the release in other formats; raises where one is another file."""
    names: Any = content.get("exports", [])
    taken = {*others, PAGE, CERTIFICATE}
    for name in names if isinstance(names, list) else [None]:
        if name is None or not plain_name(name) or name in taken:
            raise DamagedCertificateError("the certificate does not name one file for each export")
        taken.add(name)
    return list(names)


def kept_checks(folder: Path, content: Mapping[str, Any]) -> Iterator[Check]:
    """Check every table against its cells, the constraints and every invariant, with exact equality."""
    try:
        files, parts = files_of(content), [dict(part) for part in content["parts"]]
        quoted = content.get("quoted_formulas") is True
        tables = [part for part in parts if part["kind"] == "table"]
        several = content.get("joined") is not None
    except DAMAGE as error:
        yield Check("certificate", holds=False, detail=in_words(error))
        return
    kept = True
    for part in tables:
        name = part["outputs"][0]
        for check in output_checks(folder, files[name], content["files"], part, quoted=quoted):
            kept &= check.holds
            yield replace(check, name=f"{name}: {check.name}") if several else check
    if several and kept:
        yield from _agreements(folder, content, files, quoted=quoted)


def output_checks(
    folder: Path, name: str, files: Mapping[str, Any], part: Mapping[str, Any], *, quoted: bool
) -> Iterator[Check]:
    """Check the file of a table, a statistic or an estimate against what its part says of it."""
    try:
        cells = CertifiedCells.of(part["table"])
        claims = [Sums.of(item, cells) for item in listed(part["invariants"])]
        floors = [
            (Sums.of(item, cells), _bounds(item)) for item in listed(part["constraints"]["inequalities"])
        ]
        stated = [item["values"] for item in part["invariants"]]
        values = [_whole_values(each, sums) for each, sums in zip(stated, claims, strict=True)]
        # what was estimated from measurements is never below 0, asked for or not
        nonnegative = part["constraints"]["nonnegative"] or any(
            output.endswith("measurements") for output in part["outputs"][1:]
        )
    except DAMAGE as error:
        yield Check("certificate", holds=False, detail=in_words(error))
        return
    if name == "statistic.csv" and part.get("alone") is None:
        yield _statistic_check(folder / name, cells.schema.size // 4)
        return
    if name == "estimate.csv" and part.get("alone") is None:
        yield _estimate_check(folder / name, part["mechanism"])
        return
    if name.endswith(".parquet") and not file_check(folder, name, files.get(name), (name,)).holds:
        # there is damage to Parquet that ends the process that reads it, past any handler
        yield Check("schema", holds=False, detail=f"{name} is not the certified file: it is not read")
        return
    try:
        counts = read_counts(folder / name, cells.quoted if quoted and name.endswith(".csv") else cells)
    except (*DAMAGE, HoldfastError) as error:
        require_memory(error)
        yield Check("schema", holds=False, detail=in_words(error))
        return
    yield Check("schema", holds=True)
    if nonnegative:
        yield Check.that("counts at least 0", bool((counts >= 0).all()), "a count is negative")
    if cells.schema.impossible:
        empty = not counts[~cells.schema.possible].any()
        yield Check.that("structural zeros", empty, "a structural zero holds a count")
    for sums, bounds in floors:
        yield _floor_check(sums, bounds, counts)
    for sums, told in zip(claims, values, strict=True):
        yield _invariant_check(sums, told, counts)


def _agreements(
    folder: Path, content: Mapping[str, Any], files: Mapping[str, str], *, quoted: bool
) -> Iterator[Check]:
    """Check that tables which keep the same margin give it the same numbers."""
    read: dict[str, tuple[CertifiedCells, IntArray]] = {}
    try:
        for part in content["parts"]:
            cells, file = CertifiedCells.of(part["table"]), files[part["outputs"][0]]
            written = cells.quoted if quoted and file.endswith(".csv") else cells
            read[part["name"]] = cells, read_counts(folder / file, written)
        for shared in content["joined"]["shared"]:
            names = tuple(listed(shared["attributes"]))
            margins = [_margin(*read[table], names) for table in shared["exact"]]
            if len(margins) > 1:
                what, tables = " by ".join(names) or "the total", " and ".join(shared["exact"])
                same = all(margin == margins[0] for margin in margins)
                yield Check.that(f"{what} agrees in {tables}", same, "the tables give other numbers")
        for item in content["joined"].get("across", ()):
            yield _across_check(item, read)
    except (*DAMAGE, HoldfastError) as error:
        require_memory(error)
        yield Check("shared", holds=False, detail="the certificate is damaged: restore it from the release")


def _across_check(item: Mapping[str, Any], read: Mapping[str, tuple["CertifiedCells", IntArray]]) -> Check:
    """Check a constraint across tables at every node of its level."""
    name, level, sense = item["name"], item["level"], item["sense"]
    sums = []
    for side in (item["left"], item["right"]):
        cells, counts = read[side["table"]]
        names = (level, *listed(side["margin"]))
        found = Sums("", (), cells, names, mapping_of(side["where"]), None).by_levels(counts)
        sums.append({levels: side["times"] * count for levels, count in found.items()})
    left, right = sums
    if sense not in SENSES or type(item["zero"]) is not bool or type(name) is not str:
        raise DamagedCertificateError("a constraint across tables is none")
    for levels in {**left, **right}:
        mine, theirs = left.get(levels, 0), right.get(levels, 0)
        if not SENSES[sense](mine, theirs) or (item["zero"] and mine and not theirs):
            told = f"{mine:,} on the left and {theirs:,} on the right at {', '.join(levels)}"
            return Check(f"across tables: {name}", holds=False, detail=told)
    nodes = len(read[item["left"]["table"]][0].schema.attribute(level).levels)
    return Check(f"across tables: {name}", holds=True, detail=f"at {nodes:,} of {level}")


SENSES: Mapping[str, Callable[[int, int], bool]] = {">=": ge, "==": eq, "<=": le}


def _margin(cells: "CertifiedCells", counts: IntArray, names: tuple[str, ...]) -> dict[tuple[str, ...], int]:
    """Return the counts of a margin other than 0, by levels."""
    return Sums("", (), cells, names, {}, None).by_levels(counts)


def _whole_values(values: Sequence[Any], sums: Sums) -> list[int]:
    if len(values) != len(sums.labels) or not all(type(value) is int for value in values):
        raise DamagedCertificateError(f"the values of {sums.name!r} are not one whole number for each label")
    return list(values)


def _bounds(item: Mapping[str, Any]) -> dict[str, int]:
    found = {name: item[name] for name in ("at_least", "at_most") if item.get(name) is not None}
    if not found or any(type(bound) is not int for bound in found.values()):
        raise DamagedCertificateError("a bound is not a whole number")
    return found


def _floor_check(sums: Sums, bounds: Mapping[str, int], counts: IntArray) -> Check:
    name = f"inequality {sums.name}"
    try:
        found = sums.evaluate(counts)
    except DAMAGE as error:
        return Check(name, holds=False, detail=in_words(error))
    for bound, words, worst in (("at_least", "below", min), ("at_most", "above", max)):
        if bound in bounds and len(found):
            value, limit = int(worst(found)), bounds[bound]
            if (value < limit) if bound == "at_least" else (value > limit):
                return Check(name, holds=False, detail=f"{value} is {words} {limit}")
    return Check(name, holds=True)


def _invariant_check(sums: Sums, stated: list[int], counts: IntArray) -> Check:
    name = f"invariant {sums.name}"
    try:
        found = sums.evaluate(counts)
    except DAMAGE as error:
        return Check(name, holds=False, detail=in_words(error))
    wrong = [i for i, (f, s) in enumerate(zip(found, stated, strict=True)) if f != s]
    if not wrong:
        return Check(f"{name}: {len(stated)} kept", holds=True)
    first = wrong[0]
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    return Check(
        name, holds=False, detail=f"{sums.labels[first]} is {found[first]}, not {stated[first]}{more}"
    )


def _statistic_check(path: Path, strata: int) -> Check:
    """Check that there is one number for each 2 x 2 table, every digit of it."""
    try:
        head, *rows = bytes_of(path).decode("utf-8").split("\n")
        numbers = [float(row.partition(",")[2]) for row in rows[:-1]]
        written = [f"{place},{value!r}" for place, value in enumerate(numbers, start=1)]
        whole = head == "stratum,value" and rows == [*written, ""] and all(map(isfinite, numbers))
    except (OSError, ValueError) as error:
        require_memory(error)
        whole = False
    if not whole:
        return Check("statistic", holds=False, detail=f"{path.name} is not a list of statistics")
    wrong = f"there are {len(numbers)} numbers, not {strata}"
    return Check.that("statistic", len(numbers) == strata, wrong)


def _estimate_check(path: Path, mechanism: Mapping[str, Any]) -> Check:
    """Check that there is one number for each estimate, on its grid, every digit of it."""
    try:
        steps, names = mechanism["steps"], listed(mechanism["coefficients"])
        pairs = list(zip(listed(mechanism["low"]), listed(mechanism["high"]), strict=True))
        if type(steps) is not int or any(type(end) is not str for pair in pairs for end in pair):
            raise DamagedCertificateError("a grid is not of numbers")
        ends = [(Fraction(one), Fraction(other)) for one, other in pairs]
        if steps < 1 or any(low >= high for low, high in ends):
            raise DamagedCertificateError("a grid has no points")
    except (*DAMAGE, ZeroDivisionError) as error:
        return Check("estimate", holds=False, detail=in_words(error))
    try:
        head, *rows = bytes_of(path).decode("utf-8").split("\n")
        numbers = [float(row.rpartition(",")[2]) for row in rows[:-1]]
        whole = head == "estimate,value" and all(map(isfinite, numbers))
        whole = whole and len(numbers) == len(names) == len(ends)
        written = StringIO()
        csv.writer(written, lineterminator="\n").writerows(zip(names, map(repr, numbers), strict=True))
        whole = whole and written.getvalue() == "\n".join(rows)
    except (OSError, ValueError) as error:
        require_memory(error)
        whole = False
    if not whole:
        return Check("estimate", holds=False, detail=f"{path.name} is not a list of these estimates")
    for name, value, (low, high) in zip(names, numbers, ends, strict=True):
        place = round((Fraction(value) - low) * steps / (high - low))
        if not 0 <= place <= steps or float(low + (high - low) * place / steps) != value:
            return Check("estimate", holds=False, detail=f"{name} is {value}, which is not on its grid")
    return Check("estimate", holds=True)


def file_check(folder: Path, name: str, expected: object, known: Sequence[str]) -> Check:
    """Check the hash of a file of a known name."""
    check = f"{name} unchanged"
    if name not in known:  # so that nothing leads out of the folder
        return Check(check, holds=False, detail="no release has a file of this name")
    try:
        if (kind := special(folder / name, links=False)) is not None:
            return Check(check, holds=False, detail=f"it is {kind}, and not a plain file")
        with (folder / name).open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return Check(check, holds=False, detail="the file is missing")
    except OSError as error:  # no access, or a folder
        require_memory(error)
        return Check(check, holds=False, detail="the file cannot be read")
    return Check.that(check, found == expected, "its SHA-256 differs")


def in_words(error: BaseException) -> str:
    """Return what is wrong, in words that hold nothing from outside."""
    told = isinstance(error, DamagedCertificateError | HoldfastError)
    return str(error).rstrip(".") if told else f"{CERTIFICATE} is damaged: restore it from the release"
