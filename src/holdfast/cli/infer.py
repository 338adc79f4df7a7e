"""`holdfast infer`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import holdfast as hf
from holdfast.certificate.text import require_release
from holdfast.cli.arguments import DRAWS, SEED, Json, Quiet, ReleaseFolder, TableName, number
from holdfast.cli.console import columns
from holdfast.cli.reports import deliver
from holdfast.cli.terminal import print_json, terminal, warn_each
from holdfast.cli.verify import violations
from holdfast.data.nmf.folder import is_opened
from holdfast.system.errors import SpecError
from holdfast.system.files import require_file
from holdfast.system.progress import doing
from holdfast.system.text import counted

if TYPE_CHECKING:
    from holdfast.inference.posterior.forecast import Forecast
    from holdfast.inference.posterior.results import Posterior, Quantity

MOST_ROWS = 40  # rows on the terminal; the files have all


def command(
    folder: ReleaseFolder,
    model: Annotated[Path, typer.Option(metavar="MODEL", help="The model, a TOML file.")],
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="The new folder of the posterior.")] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Only say how long it will take, and how much memory.")
    ] = False,
    draws: Annotated[
        int | None,
        typer.Option(parser=DRAWS, metavar="N", help="Draws in all; as the model says unless given."),
    ] = None,
    level: Annotated[str, typer.Option(metavar="NUMBER", help="The probability of intervals.")] = "0.9",
    seed: Annotated[
        int | None, typer.Option(parser=SEED, metavar="N", help="Repeat the draws of another run.")
    ] = None,
    table: TableName = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw from the posterior of a model given a release, into a new folder, and say what was found."""
    asked = number("--level", level)
    if asked >= 1:
        raise SpecError(f"--level is {level}: give a probability below 1, such as 0.9.")
    if not is_opened(folder):
        require_release(folder)
    require_file(model, "model")
    if plan:
        with violations(as_json=as_json), doing("timing a few sweeps"):
            deliver(
                hf.forecast_infer(folder, model, draws=draws, table=table),
                _foretell,
                as_json=as_json,
                out=None,
            )
        return
    if out is None:
        raise SpecError("infer needs a place for the posterior: give --out DIR, or --plan for a forecast.")
    with violations(as_json=as_json), doing("drawing from the posterior"):
        found = hf.infer(folder, model, out, draws=draws, seed=seed, table=table, level=float(asked))
    warn_each(found.warnings)
    if as_json:
        print_json(found)
        return
    from holdfast.inference.posterior.results import ARVIZ, STATEMENT

    console = terminal()
    _print(found.quantities[0], found)
    console.print(_diagnostics(found), soft_wrap=True)
    console.print(STATEMENT, soft_wrap=True)
    for path in sorted(out.iterdir()):
        console.print(f"Wrote {path}", soft_wrap=True)
    if not (out / ARVIZ).exists():
        console.print(f"{ARVIZ} was not written: ArviZ is not installed (package arviz).")


def _foretell(told: "Forecast") -> None:
    size = f"{counted(told.draws, 'draw')} of {counted(told.cells, 'count')} and"
    memory = (
        f"about {told.memory / 1e9:.2g} GB of memory" if told.memory > 1e8 else "less than 0.1 GB of memory"
    )
    if told.seconds is None:
        time = f"how long {told.sampler} takes cannot be told beforehand"
    else:
        time = f"about {max(told.seconds, 1):,.0f} s on this machine, in {counted(told.chains, 'chain')}"
    terminal().print(
        f"{size} {counted(told.parameters, 'parameter')}: {time}; {memory}. Nothing was drawn or written.",
        soft_wrap=True,
    )


def _print(one: "Quantity", found: "Posterior") -> None:
    console, summary, per = terminal(), found.summaries[one.name], found.spec.model.per
    title = f"{one.name}{f' per {per:,g}' if per != 1 else ''}, {found.level:.0%} intervals"
    ends = ("mean", "low", "high", "naive mean", "low", "high")
    table = columns(one.named.attributes, ends, title=title)
    keys = ("mean", "low", "high", "naive_mean", "naive_low", "naive_high")
    for at, levels in enumerate(one.named.levels[:MOST_ROWS]):
        table.add_row(*levels, *(f"{summary[key][at]:.4g}" for key in keys))
    console.print(table)
    if len(one.named.levels) > MOST_ROWS:
        console.print(f"{counted(len(one.named.levels) - MOST_ROWS, 'more row')}: the files have all.")


def _diagnostics(found: "Posterior") -> str:
    draws, told, worst = counted(found.draws.size, "draw"), found.draws.statistics, found.worst
    if "effective_draws" in told:
        return (
            f"{draws} with weights, worth {told['effective_draws']:,.0f} independent ones; the tail of the"
            f" weights has k = {told['pareto_k']:.2f}."
        )
    if "acceptance" in told:
        return f"{draws}, independent: one in {1 / told['acceptance']:,.0f} tables was accepted."
    chains = counted(int(found.draws.tables.shape[0]), "chain")
    if not worst:
        return f"{draws} in {chains}: the invariants leave one table."
    return (
        f"{draws} in {chains}: R-hat at most {worst['r_hat']:.3f}, worth at least"
        f" {min(worst['ess_bulk'], worst['ess_tail']):,.0f} independent ones for every number."
    )
