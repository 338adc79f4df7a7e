"""A first spec for a file: what it seems to be, written down for a curator to correct.

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
from holdfast.data.read import read_table
from holdfast.data.survey import survey
from holdfast.data.table import Table
from holdfast.mechanisms.catalogue import answer
from holdfast.public import publish
from holdfast.releases.expected import AskedBudgets, BudgetErrors, at_budgets
from holdfast.sampling.entropy import SeededEntropy
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
    """What a curator says before the file is looked at."""

    keep: tuple[str, ...] = ()
    """Attributes whose counts are published exactly; "total" is the number of all."""
    unit: str = "record"
    budget: Fraction = Fraction(1)
    readers: str = ""


@dataclass(frozen=True)
class FirstSpec:
    """A spec that was written, and what it says."""

    spec: Path
    text: str
    cells: tuple[str, ...]
    count: str | None
    left_out: Mapping[str, str]
    mechanism: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name; levels stay in the spec."""
        return {
            "spec": str(self.spec),
            "cells": list(self.cells),
            "count": self.count,
            "left_out": dict(self.left_out),
            "mechanism": self.mechanism,
        }


def first_spec(file: str | Path, out: str | Path | None = None, wishes: Wishes | None = None) -> FirstSpec:
    """Look at a file and write a commented spec for it, beside it unless told otherwise.

    Nothing is overwritten.
    """
    file, wishes = Path(file), wishes or Wishes()
    out = (file if file.is_dir() else file.parent) / NAME if out is None else Path(out)
    require_new_spec(out)
    writing = written_as(file)
    keep = tuple(name for name in wishes.keep if name != TOTAL)
    with of_a_file():
        found, frame = survey(open_file(file, writing=writing), keep)
    known = (TOTAL, *found.levels, *found.prefixes)
    for name in wishes.keep:
        if name not in known:
            raise SpecError(
                f"{option('keep')} {name}: it is no attribute of the table, and margins are of attributes:"
                f" name one of {', '.join(known)}."
            )
    head = "\n".join(data_lines(found, _relative(file, out), writing.separator, writing.encoding))
    mechanism, body = _protected(found, frame, head, wishes)
    text = f"{head}\n\n{body}\n"
    try:
        write_new_text(out, text)
    except OSError as error:
        raise SpecError(
            f"{out} cannot be written ({error.strerror}): name another place with {option('out')}."
        ) from None
    return FirstSpec(out, text, tuple(found.levels), found.count, found.left_out, mechanism)


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
    line = begin.partition(b"\n")[0].decode(encoding, "replace")
    separator = max(",;\t|", key=line.count)
    return Writing(separator if separator in line else ",", encoding)


def _protected(found: DataProposal, frame: pl.DataFrame, head: str, wishes: Wishes) -> tuple[str, str]:
    """Return the first mechanism that draws the table, and the sections that follow [data]."""
    failed: HoldfastError | None = None
    for standard, budget, mechanism in TRIED:
        target = target_lines(
            standard, budget, wishes.budget, mechanism, unit=wishes.unit, readers=wishes.readers
        )
        body = "\n".join((*kept_lines(wishes.keep), *target))
        try:
            errors = _errors(Spec.of(tomllib.loads(f"{head}\n\n{body}")), found, frame, budget, wishes)
        except HoldfastError as error:
            failed = failed or error
            continue
        return mechanism, "\n".join((body, *_comments(errors)))
    if failed is None:
        raise AssertionError("some mechanism was tried")
    raise failed


def _errors(
    spec: Spec, found: DataProposal, frame: pl.DataFrame, budget: str, wishes: Wishes
) -> tuple[BudgetErrors, ...]:
    """Return the expected errors at three budgets; raises HoldfastError where the table cannot be drawn."""
    name = found.count or "count"
    data = spec.data.model_copy(
        update={"path": None, "count": name, "aggregate": True, "omit": {}, "missing": ()}
    )
    frame = frame.with_columns(pl.lit(1).alias(name))
    schema = read_table(spec.model_copy(update={"data": data}), frame).table.schema
    # one record in each cell: what is worked out below is a function of the cells alone
    stand_in = Table(schema, np.ones(schema.size, dtype=np.int64))
    public = publish(spec, stand_in, ())
    mechanism = answer(spec, public)
    if mechanism.noise is None:
        raise SpecError(f"{mechanism.name} depends on the table")
    mechanism.noise.sample(SeededEntropy(0), 1)
    asked = AskedBudgets(budget, tuple(wishes.budget * one for one in BUDGETS))
    return at_budgets(mechanism, public, spec.privacy, asked)


def _comments(errors: Sequence[BudgetErrors]) -> Iterator[str]:
    """Yield the expected errors as comments, a line for each kind of counts."""
    rows = [("counts", *(f"{each.name} {rational(each.budget)}" for each in errors))]
    last = len(errors[0].expected) - 1
    for place, each in enumerate(errors[0].expected):
        if len(each.of.names) > 1 and place < last:
            continue  # two at a time are for `plan` to tell
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


def _relative(file: Path, out: Path) -> str:
    """Return the file as a spec names it: by its own folder where it is in that or below."""
    folder, path = out.parent.absolute(), file.absolute()
    return Path(os.path.relpath(path, folder)).as_posix() if path.is_relative_to(folder) else str(path)
