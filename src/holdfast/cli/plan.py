"""`holdfast plan`."""

from pathlib import Path

from holdfast.cli.terminal import print_json, terminal
from holdfast.plan import plan_release

KINDS = {
    "exact": "Exact: integers and proved enclosures decide every draw.",
    "estimated": "Estimated: the distance from the law was measured at public tables and charged to delta.",
    "floating": "Floating: real numbers in floating point, for studies and not for a release.",
}


def run(spec: Path, *, as_json: bool) -> None:
    """Say how a release would be drawn, how long that takes, and why, without drawing it."""
    report = plan_release(spec)
    if as_json:
        print_json(report)
        return
    console, mechanism = terminal(), report.mechanism
    for block in report.steps:
        console.print(f"{block.method}.")
        console.print(f"    Why: {block.why}.")
    for method in mechanism.methods[len(report.steps) :]:
        console.print(f"{method[:1].upper()}{method[1:]}.")
    console.print(KINDS[mechanism.traits.kind])
    if not mechanism.traits.additive:
        console.print("The law depends on the confidential table, and so does the time: it is not told.")
    elif report.work is not None and report.seconds is not None:
        console.print(
            f"One draw takes about {report.work:,.0f} random numbers, {_time(report.seconds)} on an ordinary"
            " computer."
        )


def _time(seconds: float) -> str:
    for unit, size in (("minutes", 60.0), ("seconds", 1.0), ("milliseconds", 1e-3)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return "a moment"
