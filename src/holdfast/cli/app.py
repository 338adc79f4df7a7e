"""The commands, and how errors leave the program."""

import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from holdfast.errors import HoldfastError
from holdfast.version import VERSION

app = typer.Typer(
    name="holdfast",
    help="Publish some statistics exactly; protect everyone behind the rest.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
audit = typer.Typer(
    help="Say what invariants leave to protect, and what guarantees are worth.", no_args_is_help=True
)
app.add_typer(audit, name="audit")
ledger_app = typer.Typer(help="Keep an account of the privacy budget of a table.", no_args_is_help=True)
app.add_typer(ledger_app, name="ledger")

SpecFile = Annotated[Path, typer.Argument(metavar="SPEC", help="The spec, a TOML file.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
LedgerFile = Annotated[Path, typer.Argument(metavar="FILE", help="The ledger, an SQLite file.")]
Amount = Annotated[str | None, typer.Option(metavar="NUMBER")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"holdfast {VERSION}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Publish some statistics exactly; protect everyone behind the rest."""
    del version


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="Where to write the example.")] = Path(),
) -> None:
    """Write a commented example: holdfast.toml and its table children.csv."""
    from holdfast.cli.init import run  # noqa: PLC0415

    run(folder)


@app.command()
def release(
    spec: SpecFile,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The new folder of the release.")],
    parquet: Annotated[bool, typer.Option("--parquet", help="Write the table as Parquet.")] = False,
    seed: Annotated[
        int | None, typer.Option(min=0, help="For tests and studies only: such a release is NOT private.")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Charge the release to this ledger first.")
    ] = None,
) -> None:
    """Draw a release that keeps every invariant, and certify it."""
    from holdfast.cli.release import run  # noqa: PLC0415

    run(spec, out, parquet=parquet, seed=seed, ledger=ledger)


@app.command()
def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a release.")],
    as_json: Json = False,
) -> None:
    """Check a release against its certificate: exit 0 if all is kept, 1 if not."""
    from holdfast.cli.verify import run  # noqa: PLC0415

    run(folder, as_json=as_json)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="The new folder of the demo.")] = Path(
        "demo-release"
    ),
    seed: Annotated[
        int | None, typer.Option(min=0, help="Repeat a demo: such a release is NOT private.")
    ] = None,
) -> None:
    """Release a table of four counties with both margins kept, and verify it."""
    from holdfast.cli.demo import run  # noqa: PLC0415

    run(out, seed=seed)


@audit.command()
def universe(spec: SpecFile, as_json: Json = False) -> None:
    """Say what the invariants of a spec leave to protect. It reads the confidential table."""
    from holdfast.cli.universe import run  # noqa: PLC0415

    run(spec, as_json=as_json)


@audit.command()
def exposure(spec: SpecFile, as_json: Json = False) -> None:
    """Name the cells that the invariants reveal by themselves. For the curator's eyes only."""
    from holdfast.cli.exposure import run  # noqa: PLC0415

    run(spec, as_json=as_json)


@audit.command()
def guarantee(
    epsilon: Amount = None,
    delta: Amount = None,
    rho: Amount = None,
    mu: Amount = None,
    semi_adjacency: Annotated[
        int | None, typer.Option(min=1, metavar="A", help="How many records one person's change takes.")
    ] = None,
    spec: Annotated[
        Path | None, typer.Argument(metavar="[SPEC]", help="Take the semi-adjacency from these invariants.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what an advertised guarantee is worth once invariants are published."""
    from holdfast.cli.guarantee import run  # noqa: PLC0415

    run(epsilon, delta, rho, mu, semi_adjacency, spec, as_json=as_json)


@audit.command()
def compose(
    delta: Annotated[str, typer.Option(metavar="NUMBER", help="Where epsilon is read.")],
    epsilon: Annotated[list[str] | None, typer.Option(metavar="NUMBER", help="A pure release.")] = None,
    rho: Annotated[list[str] | None, typer.Option(metavar="NUMBER", help="A zCDP release.")] = None,
    mu: Annotated[list[str] | None, typer.Option(metavar="NUMBER", help="A Gaussian DP release.")] = None,
    semi_adjacency: Annotated[
        int, typer.Option(min=1, metavar="A", help="Records that one change takes.")
    ] = 1,
    as_json: Json = False,
) -> None:
    """Compose releases under invariants in both orders; repeat an option for each release."""
    from holdfast.cli.compose import run  # noqa: PLC0415

    run(epsilon or [], rho or [], mu or [], semi_adjacency, delta, as_json=as_json)


@audit.command("census-2020")
def census_2020(
    as_json: Json = False,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw it to this .svg, .png or .pdf file.")
    ] = None,
) -> None:
    """Tell what the 2020 US census guarantees under its invariants."""
    from holdfast.cli.census import run  # noqa: PLC0415

    run(as_json=as_json, picture=picture)


@ledger_app.command("open")
def open_ledger(
    file: LedgerFile,
    budget: Annotated[str | None, typer.Option(metavar="EPSILON", help="A budget of epsilon.")] = None,
    rho: Annotated[str | None, typer.Option(metavar="RHO", help="A budget of rho, for zCDP.")] = None,
    mu: Annotated[str | None, typer.Option(metavar="MU", help="A budget of mu, for Gaussian DP.")] = None,
) -> None:
    """Open a new account; its secret salt is written beside it."""
    from holdfast.cli import ledger  # noqa: PLC0415

    ledger.open_ledger(file, budget=budget, rho=rho, mu=mu)


@ledger_app.command("show")
def show_ledger(file: LedgerFile, as_json: Json = False) -> None:
    """Show the budget, what is spent and what is left, and every release."""
    from holdfast.cli import ledger  # noqa: PLC0415

    ledger.show(file, as_json=as_json)


@ledger_app.command("verify")
def verify_ledger(file: LedgerFile, as_json: Json = False) -> None:
    """Check that no row was changed, added or removed: exit 0 if so, 1 if not."""
    from holdfast.cli import ledger  # noqa: PLC0415

    ledger.verify(file, as_json=as_json)


@ledger_app.command("export")
def export_ledger(
    file: LedgerFile,
    csv: Annotated[bool, typer.Option("--csv", help="Write CSV instead of JSON.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write to a file.")] = None,
) -> None:
    """Write all rows as JSON or CSV."""
    from holdfast.cli import ledger  # noqa: PLC0415

    ledger.export(file, as_csv=csv, out=out)


def main() -> None:
    """Run the command line."""
    if isinstance(sys.stdout, TextIOWrapper):  # a name that the terminal cannot show is spelt out
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="holdfast")
    except HoldfastError as error:
        sys.stderr.write(f"error: {' '.join(str(error).split())}\n")  # one line, whatever names hold
        sys.exit(2)
