"""The commands: each calls one function, and `ending` says how the program ends."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.completion import SHELLS, completion_script
from holdfast.cli.ending import exit_code
from holdfast.cli.quiet import be_quiet
from holdfast.cli.several import one_by_one
from holdfast.cli.watch import watched
from holdfast.cli.whole import whole
from holdfast.errors import ReleaseError
from holdfast.version import VERSION

app = typer.Typer(
    name="holdfast",
    help="Publish some statistics exactly; protect everyone behind the rest.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
audit = typer.Typer(help="Say what invariants leave to protect.", no_args_is_help=True)
app.add_typer(audit, name="audit")
ledger_app = typer.Typer(help="Keep an account of the privacy budget of a population.", no_args_is_help=True)
app.add_typer(ledger_app, name="ledger")
certificate_app = typer.Typer(help="Say what certificates are made of.", no_args_is_help=True)
app.add_typer(certificate_app, name="certificate")
test_app = typer.Typer(help="Test a hypothesis about a confidential table.", no_args_is_help=True)
app.add_typer(test_app, name="test")

SEED, DRAWS, RECORDS, ROW = whole(0, 2**63 - 1), whole(0, 10**7), whole(1, 2**53), whole(1, 2**53)
SpecFile = Annotated[Path, typer.Argument(metavar="SPEC", help="The spec, a TOML file.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", callback=be_quiet, help="Print no words and no progress: warnings and errors only."
    ),
]
"""Taken by its callback: commands need not look at it."""
ReportFile = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Write the JSON to this new .json file.")
]
NoProtection = Annotated[
    bool,
    typer.Option(
        "--accept-no-protection", help="Release even if the guarantee is no protection to speak of."
    ),
]
ReleaseFolder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a release.")]
LedgerFile = Annotated[Path, typer.Argument(metavar="FILE", help="The ledger, an SQLite file.")]


def _one_of(out: Path | None, output: Path | None) -> Path:
    """Return the folder that was named by --out, or by its other name."""
    if (out is None) == (output is None):
        raise ReleaseError("a processed table is written to one new folder: name it with --out DIR.")
    return out or output or Path()


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"holdfast {VERSION}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the trace of an unexpected error; also HOLDFAST_DEBUG=1.")
    ] = False,
) -> None:
    """Publish some statistics exactly; protect everyone behind the rest."""
    del version, debug  # `main` looks for --debug itself, wherever it stands


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write the example.")] = Path(),
    full: Annotated[
        bool, typer.Option("--full", help="A larger one, with every kind of invariant and its weights.")
    ] = False,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="The same as DIR.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a commented example that runs as it is."""
    from holdfast.cli.init import run  # noqa: PLC0415

    run(folder if out is None else out, full=full, as_json=as_json)


@app.command()
def release(
    spec: SpecFile,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The new folder of the release.")],
    parquet: Annotated[bool, typer.Option("--parquet", help="Write the table as Parquet.")] = False,
    seed: Annotated[
        int | None,
        typer.Option(
            parser=SEED, metavar="N", help="For tests and studies only: such a release is NOT private."
        ),
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Charge the release to this ledger first.")
    ] = None,
    resume: Annotated[
        int | None,
        typer.Option(parser=ROW, metavar="ROW", help="Draw for a row that was charged and never released."),
    ] = None,
    sign: Annotated[
        Path | None, typer.Option(metavar="KEY", help="Sign the certificate with this private key.")
    ] = None,
    quote_formulas: Annotated[
        bool, typer.Option("--quote-formulas", help="Put ' before names that a spreadsheet would run.")
    ] = False,
    engine: Annotated[
        str,
        typer.Option(metavar="NAME", help="For swapped records and top-down releases: embedded, or spark."),
    ] = "embedded",
    utility: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="For swapped records: the curator's report, beside DIR unless given."
        ),
    ] = None,
    microdata: Annotated[
        bool, typer.Option("--microdata", help="For top-down releases: write one record a person, too.")
    ] = False,
    accept_no_protection: NoProtection = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw a release that keeps every invariant, and certify it."""
    from holdfast.cli.release import run  # noqa: PLC0415

    run(
        spec,
        out,
        parquet=parquet,
        seed=seed,
        ledger=ledger,
        resume=resume,
        sign=sign,
        quote_formulas=quote_formulas,
        as_json=as_json,
        engine=engine,
        utility=utility,
        microdata=microdata,
        accept_no_protection=accept_no_protection,
    )


@app.command()
def keygen(
    key: Annotated[
        Path, typer.Argument(metavar="KEY", help="The new private key; the public one gets .pub at its end.")
    ] = Path("holdfast.key"),
    out: Annotated[Path | None, typer.Option(metavar="KEY", help="The same as KEY.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a pair of keys to sign releases with, and to check signatures."""
    from holdfast.cli.keygen import run  # noqa: PLC0415

    run(key if out is None else out, as_json=as_json)


@app.command()
def plan(spec: SpecFile, out: ReportFile = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """Say how a release would be drawn, without drawing it."""
    from holdfast.cli.plan import run  # noqa: PLC0415

    run(spec, as_json=as_json, out=out)


@app.command()
def compare(
    spec: SpecFile,
    mechanisms: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="As in lattice-laplace,k-norm; all that fit unless given."),
    ] = None,
    draws: Annotated[int, typer.Option(parser=DRAWS, metavar="N", help="Simulated draws of each.")] = 1000,
    seed: Annotated[int, typer.Option(parser=SEED, metavar="N", help="The seed of the simulation.")] = 0,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw it to this .png, .svg or .pdf file.")
    ] = None,
    out: ReportFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare the errors of mechanisms at the target of a spec, by simulation; nothing is released.

    A spec of swapped records is compared with noise on the tabulation of its cells.
    """
    from holdfast.cli.compare import run  # noqa: PLC0415

    run(spec, mechanisms, draws=draws, seed=seed, picture=picture, as_json=as_json, out=out)


@app.command()
def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a release.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Check files and invariants only; derive no guarantee.")
    ] = False,
    public_key: Annotated[
        Path | None, typer.Option(metavar="KEY", help="Check the signature with the publisher's public key.")
    ] = None,
    out: ReportFile = None,
    release: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="For a processed table: the release that it was made of."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check a release or a processed table, and derive again all that it claims: exit 0 or 1."""
    from holdfast.cli.verify import run  # noqa: PLC0415

    run(folder, quick=quick, public_key=public_key, source=release, as_json=as_json, out=out)


@app.command()
def intervals(
    folder: ReleaseFolder,
    margin: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Attributes of a margin, as in sex,age.")
    ] = None,
    where: Annotated[
        list[str] | None, typer.Option(metavar="NAME=LEVEL", help="Only these records; repeat for more.")
    ] = None,
    level: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBER|NAME",
            help="The probability of covering, 0.9 unless given; or a level of the geography, for each of its"
            " nodes. Repeat for both.",
        ),
    ] = None,
    geography: Annotated[
        list[str] | None,
        typer.Option(metavar="CODE...", help="Some nodes of the geography, put together."),
    ] = None,
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Let all intervals cover together.")
    ] = False,
    table: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which table, of a release of several.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write all rows to a new .csv, .parquet or .json."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Give confidence intervals for the cells of a release, or for sums of them."""
    from holdfast.cli.intervals import run  # noqa: PLC0415

    run(
        folder,
        margin=margin,
        where=where or [],
        level=level or [],
        geography=geography or [],
        together=simultaneous,
        out=out,
        as_json=as_json,
        table=table,
    )


@app.command()
def infer(
    folder: ReleaseFolder,
    model: Annotated[Path, typer.Option(metavar="MODEL", help="The model, a TOML file.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The new folder of the posterior.")],
    draws: Annotated[
        int | None,
        typer.Option(parser=DRAWS, metavar="N", help="Draws in all; as the model says unless given."),
    ] = None,
    level: Annotated[str, typer.Option(metavar="NUMBER", help="The probability of intervals.")] = "0.9",
    seed: Annotated[
        int | None, typer.Option(parser=SEED, metavar="N", help="Repeat the draws of another run.")
    ] = None,
    table: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which table, of a release of several.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw rates, proportions and counts from their posterior given a release: no cost."""
    from holdfast.cli.infer import run  # noqa: PLC0415

    run(folder, model, out, draws=draws, level=level, seed=seed, table=table, as_json=as_json)


@app.command()
def postprocess(
    folder: ReleaseFolder,
    method: Annotated[str, typer.Option(metavar="NAME", help="nonnegative-l2, integers-l1 or rounded-l2.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The new folder of the processed table.")
    ] = None,
    output: Annotated[Path | None, typer.Option(metavar="DIR", hidden=True)] = None,
    bias_draws: Annotated[
        int | None,
        typer.Option(
            parser=DRAWS,
            metavar="N",
            help="Simulated releases to measure the bias with; up to 200 unless given.",
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Take negative counts out of a release, keeping the invariants: no cost, but biased."""
    from holdfast.cli.postprocess import run  # noqa: PLC0415

    run(folder, method, _one_of(out, output), bias_draws=bias_draws, as_json=as_json)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="The new folder of the demo.")] = Path(
        "demo-release"
    ),
    seed: Annotated[
        int | None,
        typer.Option(parser=SEED, metavar="N", help="Repeat a demo: such a release is NOT private."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Release a built-in table and verify it."""
    from holdfast.cli.demo import run  # noqa: PLC0415

    run(out, seed=seed, as_json=as_json)


@audit.command()
def universe(spec: SpecFile, out: ReportFile = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """Say what the invariants of a spec leave to protect. It reads the confidential table."""
    from holdfast.cli.universe import run  # noqa: PLC0415

    run(spec, as_json=as_json, out=out)


@audit.command()
def exposure(spec: SpecFile, out: ReportFile = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """Name the cells that the invariants reveal by themselves. For the curator's eyes only."""
    from holdfast.cli.exposure import run  # noqa: PLC0415

    run(spec, as_json=as_json, out=out)


@audit.command()
def guarantee(
    epsilon: Annotated[str | None, typer.Option(metavar="NUMBER", help="An advertised epsilon.")] = None,
    delta: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Its delta; needed to read rho or mu as an epsilon.")
    ] = None,
    rho: Annotated[str | None, typer.Option(metavar="NUMBER", help="An advertised rho (zCDP).")] = None,
    mu: Annotated[str | None, typer.Option(metavar="NUMBER", help="An advertised mu (Gaussian DP).")] = None,
    semi_adjacency: Annotated[
        int | None,
        typer.Option(parser=RECORDS, metavar="A", help="How many records one person's change takes."),
    ] = None,
    spec: Annotated[
        Path | None,
        typer.Argument(metavar="SPEC", help="Take A from its invariants; reads the confidential table."),
    ] = None,
    out: ReportFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say what a guarantee is worth under invariants: give one of --epsilon, --rho, --mu."""
    from holdfast.cli.guarantee import run  # noqa: PLC0415

    run(epsilon, delta, rho, mu, semi_adjacency, spec, as_json=as_json, out=out)


@audit.command("delta-z")
def delta_z(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A class of laws, a TOML file.")],
    epsilon: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Say what this epsilon would promise.")
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw beliefs, or lists of classes, to this .png, .svg or .pdf file."
        ),
    ] = None,
    out: ReportFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say how far a secret moves the data, given what is public. It reads no data."""
    from holdfast.cli.delta_z import run  # noqa: PLC0415

    run(model, epsilon, picture=picture, as_json=as_json, out=out)


@audit.command()
def projection(
    epsilon: Annotated[str, typer.Option(metavar="NUMBER", help="The strength of the noise.")],
    spec: Annotated[
        Path | None, typer.Argument(metavar="[SPEC]", help="A small table of your own, instead of people.")
    ] = None,
    matrix: Annotated[
        str,
        typer.Option("--projection", metavar="NAME", help="Of that table: l2, or a file with a matrix."),
    ] = "l2",
    people: Annotated[
        int | None, typer.Option(parser=RECORDS, metavar="N", help="How many say yes or no.")
    ] = None,
    null: Annotated[
        str | None, typer.Option(metavar="SHARE", help="The share of yes that is tested.")
    ] = None,
    alternative: Annotated[
        list[str] | None, typer.Option(metavar="SHARE", help="A larger share; repeat for more.")
    ] = None,
    design: Annotated[
        str, typer.Option(metavar="NAME", help="What is public: bounds of one count, or the total of two.")
    ] = "bounds",
    delta_z: Annotated[str, typer.Option(metavar="NUMBER", help="How far a secret moves the count.")] = "1",
    level: Annotated[str, typer.Option(metavar="NUMBER", help="The level of the tests.")] = "0.05",
    draws: Annotated[
        int, typer.Option(parser=DRAWS, metavar="N", help="Simulated releases for each share.")
    ] = 0,
    seed: Annotated[int, typer.Option(parser=SEED, metavar="N", help="Of the simulation.")] = 0,
    out: ReportFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say what a test loses when a release is projected: of a count of people, or of your own small table."""
    from holdfast.cli.projection import run, run_table  # noqa: PLC0415

    if spec is not None:
        given = {"--people": people, "--null": null, "--alternative": alternative}
        run_table(spec, epsilon, matrix, given, level=level, as_json=as_json, out=out)
        return
    run(
        people,
        epsilon,
        null,
        alternative or [],
        design=design,
        delta_z=delta_z,
        level=level,
        draws=draws,
        seed=seed,
        as_json=as_json,
        out=out,
    )


@audit.command()
def compose(
    delta: Annotated[str, typer.Option(metavar="NUMBER", help="Where epsilon is stated, such as 1e-10.")],
    epsilon: Annotated[list[str] | None, typer.Option(metavar="NUMBER", help="A pure release.")] = None,
    rho: Annotated[list[str] | None, typer.Option(metavar="NUMBER", help="A zCDP release.")] = None,
    mu: Annotated[list[str] | None, typer.Option(metavar="NUMBER", help="A Gaussian DP release.")] = None,
    semi_adjacency: Annotated[
        int, typer.Option(parser=RECORDS, metavar="A", help="Records that one change takes.")
    ] = 1,
    out: ReportFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compose releases under invariants; repeat an option for each, per changed record."""
    from holdfast.cli.compose import run  # noqa: PLC0415

    run(epsilon or [], rho or [], mu or [], semi_adjacency, delta, as_json=as_json, out=out)


@audit.command()
def swapping(
    stratum_size: Annotated[
        int, typer.Option(parser=RECORDS, metavar="B", help="Records of the largest stratum.")
    ],
    rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="A swap rate, such as 1/20: what it loses.")
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="An epsilon: the two rates that give it.")
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw epsilon by swap rate to this .png, .svg or .pdf file."),
    ] = None,
    out: ReportFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say what permutation swapping loses at a rate, and which rates give an epsilon."""
    from holdfast.cli.swapping_audit import run  # noqa: PLC0415

    run(stratum_size, rate, epsilon, picture=picture, as_json=as_json, out=out)


@audit.command("census-2020")
def census_2020(
    as_json: Json = False,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw it to this .svg, .png or .pdf file.")
    ] = None,
    out: ReportFile = None,
    quiet: Quiet = False,
) -> None:
    """Tell what the 2020 US census guarantees under its invariants."""
    from holdfast.cli.census import run  # noqa: PLC0415

    run(as_json=as_json, picture=picture, out=out)


@ledger_app.command("open")
def open_ledger(
    file: LedgerFile,
    budget: Annotated[str | None, typer.Option(metavar="EPSILON", help="A budget of epsilon.")] = None,
    rho: Annotated[str | None, typer.Option(metavar="RHO", help="A budget of rho, for zCDP.")] = None,
    mu: Annotated[str | None, typer.Option(metavar="MU", help="A budget of mu, for Gaussian DP.")] = None,
    tp: Annotated[
        str | None, typer.Option(metavar="EPSILON", help="A budget of epsilon-TP, given public facts.")
    ] = None,
    rho_tp: Annotated[
        str | None, typer.Option(metavar="RHO", help="A budget of rho-TP: zCDP, given public facts.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Open a new account: give exactly one budget. Its secret salt is written beside it."""
    from holdfast.cli import ledger  # noqa: PLC0415

    ledger.open_ledger(file, budget=budget, rho=rho, mu=mu, tp=tp, rho_tp=rho_tp, as_json=as_json)


@ledger_app.command("show")
def show_ledger(
    file: LedgerFile, out: ReportFile = None, as_json: Json = False, quiet: Quiet = False
) -> None:
    """Show budget, spent, left, and every release."""
    from holdfast.cli import ledger  # noqa: PLC0415

    ledger.show(file, as_json=as_json, out=out)


@ledger_app.command("verify")
def verify_ledger(
    file: LedgerFile,
    release: Annotated[
        list[Path] | None, typer.Option(metavar="DIR", help="A release that must be in it; repeat for more.")
    ] = None,
    without_salt: Annotated[
        bool, typer.Option("--without-salt", help="Leave the seals unchecked, where the salt is not at hand.")
    ] = False,
    out: ReportFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check that the rows are as written, and that releases are in them: exit 0 or 1."""
    from holdfast.cli import ledger  # noqa: PLC0415

    ledger.verify(file, release or [], without_salt=without_salt, as_json=as_json, out=out)


@ledger_app.command("export")
def export_ledger(
    file: LedgerFile,
    csv: Annotated[bool, typer.Option("--csv", help="Write CSV instead of JSON.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON, as without --csv.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write to a new file.")] = None,
    quiet: Quiet = False,
) -> None:
    """Write all rows as JSON or CSV."""
    from holdfast.cli import ledger  # noqa: PLC0415

    ledger.export(file, as_csv=csv, as_json=as_json, out=out)


@certificate_app.command("schema")
def certificate_schema(
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write to this new .json file.")] = None,
    records: Annotated[bool, typer.Option("--records", help="That of swapped records.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, as without it.")] = False,
    quiet: Quiet = False,
) -> None:
    """Print the JSON schema of certificate.json."""
    from holdfast.cli.schema import run  # noqa: PLC0415

    run(out=out, records=records)


@test_app.command("odds-ratio", context_settings={"ignore_unknown_options": True})  # -1 is a bad count
def odds_ratio(
    x11: Annotated[str, typer.Argument(metavar="X11", help="The counts of the table, row by row.")],
    x12: Annotated[str, typer.Argument(metavar="X12")],
    x21: Annotated[str, typer.Argument(metavar="X21")],
    x22: Annotated[str, typer.Argument(metavar="X22")],
    epsilon: Annotated[str | None, typer.Option(metavar="NUMBER", help="The budget, pure.")] = None,
    delta: Annotated[str | None, typer.Option(metavar="NUMBER", help="With --epsilon: its delta.")] = None,
    mu: Annotated[str | None, typer.Option(metavar="NUMBER", help="The budget, Gaussian DP.")] = None,
    rho: Annotated[str | None, typer.Option(metavar="NUMBER", help="The budget, zCDP.")] = None,
    alternative: Annotated[
        str, typer.Option(metavar="NAME", help="Is the odds ratio greater, less, or either (two-sided)?")
    ] = "greater",
    null: Annotated[str, typer.Option(metavar="NUMBER", help="The odds ratio to test.")] = "1",
    level: Annotated[str, typer.Option(metavar="NUMBER", help="The level of the test.")] = "0.05",
    seed: Annotated[
        int | None,
        typer.Option(
            parser=SEED, metavar="N", help="For tests and studies only: such a test is NOT private."
        ),
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Charge the test to this ledger first.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the statistic and its certificate here.")
    ] = None,
    accept_no_protection: NoProtection = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Test the odds ratio of a 2 x 2 table whose margins are published."""
    from holdfast.cli.odds_ratio import run  # noqa: PLC0415

    run(
        (x11, x12, x21, x22),
        {"epsilon": epsilon, "delta": delta, "mu": mu, "rho": rho},
        alternative=alternative,
        null=null,
        level=level,
        seed=seed,
        ledger=ledger,
        out=out,
        as_json=as_json,
        accept_no_protection=accept_no_protection,
    )


@app.command()
def completion(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help=f"{', '.join(SHELLS)}.")],
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write to this new file.")] = None,
    quiet: Quiet = False,
) -> None:
    """Print a script that completes commands and options, as in: source <(holdfast completion bash)."""
    from holdfast.cli.reports import write_text  # noqa: PLC0415

    write_text(completion_script(typer.main.get_command(app), shell), out)


def _started_quickly(arguments: list[str]) -> bool:
    """Run a plain quick verification, without what typer loads to read arguments; say whether it was one."""
    words = [word for word in arguments if word not in ("--quick", "--json", "--quiet", "-q")]
    if "--quick" not in arguments or words[:1] != ["verify"] or len(words) != 2 or words[1].startswith("-"):
        return False
    be_quiet("--quiet" in arguments or "-q" in arguments)
    verify(Path(words[1]), quick=True, as_json="--json" in arguments)
    return True


def main() -> None:
    """Run the command line."""
    arguments = one_by_one([word for word in sys.argv[1:] if word != "--debug"])
    debug = len(arguments) < len(sys.argv) - 1 or os.environ.get("HOLDFAST_DEBUG", "0") not in ("", "0")

    def command() -> None:
        with watched():
            if _started_quickly(arguments):
                return
            group = typer.main.get_command(app)
            with group.make_context("holdfast", arguments) as context:
                group.invoke(context)

    sys.exit(exit_code(command, debug=debug))
