"""`holdfast intervals`."""

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import typer
from rich.table import Table
from scipy.sparse import csr_array

from holdfast.certificate.noise import noise_of
from holdfast.certificate.published import Published, read_published
from holdfast.certificate.verify import verify
from holdfast.cli import verify as verify_command
from holdfast.cli.guarantee import number
from holdfast.cli.terminal import terminal
from holdfast.errors import SpecError
from holdfast.inference.intervals import Intervals, intervals, simultaneous
from holdfast.tables.invariants import margin_matrix
from holdfast.tables.schema import Schema
from holdfast.tables.selection import chosen_levels

MOST_ROWS = 40  # rows on the terminal; --json gives all


def run(
    folder: Path,
    *,
    margin: str | None,
    where: Sequence[str],
    level: str,
    together: bool,
    as_json: bool,
) -> None:
    """Print estimates with confidence intervals for cells, a margin or a selection of a release."""
    asked = number("--level", level)
    if asked >= 1:
        raise SpecError(f"--level is {level}: give a probability below 1, such as 0.9.")
    if not verify(folder).kept:
        verify_command.run(folder, as_json=as_json)  # says what is wrong, and exits with 1
    published = read_published(folder)
    names, selection = _names(published.schema, margin, where), _where(published.schema, where)
    matrix, kept = margin_matrix(published.schema, names, selection)
    found = _intervals(published, matrix, asked, together=together)
    levels = _levels(published.schema, names, kept.tolist())
    if as_json:
        typer.echo(json.dumps(_report(found, names, selection, levels, together=together), indent=2))
        return
    _print(found, names, selection, levels, together=together)


def _intervals(published: Published, matrix: csr_array, level: Fraction, *, together: bool) -> Intervals:
    possible = np.flatnonzero(published.schema.possible)
    counts, queries = published.table.counts[possible], csr_array(matrix[:, possible])
    noise = noise_of(published.content)
    ask = simultaneous if together else intervals
    return ask(counts, noise, published.universe.matrix, queries, level)


def _names(schema: Schema, margin: str | None, where: Sequence[str]) -> tuple[str, ...]:
    """Return the attributes of the rows: of every cell, unless a margin or a selection is asked for."""
    if margin is None:
        return () if where else schema.names
    names = tuple(name.strip() for name in margin.split(","))
    for name in names:
        schema.axis(name)
    if len(set(names)) < len(names):
        raise SpecError(f"--margin {margin} names an attribute twice: name each once.")
    return names


def _where(schema: Schema, where: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the levels of each attribute that is named; several levels of one add up."""
    chosen: dict[str, list[str]] = {}
    for text in where:
        name, equals, level = text.partition("=")
        if not equals:
            raise SpecError(f'--where {text!r} is not a selection: write it as "sex=f".')
        chosen.setdefault(name.strip(), []).append(level.strip())
    return chosen_levels(schema, chosen, place="--where") if chosen else {}


def _levels(schema: Schema, names: Sequence[str], kept: Sequence[int]) -> list[tuple[str, ...]]:
    every = list(product(*(schema.attribute(name).levels for name in names)))
    return [every[row] for row in kept]


def _report(
    found: Intervals,
    names: Sequence[str],
    selection: Mapping[str, tuple[str, ...]],
    levels: Sequence[tuple[str, ...]],
    *,
    together: bool,
) -> dict[str, object]:
    columns = (found.estimate, found.low, found.high, found.determined)
    return {
        "level": str(found.level),
        "simultaneous": together,
        "draws": found.draws,
        "where": {name: list(some) for name, some in selection.items()},
        "rows": [
            {
                "cell": dict(zip(names, cell, strict=True)),
                "estimate": estimate,
                "low": low,
                "high": high,
                "kept_exactly": determined,
            }
            for cell, estimate, low, high, determined in zip(
                levels, *(column.tolist() for column in columns), strict=True
            )
        ],
    }


def _print(
    found: Intervals,
    names: Sequence[str],
    selection: Mapping[str, tuple[str, ...]],
    levels: Sequence[tuple[str, ...]],
    *,
    together: bool,
) -> None:
    console = terminal()
    if selection:
        words = " and ".join(f"{name} = {' or '.join(some)}" for name, some in selection.items())
        console.print(f"Where {words}:", soft_wrap=True)
    table = Table()
    for name in names:
        table.add_column(name)
    for title in ("estimate", "low", "high"):
        table.add_column(title, justify="right")
    table.add_column("")
    for i, cell in enumerate(levels[:MOST_ROWS]):
        note = "kept exactly" if found.determined[i] else ""
        table.add_row(*cell, f"{found.estimate[i]:,}", f"{found.low[i]:,}", f"{found.high[i]:,}", note)
    console.print(table)
    if len(levels) > MOST_ROWS:
        console.print(f"{len(levels) - MOST_ROWS:,} more rows: --json gives all.")
    covers = "All intervals together cover" if together else "Each interval covers"
    console.print(
        f"{covers} what the confidential table counts with probability {float(found.level):g} or more, over"
        " the noise of the release. They come from the law of that noise, which invariants make narrower.",
        soft_wrap=True,
    )
