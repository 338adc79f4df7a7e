"""The page of JSON outputs: every command is run once with --json, and its fields are listed."""

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from website.commands_run import run

MODEL = """[model]
kind = "proportions"
areas = ["county"]

[prior]
weight = { median = 1, factor = 3 }

[sampler]
draws = 80
warmup = 20
"""
DEPENDENT = '[model]\nfamily = "dependent-counts"\nn = 50\nz0 = "1/10"\nz1 = "9/10"\n'
SWAP = """[data]
path = "households.csv"
cells = ["tenure"]
geography = { columns = ["state", "county"] }

[privacy]
unit = "household"
adjacency = "unit"
epsilon = "2"

[mechanism]
name = "permutation-swapping"
stratify = ["state", "size"]
swap = ["county"]
"""
HOUSEHOLDS = "state,county,size,tenure\n" + "".join(
    f"s{place % 2},s{place % 2}c{place % 4 // 2},{place // 4 % 2 + 1},{('own', 'rent')[place * place % 3 % 2]}\n"
    for place in range(64)
)
NAMES = {"compare swap.toml --draws 20": "compare, of records"}
LINES = """
init
audit universe holdfast.toml
audit exposure holdfast.toml
plan holdfast.toml
compare holdfast.toml --draws 20
compare swap.toml --draws 20
keygen agency.key
ledger open census.ledger --budget 2
release holdfast.toml --out release --ledger census.ledger --sign agency.key --seed 1
verify release
ledger show census.ledger
ledger verify census.ledger --release release
ledger export census.ledger
intervals release --margin county
export release --to csv --out counts.csv
postprocess release --method integers-l1 --bias-draws 20 --out tidy
infer release --model model.toml --out posterior --seed 1
audit guarantee --rho 2.56 --delta 1e-10 --semi-adjacency 2
audit compose --epsilon 1/2 --mu 1/2 --semi-adjacency 3 --delta 1e-6
audit swapping --stratum-size 264331 --rate 1/20
audit census-2020
audit projection --people 20 --epsilon 1/5 --design total --null 0.3 --alternative 0.7
audit delta-z dependent.toml
test odds-ratio 10 2 3 15 --epsilon 1 --seed 1
doctor
"""
HEAD = """# JSON outputs

What every command prints with `--json`, as found by running it on the built-in table. Names of fields stay where sentences
get better; numbers and texts in the last column are examples, where they are the same in every run.
"""
DEEPEST = 4
"""Tables and lists within each other, of which fields are told; comparisons of places have two more."""
OF_A_MACHINE = re.compile(r"(seconds|bytes|cores)$")
"""Fields that tell of a machine: they may be the same twice, and not on another."""


def page() -> str:
    """Return the page: all lines are run twice, so that it shows nothing that a second build would not."""
    once, again = (dict(_printed()) for _ in range(2))
    lines = [HEAD]
    for line, found in once.items():
        same = {path: example for path, _, example in again[line]}
        lines += [f"## holdfast {_name(line)}", "", f"    holdfast {line} --json", ""]
        lines += ["| field | type | for example |", "|---|---|---|"]
        for path, kind, example in found:
            shown = same.get(path) == example and line != "doctor" and not OF_A_MACHINE.search(path)
            lines += [f"| `{path}` | {kind} | {example if shown else ''} |"]
        lines += [""]
    return "\n".join(lines)


def _printed() -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """Yield each line with the fields that it prints, all run in one new folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "model.toml").write_text(MODEL, encoding="utf-8")
        (folder / "dependent.toml").write_text(DEPENDENT, encoding="utf-8")
        (folder / "swap.toml").write_text(SWAP, encoding="utf-8")
        (folder / "households.csv").write_text(HOUSEHOLDS, encoding="utf-8")
        for line in LINES.strip().splitlines():
            ran = run(f"holdfast {line} --json", folder)
            if ran.code == 2 and "No such" in ran.err:  # a command without it, or not of this version
                run(f"holdfast {line}", folder)
                continue
            yield line, fields(json.loads(ran.out), deepest=DEEPEST + 2 * (line in NAMES))


def _name(line: str) -> str:
    words = line.split()
    if line in NAMES:
        return NAMES[line]
    return " ".join(words[:2]) if words[0] in ("audit", "ledger", "certificate", "test") else words[0]


def fields(value: Any, path: str = "", deepest: int = DEEPEST) -> list[tuple[str, str, str]]:
    """Return the fields of a value, those within lists by their first entry."""
    if isinstance(value, dict) and deepest and value:
        found: list[tuple[str, str, str]] = []
        for name, inner in value.items():
            found += fields(inner, f"{path}.{name}" if path else name, deepest - 1)
        return found
    if isinstance(value, list) and value and isinstance(value[0], dict) and deepest:
        merged: dict[str, Any] = {}
        for each in value:
            merged |= {name: inner for name, inner in each.items() if merged.get(name) is None}
        return fields(merged, f"{path}[]", deepest - 1)
    return [(path or "(all)", _kind(value), _example(value))]


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    words = {int: "whole number", float: "number", str: "text", list: "list", dict: "table of keys"}
    return words[type(value)]


def _example(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    text = text if len(text) <= 60 else f"{text[:56]} ..."
    return f"`{text.replace('|', chr(92) + '|').replace('`', '')}`"
