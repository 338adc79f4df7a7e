"""`holdfast init`: a commented example, or a first spec for a file or a database."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.arguments import Json, Quiet, number
from holdfast.cli.reports import print_values
from holdfast.cli.terminal import print_json, terminal
from holdfast.spec.census import write_topdown
from holdfast.spec.census_after import BEFORE
from holdfast.spec.example import write_example
from holdfast.system.errors import SpecError
from holdfast.system.progress import doing

if TYPE_CHECKING:
    from holdfast.releases.first_spec import Wishes


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write the example.")] = Path(),
    full: Annotated[
        bool, typer.Option("--full", help="A larger one, with every kind of invariant and its weights.")
    ] = False,
    topdown: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Persons and units of the 2020 redistricting data: pl94 with its 2,016 cells, or small;"
            " or dhc, by sex and age on top of that.",
        ),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE", help="Write a first spec for this file or database."),
    ] = None,
    table: Annotated[
        str | None, typer.Option(metavar="NAME", help="With --from a database: its table or view.")
    ] = None,
    query: Annotated[
        str | None, typer.Option(metavar="SELECT", help="With --from a database: one SELECT.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ATTRIBUTE", help="Counts that are published exactly, or total: any number of them."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="The same as DIR; with --from, the spec, beside FILE (or here) unless given."
        ),
    ] = None,
    interactive: Annotated[
        bool, typer.Option("--interactive", help="With --from: ask four questions first, in a terminal.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the example files, or a first spec for data of yours; nothing is overwritten."""
    if file is not None:
        if full or topdown is not None or folder != Path():
            raise SpecError(
                "--from FILE writes a spec for a file: leave out --full, --topdown and DIR, and name the"
                " spec by --out."
            )
        if table is not None and query is not None:
            raise SpecError("--table and --query are two sources of one table: leave one out.")
        _from(_Source(file, table, query), tuple(keep or ()), out, interactive=interactive, as_json=as_json)
        return
    if keep or interactive or table is not None or query is not None:
        raise SpecError(
            "--keep, --interactive, --table and --query are for data of yours: name them with --from FILE."
        )
    where = folder if out is None else out
    if topdown is not None and full:
        raise SpecError("--full and --topdown are two examples: leave one out.")
    spec, *tables = write_example(where, full=full) if topdown is None else write_topdown(where, topdown)
    if as_json:
        print_values(spec=spec, files=[str(path) for path in (spec, *tables)])
        return
    console = terminal()
    console.print(f"Wrote {spec} and its {_tables(tables)}.", soft_wrap=True)
    first, *later = _steps(where, spec, topdown)
    console.print(f"Next: holdfast {first}", soft_wrap=True)
    for step in later:
        console.print(f"Then: holdfast {step}", soft_wrap=True)


def _steps(folder: Path, spec: Path, topdown: str | None) -> list[str]:
    """Return the commands that release an example, in order: one stands on what another one released."""
    if topdown not in ("small", "dhc"):
        return [f"release {spec} --out release"]
    before, persons = folder / BEFORE, folder / "topdown.toml"
    steps = [] if before.exists() else [f"release {persons} --out {before}"]
    if topdown == "dhc":
        if steps and not persons.exists():
            steps.insert(0, f"init {folder} --topdown small" if folder != Path() else "init --topdown small")
        steps.append(f"release {spec} --out {folder / 'dhc'}")
    return steps or [f"release {spec} --out release"]


def _tables(paths: list[Path]) -> str:
    names = " and ".join(map(str, paths))
    return f"table {names}" if len(paths) == 1 else f"tables {names}"


@dataclass(frozen=True)
class _Source:
    """What to look at."""

    data: str
    table: str | None
    query: str | None


def _from(
    source: _Source, keep: tuple[str, ...], out: Path | None, *, interactive: bool, as_json: bool
) -> None:
    """Write a first spec for a file, and say what it has."""
    from holdfast.releases.first_spec import Wishes, first_spec

    wishes = Wishes(keep)
    if interactive:
        if not in_a_terminal():
            raise SpecError(
                "--interactive asks in a terminal, and this is none: leave it out, and use --keep."
            )
        wishes = _wishes(keep)
    with doing("looking at the data"):
        written = first_spec(source.data, out, wishes, table=source.table, query=source.query)
    if as_json:
        print_json(written)
        return
    console, found = terminal(), written.proposal
    what = "records" if found.count is None else f"counts in {found.count}"
    console.print(
        f"Wrote {written.spec}: {what}, by {', '.join(found.cells) or 'a geography'}.", soft_wrap=True
    )
    for name, reason in found.left_out.items():
        console.print(f"Left out {name}: {reason}.", soft_wrap=True)
    for doubt in found.doubts:
        console.print(f"Look at this: {doubt}", soft_wrap=True)
    console.print(
        "Names and levels in it come from the data: read it before anybody else does.", soft_wrap=True
    )
    console.print(f"Next: holdfast plan {written.spec}", soft_wrap=True)


def in_a_terminal() -> bool:
    """Return whether somebody is there to answer."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _wishes(keep: tuple[str, ...]) -> "Wishes":
    """Ask who is protected, what is exact, for whom the table is, and which budget it has."""
    from holdfast.releases.first_spec import Wishes

    unit = typer.prompt("Who is protected? The noun for whom a row or a count stands", default="person")
    exact = typer.prompt(
        "What must be exact? Attributes with commas, total, or nothing", default=", ".join(keep) or "nothing"
    )
    readers = typer.prompt("For whom is the table?", default="the public")
    budget = typer.prompt("Which budget (epsilon)? 1/2 protects more, 2 is more accurate", default="1")
    names = tuple(name.strip() for name in exact.split(",") if name.strip() not in ("", "nothing"))
    unit = "record" if unit.strip() == "person" else unit.strip()
    return Wishes(names, unit, number("the budget", budget), readers)
