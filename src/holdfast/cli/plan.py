"""`holdfast plan`."""

import json
from pathlib import Path

import typer

from holdfast.cli.terminal import terminal
from holdfast.release import prepare
from holdfast.sampling.plan import CELLS_PER_SECOND


def run(spec: Path, *, as_json: bool) -> None:
    """Say how a release would be drawn, how long that takes, and why, without drawing it."""
    prepared = prepare(spec)
    noise = prepared.mechanism.noise
    seconds = noise.work / CELLS_PER_SECOND
    if as_json:
        report = {
            "mechanism": prepared.mechanism.name,
            "norm": noise.norm,
            "epsilon_per_unit": str(noise.epsilon),
            "kind": "exact",
            "steps": [
                {
                    "blocks": int(block.cells.shape[0]),
                    "cells": int(block.cells.shape[1]),
                    "method": block.name,
                    "why": block.why,
                    "acceptance": block.acceptance,
                    "work": block.work,
                }
                for block in noise.plan.blocks
            ],
            "thinning": noise.acceptance,
            "work": noise.work,
            "seconds": seconds,
        }
        typer.echo(json.dumps(report, indent=2))
        return
    console = terminal()
    for block in noise.plan.blocks:
        console.print(f"{block.method}.")
        console.print(f"    Why: {block.why}.")
    if noise.norm == "l2":
        console.print(f"Then thinned from the l1 to the l2 law: {noise.acceptance:.2g} of the draws stay.")
    console.print(
        f"Exact: integers and proved enclosures decide every draw. One takes about {noise.work:,.0f} random"
        f" numbers, {_time(seconds)} on an ordinary computer."
    )


def _time(seconds: float) -> str:
    for unit, size in (("minutes", 60.0), ("seconds", 1.0), ("milliseconds", 1e-3)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return "a moment"
