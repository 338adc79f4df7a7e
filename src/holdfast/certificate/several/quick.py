"""The quick part of a verification, for one table or several: the seal, the files, the exact counts.

As for one table [holdfast, certificate/quick.py] it reads plain JSON and counts for itself. Margins that
several tables keep are added up from the released files of each, and must be the same numbers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.certificate.checks import Check, Verification
from holdfast.certificate.quick import (
    DAMAGE,
    PAGE,
    SEEDED,
    Cells,
    Counts,
    DamagedError,
    Sums,
    file_check,
    output_checks,
    read_counts,
    warnings_of,
)
from holdfast.certificate.quick import verify_quick as verify_one_quick
from holdfast.certificate.strangers import strangers
from holdfast.certificate.text import CERTIFICATE, SEVERAL, digest, flaw, parse, read_text
from holdfast.errors import HoldfastError
from holdfast.machine import require_memory
from holdfast.plain import plain_name


def verify_quick(folder: str | Path) -> Verification:
    """Check files and invariants of a release folder, of one table or several, and derive nothing."""
    folder = Path(folder)
    text = read_text(folder)
    content = parse(text, str(folder / CERTIFICATE), several=True)
    if content["format"] != SEVERAL:
        return verify_one_quick(folder)
    checks = tuple(quick_checks(folder, text, content))
    warnings = (*warnings_of_all(content), *strangers(folder, content))
    return Verification(folder, checks, warnings, quick=True)


def quick_checks(
    folder: Path, text: str, content: Mapping[str, Any], *, page: bool = True
) -> Iterator[Check]:
    """Check the seal, every file, every table against its chapter, and the tables against each other."""
    body = {key: value for key, value in content.items() if key != "digest"}
    yield Check.that("certificate unchanged", digest(body) == content.get("digest"), "its digest differs")
    wrong = flaw(text, content)
    yield Check.that("certificate text", not wrong, wrong)
    try:
        files = dict(content["files"])
        chapters = {str(item["name"]): item["certificate"] for item in content["tables"]}
        outputs = {name: _output(name, files) for name in chapters}
        if len(chapters) != len(content["tables"]) or {*outputs.values(), PAGE} != set(files):
            raise DamagedError("the files are not those of the tables and the page")
        quoted = content.get("quoted_formulas") is True
        stated = [(str(name), each) for name, each in chapters.items()]
    except DAMAGE:
        yield Check("files", holds=False, detail="the certificate does not name one file for each table")
        return
    for file, expected in files.items():
        if page or file != PAGE:
            yield file_check(folder, file, expected, (*outputs.values(), PAGE))
    kept = True
    for name, chapter in stated:
        told = {**chapter, "quoted_formulas": quoted} if isinstance(chapter, dict) else {}
        for check in output_checks(folder, outputs[name], files[outputs[name]], told):
            kept &= check.holds
            yield replace(check, name=f"{name}: {check.name}")
    if kept:
        yield from _agreements(folder, content, outputs, quoted=quoted)


def _output(name: str, files: Mapping[str, str]) -> str:
    (found,) = (file for file in (f"{name}.csv", f"{name}.parquet") if file in files)
    if not plain_name(found):
        raise DamagedError("a table has no name that a file could have")
    return found


def _agreements(
    folder: Path, content: Mapping[str, Any], outputs: Mapping[str, str], *, quoted: bool
) -> Iterator[Check]:
    """Check that tables which keep the same margin give it the same numbers."""
    read: dict[str, tuple[Cells, Counts]] = {}
    try:
        for item in content["tables"]:
            cells, file = Cells.of(item["certificate"]["table"]), outputs[item["name"]]
            written = cells.quoted if quoted and file.endswith(".csv") else cells
            read[item["name"]] = cells, read_counts(folder / file, written)
        for shared in content["shared"]:
            names = tuple(shared["attributes"])
            margins = [_margin(*read[table], names) for table in shared["exact"]]
            if len(margins) > 1:
                what, tables = " by ".join(names) or "the total", " and ".join(shared["exact"])
                same = all(margin == margins[0] for margin in margins)
                yield Check.that(f"{what} agrees in {tables}", same, "the tables give other numbers")
    except (*DAMAGE, HoldfastError) as error:
        require_memory(error)
        yield Check("shared", holds=False, detail="the certificate is damaged: restore it from the release")


def _margin(cells: Cells, counts: Counts, names: tuple[str, ...]) -> dict[tuple[str, ...], int]:
    """Return the counts of a margin other than 0, by levels."""
    return Sums("", (), cells, names, {}, None).by_levels(counts)


def warnings_of_all(content: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what everybody should be told of all tables together, and of each."""
    found = [*warnings_of(content)]
    chapters = content.get("tables")
    for item in chapters if isinstance(chapters, list) else ():
        chapter = item.get("certificate") if isinstance(item, dict) else None
        told = warnings_of(chapter) if isinstance(chapter, dict) else ()
        found += [f"{item['name']}: {said}" for said in told if said != SEEDED and "name" in item]
    return tuple(found)
