"""A first spec for a file or a database: what it seems to be, written down for a curator to correct.

The mechanism is the first that can draw such a table, and its expected errors are those of a table with one
record in each cell: they follow from the cells and from what is kept, and not from the counts.
"""

import codecs
import gzip
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from holdfast.data.files import PLAIN, TEXTS, Writing, kind_of, open_file, parts_of, require_plain
from holdfast.data.lakes import copied
from holdfast.data.read import ReadTable, read_table
from holdfast.data.schema import Schema
from holdfast.data.survey import survey, survey_database
from holdfast.data.table import Table
from holdfast.mechanisms.catalogue import answer
from holdfast.mechanisms.errors.counts import Counts, usual
from holdfast.public import publish
from holdfast.releases.expected import BudgetErrors, WhatIfBudgets, at_budgets
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.data import Data
from holdfast.spec.databases import SCHEMES, is_address
from holdfast.spec.model import Spec
from holdfast.spec.proposal import TOTAL, DataProposal, data_lines, kept_lines, target_lines
from holdfast.system.errors import DataError, HoldfastError, SpecError
from holdfast.system.files import special, write_new_text
from holdfast.system.text import plain_number, rational, visible
from holdfast.system.ways import of_a_file, option

NAME = "holdfast.toml"
TRIED = (
    ("pure", "epsilon", "lattice-laplace"),
    ("zcdp", "rho", "lattice-gaussian"),
    ("pure", "epsilon", "k-norm"),
)
"""Standards, budgets and mechanisms, the first that can draw the table is taken."""
BUDGETS = (Fraction(1, 2), Fraction(1), Fraction(2))


@dataclass(frozen=True)
class Wishes:
    """What a curator says before the file is looked at.

    >>> hf.Wishes(keep=("county",), unit="person").unit
    'person'
    """

    keep: tuple[str, ...] = ()
    """Attributes whose counts are published exactly; "total" is the number of all."""
    unit: str = "record"
    budget: Fraction = Fraction(1)
    readers: str = ""


@dataclass(frozen=True, repr=False)
class ProposedSpec:
    """A first spec before it is written: what the data seem to be, and the text that says so.

    Levels, names and doubts come from confidential data.

    >>> _ = people.write_csv("people.csv")
    >>> hf.propose("people.csv").mechanism
    'lattice-laplace'
    """

    text: str
    """The spec, with comments: it releases as it is."""
    spec: Spec
    """What the text says."""
    data: DataProposal
    mechanism: str
    errors: tuple[BudgetErrors, ...]
    """Expected errors at three budgets, the asked one in the middle."""
    doubts: tuple[str, ...]
    """What a curator should look at before a release, a sentence each with the line that mends it."""

    @property
    def cells(self) -> tuple[str, ...]:
        """The attributes, apart from those of a geography."""
        return tuple(self.data.levels)

    @property
    def count(self) -> str | None:
        """The column of counts; None where every row is one record."""
        return self.data.count

    @property
    def left_out(self) -> Mapping[str, str]:
        """The columns that are not used, and why."""
        return self.data.left_out

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name; levels stay in the text."""
        return {
            "cells": list(self.cells),
            "count": self.count,
            "within": dict(self.data.within),
            "left_out": dict(self.left_out),
            "mechanism": self.mechanism,
            "expected_error": [each.to_dict() for each in self.errors],
            "doubts": list(self.doubts),
        }


@dataclass(frozen=True, repr=False)
class FirstSpec:
    """A spec that was written."""

    spec: Path
    proposal: ProposedSpec

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {"spec": str(self.spec), **self.proposal.to_dict()}


def propose(
    data: str | Path,
    wishes: Wishes | None = None,
    *,
    table: str | None = None,
    query: str | None = None,
    folder: Path | None = None,
) -> ProposedSpec:
    """Look at a file or a database, and return a first spec for it: nothing is written.

    A database is an address of PostgreSQL, or a file of DuckDB or SQLite, and needs a ``table`` or a
    ``query`` unless it has one table. The spec is as it would stand in a folder; without one, in that of the
    file.

    >>> _ = people.write_csv("people.csv")
    >>> found = hf.propose("people.csv", hf.Wishes(keep=("county",)))
    >>> found.cells, found.count
    (('county', 'sex'), 'n')
    """
    wishes = wishes or Wishes()
    keep = tuple(name for name in wishes.keep if name != TOTAL)
    folder = beside(data) if folder is None else folder
    if of_database(data):
        found, frame, source = _look_at_database(str(data), table, query, keep, folder)
    elif table is not None or query is not None:
        raise SpecError(
            f"{data} is no database, and only a database has tables and queries: name the file alone."
        )
    else:
        found, frame, source = _look_at_file(str(data), keep, folder)
    known = (TOTAL, *found.levels, *found.prefixes)
    for name in wishes.keep:
        if name not in known:
            raise SpecError(
                f"{option('keep')} {name}: it is no attribute of the table, and margins are of attributes:"
                f" name one of {', '.join(known)}."
            )
    with of_a_file():
        return _protected(found, frame, "\n".join(data_lines(found, source)), wishes)


Looked = tuple[DataProposal, pl.DataFrame, Mapping[str, str]]
"""What data seem to be, each combination of levels that occurs, and where they are, as [data] says it."""


def _look_at_file(data: str, keep: tuple[str, ...], folder: Path) -> Looked:
    stored = "://" in data
    file = copied(data) if stored else Path(data)
    writing = written_as(file)
    with of_a_file():
        found, frame = survey(open_file(file, writing=writing), keep)
    source = {"path": data if stored else _relative(file, folder)}
    if writing.separator != ",":
        source["separator"] = writing.separator
    if writing.encoding != "utf-8":
        source["encoding"] = writing.encoding
    return found, frame, source


def _look_at_database(
    data: str, table: str | None, query: str | None, keep: tuple[str, ...], folder: Path
) -> Looked:
    from holdfast.data.relation_rows import relation_rows, the_table  # noqa: PLC0415 - for databases alone

    where = data if is_address(data) else _relative(Path(data), folder)
    Data(database=where, query="SELECT 1")  # an address with a secret goes no further
    if table is None and query is None:
        table = the_table(where, folder)
    asked = Data(database=where, table=table, query=query)
    with of_a_file():
        found, frame = survey_database(relation_rows(asked, folder), keep)
    named = {"database": where, "table": table, "query": query}
    return found, frame, {key: value for key, value in named.items() if value is not None}


DATABASES = (".db", ".sqlite", ".sqlite3", ".duckdb", ".ddb")


def of_database(data: str | Path) -> bool:
    """Whether data are a database by their address, or by how the name of a file ends."""
    text = str(data)
    return text.partition("://")[0] in SCHEMES if "://" in text else Path(text).suffix.lower() in DATABASES


def beside(data: str | Path) -> Path:
    """Return the folder that a first spec stands in unless told otherwise: that of the file, or this one."""
    if "://" in str(data):
        return Path()
    path = Path(data)
    return path if path.is_dir() else path.parent


def first_spec(
    data: str | Path,
    out: str | Path | None = None,
    wishes: Wishes | None = None,
    *,
    table: str | None = None,
    query: str | None = None,
) -> FirstSpec:
    """Look at data and write a first spec for them, beside a file unless told otherwise.

    Nothing is overwritten. See `propose` for what data may be.

    >>> _ = people.write_csv("people.csv")
    >>> hf.first_spec("people.csv").spec.name
    'holdfast.toml'
    """
    out = beside(data) / NAME if out is None else Path(out)
    require_new_spec(out)
    proposal = propose(data, wishes, table=table, query=query, folder=out.parent)
    try:
        write_new_text(out, proposal.text)
    except OSError as error:
        raise SpecError(
            f"{out} cannot be written ({error.strerror}): name another place with {option('out')}."
        ) from None
    return FirstSpec(out, proposal)


def require_new_spec(out: Path) -> None:
    """Raise SpecError where something stands at a path, or no folder holds it."""
    try:
        special(out, links=False)
    except FileNotFoundError:
        if out.parent.is_dir():
            return
        raise SpecError(
            f"{out.parent} is no folder: make it, or name another place with {option('out')}."
        ) from None
    except OSError as error:
        raise SpecError(
            f"{out} cannot be written ({error.strerror}): name another place with {option('out')}."
        ) from None
    raise SpecError(f"{out} exists and is not overwritten: name another place with {option('out')}.")


def written_as(path: Path) -> Writing:
    """Return the separator and the encoding that a file of text seems to have."""
    path = (parts_of(path) or [path])[0]
    kind, packed = kind_of(path)
    if kind not in TEXTS:
        return PLAIN
    require_plain(path)
    encoding, begin = "utf-8", b""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with gzip.open(path) if packed else path.open("rb") as file:
            while block := file.read(1 << 22):
                begin = begin or block
                try:
                    decoder.decode(block)
                except UnicodeDecodeError:
                    encoding = "cp1252"
                    break
    except (OSError, EOFError) as error:
        raise DataError(
            f"{path} cannot be read ({getattr(error, 'strerror', None) or 'it is damaged'}): check it."
        ) from None
    if encoding == "cp1252" and any(sign in begin for sign in (b"\x81", b"\x8d", b"\x8f", b"\x90", b"\x9d")):
        encoding = "latin-1"
    if begin[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        encoding = "utf-16"  # what Excel calls Unicode text
    line = begin.partition(b"\n")[0].decode(encoding, "replace")
    separator = max(",;\t|", key=line.count)
    return Writing(separator if separator in line else ",", encoding)


def _protected(found: DataProposal, frame: pl.DataFrame, head: str, wishes: Wishes) -> ProposedSpec:
    """Return a spec with the first mechanism that draws the table."""
    failed: HoldfastError | None = None
    for standard, budget, mechanism in TRIED:
        target = target_lines(
            standard, budget, wishes.budget, mechanism, unit=wishes.unit, readers=wishes.readers
        )
        text = "\n".join((head, "", *kept_lines(wishes.keep), *target))
        spec = Spec.of(tomllib.loads(text))
        try:
            table = _stand_in(spec, found, frame)
            errors = _errors(spec, table.table.schema, budget, wishes)
        except HoldfastError as error:
            failed = failed or error
            continue
        text = "\n".join((text, *_comments(errors), ""))
        return ProposedSpec(text, spec, found, mechanism, errors, (*found.doubts, *table.warnings))
    if failed is None:
        raise AssertionError("some mechanism was tried")
    raise failed


def _stand_in(spec: Spec, found: DataProposal, frame: pl.DataFrame) -> ReadTable:
    """Read a table that has one record in each combination of levels that occurs."""
    name = found.count or "count"
    data = spec.data.model_copy(
        update={"path": None, "count": name, "aggregate": True, "omit": {}, "missing": (), "wide": None}
        | {"derive": {}, "thousands": "", "database": None, "table": None, "query": None}
    )
    return read_table(spec.model_copy(update={"data": data}), frame.with_columns(pl.lit(1).alias(name)))


def _errors(spec: Spec, schema: Schema, budget: str, wishes: Wishes) -> tuple[BudgetErrors, ...]:
    """Return the expected errors at three budgets; raises HoldfastError where the table cannot be drawn."""
    # one record in each cell: what is worked out below is a function of the cells alone
    public = publish(spec, Table(schema, np.ones(schema.size, dtype=np.int64)), ())
    mechanism = answer(spec, public)
    if mechanism.noise is None:
        raise SpecError(f"{mechanism.name} depends on the table")
    mechanism.noise.sample(SeededEntropy(0), 1)
    asked = WhatIfBudgets(budget, tuple(wishes.budget * one for one in BUDGETS))
    cells = Counts(public.schema.names)
    few = [
        counts for counts in usual(public) if len(counts.names) < 2
    ]  # two at a time are for `plan` to tell
    return at_budgets(mechanism, public, spec.privacy.spending, asked, list(dict.fromkeys((*few, cells))))


def _comments(errors: Sequence[BudgetErrors]) -> Iterator[str]:
    """Yield the expected errors as comments, a line for each kind of counts."""
    rows = [("counts", *(f"{each.name} {rational(each.budget)}" for each in errors))]
    for place, each in enumerate(errors[0].expected):
        sizes = [one.expected[place] for one in errors]
        if each.exact:
            rows.append((each.of.words, *("exact" for _ in sizes)))
        elif all(np.isfinite(one.within_95) for one in sizes):
            rows.append((each.of.words, *(f"± {plain_number(one.within_95)}" for one in sizes)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    yield "# How far counts are expected to be off, 95 % of them no farther:"
    for row in rows:
        cells = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        yield f"#   {visible(row[0]).ljust(widths[0])}  {'  '.join(cells)}"


def _relative(file: Path, folder: Path) -> str:
    """Return the file as a spec in a folder names it: by that folder where it is in it or below."""
    folder, path = folder.absolute(), file.absolute()
    return Path(os.path.relpath(path, folder)).as_posix() if path.is_relative_to(folder) else str(path)
