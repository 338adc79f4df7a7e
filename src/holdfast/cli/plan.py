"""`holdfast plan`."""

import json
from pathlib import Path

import typer

from holdfast.calibration import CATALOGUE
from holdfast.cli.terminal import terminal
from holdfast.mechanisms.protocol import Mechanism
from holdfast.release import prepare
from holdfast.sampling.plan import CELLS_PER_SECOND, Plan

KINDS = {
    "exact": "Exact: integers and proved enclosures decide every draw.",
    "estimated": "Estimated: the distance from the law was measured at public tables and charged to delta.",
    "floating": "Floating: real numbers in floating point, for studies and not for a release.",
}


def run(spec: Path, *, as_json: bool) -> None:
    """Say how a release would be drawn, how long that takes, and why, without drawing it."""
    mechanism = prepare(spec).mechanism
    noise = mechanism.noise
    plan = getattr(noise, "plan", None)
    steps = plan.blocks if isinstance(plan, Plan) else ()
    acceptance = float(getattr(noise, "acceptance", 1.0))
    seconds = None if noise is None else noise.work / CELLS_PER_SECOND
    if as_json:
        report = {
            "mechanism": mechanism.name,
            **mechanism.parameters,
            "kind": _kind(mechanism),
            "methods": list(mechanism.methods),
            "steps": [
                {
                    "blocks": int(block.cells.shape[0]),
                    "cells": int(block.cells.shape[1]),
                    "method": block.name,
                    "why": block.why,
                    "acceptance": block.acceptance,
                    "work": block.work,
                }
                for block in steps
            ],
            "thinning": acceptance,
            "work": None if noise is None else noise.work,
            "seconds": seconds,
        }
        typer.echo(json.dumps(report, indent=2))
        return
    console = terminal()
    for block in steps:
        console.print(f"{block.method}.")
        console.print(f"    Why: {block.why}.")
    for method in mechanism.methods[len(steps) :]:
        console.print(f"{method[:1].upper()}{method[1:]}.")
    console.print(KINDS[_kind(mechanism)])
    if noise is None or seconds is None:
        console.print("The law depends on the confidential table, and so does the time: it is not told.")
    else:
        console.print(
            f"One draw takes about {noise.work:,.0f} random numbers, {_time(seconds)} on an ordinary"
            " computer."
        )


def _kind(mechanism: Mechanism) -> str:
    if CATALOGUE[mechanism.name].real:
        return "floating"
    return "estimated" if any(item.kind == "estimated" for item in mechanism.guarantee.evidence) else "exact"


def _time(seconds: float) -> str:
    for unit, size in (("minutes", 60.0), ("seconds", 1.0), ("milliseconds", 1e-3)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return "a moment"
