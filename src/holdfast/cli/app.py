"""The commands by name: each is declared in its own file, and loaded when it is called."""

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from holdfast.cli.arguments import Quiet, be_quiet, one_by_one
from holdfast.cli.completion import SHELLS, completion_script
from holdfast.cli.exit_codes import exit_code
from holdfast.cli.progress import showing_progress
from holdfast.system.machine import with_few_threads
from holdfast.version import VERSION

COMPARE = (
    "Compare the errors of mechanisms at the target of a spec, by simulation; nothing is released."
    "\n\nA spec of swapped records is compared with noise on the tabulation of its cells."
)
COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "holdfast": {
        "init": ("init:init", "Write a first spec for your file, or a commented example that runs."),
        "release": ("release", "Draw a release that keeps every invariant, and certify it."),
        "keygen": (
            "certificate:keygen",
            "Make a pair of keys to sign releases with, and to check signatures.",
        ),
        "plan": ("plan", "Say how a release would be drawn, without drawing it."),
        "compare": (
            "compare",
            COMPARE,
        ),
        "verify": (
            "verify",
            "Check a release, a processed table or an audit, and derive all that it claims: exit 0 or 1.",
        ),
        "coarsen": (
            "coarsen",
            "Merge, round or hide as little as keeps every asked-for cell from being known too closely.",
        ),
        "intervals": (
            "intervals",
            "Give confidence intervals for the cells of a release, or for sums of them.",
        ),
        "infer": (
            "infer",
            "Draw rates, proportions and counts from their posterior given a release: no cost.",
        ),
        "estimate": (
            "estimate",
            "Give whole counts from measurements of others that were opened: no cost, but biased.",
        ),
        "postprocess": (
            "postprocess",
            "Take negative counts out of a release, keeping the invariants: no cost, but biased.",
        ),
        "export": (
            "export",
            "Write a release in another format: Excel, SDMX, JSON-stat, RO-Crate and others.",
        ),
        "studio": (
            "studio",
            "Open the page where a curator decides, in a browser on this machine (holdfast-dp[web]).",
        ),
        "doctor": (
            "doctor",
            "Say what this machine has of all that is needed, and the cure for what it lacks: exit 0 or 1.",
        ),
        "docs": ("docs", "Open the documentation of this version, which needs no network."),
        "demo": ("example:demo", "Release a built-in table and verify it."),
        "completion": (
            "app:completion",
            "Print a script that completes commands and options, as in: source <(holdfast completion bash).",
        ),
    },
    "audit": {
        "universe": (
            "universe:universe",
            "Say what the invariants of a spec leave to protect. It reads the confidential table.",
        ),
        "exposure": (
            "universe:exposure",
            "Name the cells that the invariants reveal by themselves. For the curator's eyes only.",
        ),
        "guarantee": (
            "guarantee:guarantee",
            "Say what a guarantee is worth under invariants: give one of --epsilon, --rho, --mu.",
        ),
        "delta-z": (
            "delta_z",
            "Say how far a secret moves the data, given what is public. It reads no data.",
        ),
        "projection": (
            "projection",
            "Say what a test loses when a release is projected: of a count of people, or of your own table.",
        ),
        "publication": (
            "publication_audit",
            "Say what follows from published tables together: exact, rounded, coarsened, suppressed ones.",
        ),
        "compose": (
            "guarantee:compose",
            "Compose releases under invariants; repeat an option for each, per changed record.",
        ),
        "swapping": (
            "swapping_audit",
            "Say what permutation swapping loses at a rate, and which rates give an epsilon.",
        ),
        "cell-key": (
            "cell_key",
            "Say what a cell-key table gives away between neighbouring counts, and by averaging.",
        ),
        "census-2020": ("census", "Tell what the 2020 US census guarantees under its invariants."),
    },
    "nmf": {
        "open": (
            "nmf:open_",
            "Read noisy measurement files into a folder for intervals, infer and estimate.",
        ),
        "write": ("nmf:write", "Write the measurements of a top-down release as noisy measurement files."),
    },
    "ledger": {
        "open": (
            "ledger:open_ledger",
            "Open a new account: give exactly one budget. Its secret salt is written beside it.",
        ),
        "show": ("ledger:show", "Show budget, spent, left, and every release."),
        "verify": (
            "ledger:verify",
            "Check that the rows are as written, and that releases are in them: exit 0 or 1.",
        ),
        "export": ("ledger:export", "Write all rows as JSON or CSV."),
    },
    "certificate": {"schema": ("certificate:schema", "Print the JSON schema of certificate.json.")},
    "test": {
        "odds-ratio": ("odds_ratio", "Test the odds ratio of a 2 x 2 table whose margins are published.")
    },
}
"""By group and name: the file of a command, with its function unless that is `command`, and its help."""
GROUPS = {
    "audit": "Say what invariants leave to protect.",
    "nmf": "Read and write noisy measurement files, in the layout of the 2020 census products.",
    "ledger": "Keep an account of the privacy budget of a population.",
    "certificate": "Say what certificates are made of.",
    "test": "Test a hypothesis about a confidential table.",
}
NEGATIVE = {"ignore_unknown_options": True}
"""For counts: -1 is a bad count, and no option."""


class Commands(Mapping[str, Any]):
    """The commands of a group, each loaded when it is looked up; groups within it are there at once."""

    def __init__(self, group: str, groups: Mapping[str, Any]) -> None:
        self.group, self.groups, self.table = group, groups, COMMANDS[group]

    def __getitem__(self, name: str) -> Any:
        if name in self.groups:
            return self.groups[name]
        place, text = self.table[name]
        module, _, function = place.partition(":")
        one = typer.Typer(add_completion=False, rich_markup_mode=None)
        settings = SETTINGS | (NEGATIVE if self.group == "test" else {})
        run = getattr(import_module(f"holdfast.cli.{module}"), function or "command")
        one.command(name, help=text, context_settings=settings)(run)
        return typer.main.get_command(one)

    def __iter__(self) -> Iterator[str]:
        return iter((*self.table, *self.groups))

    def __len__(self) -> int:
        return len(self.table) + len(self.groups)


class Group(TyperGroup):
    """A group that loads a command when it is called, and none to list them."""

    def __init__(self, *, name: str | None = None, commands: Any = None, **attributes: Any) -> None:
        super().__init__(name=name, **attributes)
        self.commands = Commands(name or "holdfast", commands or {})  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return their names."""
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the first paragraph of each command's help."""
        texts = {name: text for name, (_, text) in COMMANDS[self.name or "holdfast"].items()} | GROUPS
        with formatter.section("Commands"):
            formatter.write_dl([(name, texts[name].partition("\n")[0]) for name in self.commands])


SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    name="holdfast",
    cls=Group,
    help="Publish some statistics exactly; protect everyone behind the rest.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=SETTINGS,
)
for title, words in GROUPS.items():
    inner = typer.Typer(name=title, cls=Group, help=words, no_args_is_help=True, context_settings=SETTINGS)
    inner.callback()(lambda: None)  # a group without commands of its own needs one
    app.add_typer(inner, name=title)


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


def completion(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help=f"{', '.join(SHELLS)}.")],
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write to this new file.")] = None,
    quiet: Quiet = False,
) -> None:
    """Print the script of a shell, from the tree of commands."""
    from holdfast.cli.reports import write_text

    write_text(completion_script(typer.main.get_command(app), shell), out)


def _started_quickly(arguments: list[str]) -> bool:
    """Run a plain quick verification, without what typer loads to read arguments; say whether it was one."""
    words = [word for word in arguments if word not in ("--quick", "--json", "--quiet", "-q")]
    if "--quick" not in arguments or words[:1] != ["verify"] or len(words) != 2 or words[1].startswith("-"):
        return False
    from holdfast.cli import verify

    be_quiet("--quiet" in arguments or "-q" in arguments)
    verify.command(Path(words[1]), quick=True, as_json="--json" in arguments)
    return True


def main() -> None:
    """Run the command line."""
    with_few_threads()
    arguments = one_by_one([word for word in sys.argv[1:] if word != "--debug"])
    if level := os.environ.get("HOLDFAST_LOG", "").upper():
        logging.basicConfig(format="%(asctime)s %(name)s: %(message)s")
        logging.getLogger("holdfast").setLevel(level if level in ("DEBUG", "INFO") else "WARNING")
    debug = len(arguments) < len(sys.argv) - 1 or os.environ.get("HOLDFAST_DEBUG", "0") not in ("", "0")

    def command() -> None:
        with showing_progress():
            if _started_quickly(arguments):
                return
            group = typer.main.get_command(app)
            with group.make_context("holdfast", arguments) as context:
                group.invoke(context)

    sys.exit(exit_code(command, debug=debug, as_json="--json" in arguments))
