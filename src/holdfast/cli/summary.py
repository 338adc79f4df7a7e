"""The summary of a release, from its certificate alone: nothing else may show."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

MOST_ROWS = 8
NOT_SIMULATED = {
    True: "not simulated: one draw takes too long to repeat",
    False: "not simulated: it depends on the confidential table",
}


def print_summary(content: Mapping[str, Any], console: Console) -> None:
    """Say what was kept exactly, what is protected, how strongly, and how large the noise is."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    for title, lines in (
        ("Kept exactly", _kept(content)),
        ("Protected", _protected(content)),
        ("How strongly", [_strength(content)]),
        ("Expected error", _errors(content)),
        ("Drawn", _drawn(content)),
    ):
        grid.add_row(title, "\n".join(lines))
    console.print(grid)
    for caveat in content["caveats"]:
        console.print(f"Note: {caveat}", style=None if content["randomness"]["secure"] else "bold red")


def _kept(content: Mapping[str, Any]) -> list[str]:
    blocks = content["invariants"]
    if not blocks:
        return ["nothing: the spec names no invariants"]
    lines = [f"{block['name']}: {_numbers(len(block['values']))}" for block in blocks[:MOST_ROWS]]
    return lines + ([f"and {len(blocks) - MOST_ROWS} more"] if len(blocks) > MOST_ROWS else [])


def _protected(content: Mapping[str, Any]) -> list[str]:
    universe = content["universe"]
    a = universe["semi_adjacency"]
    bound = "" if a["exact"] else "at most "
    return [
        f"{universe['cells']:,} cells; the invariants leave {universe['dimension']:,} dimensions open",
        f"any one person: to take another value, {bound}{a['worst_case']} records must change",
    ]


def _strength(content: Mapping[str, Any]) -> str:
    guarantee = content["guarantee"]
    per = "" if guarantee["unit"]["adjacency"] == "semi" else " per record of distance"
    strength = ", ".join(f"{name} {value}" for name, value in guarantee["intensity"].items())
    at = guarantee["epsilon_at"]
    also = "" if at is None else f" (epsilon {at['epsilon']:.4g} at delta {at['delta']})"
    return f"{strength}{per}, {guarantee['standard']}{also}. {guarantee['statement']}"


def _errors(content: Mapping[str, Any]) -> list[str]:
    expected = content["expected_error"]
    if expected is None:
        return [NOT_SIMULATED[content["mechanism"]["additive"]]]
    lines = [f"per cell: {_plus_minus(expected['cell'])}"]
    for row in expected["margins"][:MOST_ROWS]:
        name = " x ".join(row["attributes"]) or "total"
        lines.append(f"per {name}: {'0, kept exactly' if row['exact'] else _plus_minus(row)}")
    return lines


def _plus_minus(row: Mapping[str, Any]) -> str:
    return f"{row['mean_absolute_error']:.2f} on average"


def _drawn(content: Mapping[str, Any]) -> list[str]:
    mechanism = content["mechanism"]
    shown = {name: value for name, value in mechanism.items() if name not in ("name", "sampling", "additive")}
    law = [mechanism["name"], *(f"{name.replace('_', ' ')} {value}" for name, value in shown.items())]
    return [", ".join(law), *mechanism["sampling"]]


def _numbers(count: int) -> str:
    return "1 number" if count == 1 else f"{count:,} numbers"
