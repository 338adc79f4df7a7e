"""Certificates of the first version, read as what they would be now.

They were written with mechanisms' parameters as text, inequalities in words, and `conditioned` also where
there were no inequalities: such noise has the law of lattice-laplace in l1 or of lattice-gaussian.
"""

import json
import re
from collections.abc import Mapping
from math import prod
from typing import Any

FORMAT = "holdfast-certificate/1"
_INEQUALITIES = re.compile(r"(\[.*\]) y >= (\[.*\])", re.DOTALL)
_CHAIN = re.compile(r"([\d,]+) steps of (\d+) (pairs of rows|moves)")


def upgraded(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a first certificate in the form of today."""
    mechanism = dict(content["mechanism"])
    nonnegative = mechanism.pop("nonnegative", "false") == "true"
    inequalities = _inequalities(mechanism.pop("inequalities", None), content["table"]["schema"])
    chain = mechanism.pop("chain", None)
    base = mechanism.pop("base", None)
    if base is not None and not nonnegative and not inequalities:
        gaussian = base == "discrete-gaussian"
        mechanism |= {"name": "lattice-gaussian"} if gaussian else {"name": "lattice-laplace", "norm": "l1"}
    if chain is not None:
        mechanism["chain"] = _chain(chain, content["guarantee"]["evidence"])
    return {
        **content,
        "format": "holdfast-certificate/2",
        "constraints": {"nonnegative": nonnegative, "inequalities": inequalities},
        "mechanism": mechanism,
    }


def _inequalities(text: str | None, schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return rows over the possible cells, written as lists, as weights over all cells."""
    if text is None:
        return []
    found = _INEQUALITIES.fullmatch(text)
    if found is None:
        raise ValueError("the inequalities are not told as they were written")
    rows, least = (json.loads(part) for part in found.groups())
    zeros = set(schema["structural_zeros"])
    size = prod(len(attribute["levels"]) for attribute in schema["attributes"])
    told = max(map(len, rows), default=0) + len(zeros)  # a damaged schema may have more cells than memory
    possible = [cell for cell in range(min(size, told)) if cell not in zeros]
    return [
        {
            "name": f"inequality {number}",
            "kind": "weights",
            "attributes": [],
            "where": {},
            "labels": [f"inequality {number}"],
            "equals": None,
            "rows": [0] * sum(weight != 0 for weight in row),
            "cells": [possible[i] for i, weight in enumerate(row) if weight],
            "weights": [weight for weight in row if weight],
            "at_least": bound,
        }
        for number, (row, bound) in enumerate(zip(rows, least, strict=True), start=1)
    ]


def _chain(words: str, evidence: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what is known of a chain; of the moves it was not written whether they were given."""
    found = _CHAIN.fullmatch(words)
    estimates = [item for item in evidence if item["kind"] == "estimated"]
    estimate = estimates[0]
    numbers = re.search(r"(\d+) public tables? .* at most (\S+) from", f"{estimate['claim']}")
    runs = re.search(r"; (\d+) pairs of chains at each, with a lag of (\d+)", estimate["method"])
    if found is None or numbers is None or runs is None:
        raise ValueError("the chain is not told as it was written")
    return {
        "steps": int(found[1].replace(",", "")),
        "updates": int(found[2]),
        "pairs_of_rows": found[3] == "pairs of rows",
        "moves_given": found[3] != "pairs of rows",
        "distance": float(numbers[2]),
        "confidence": float(estimate["confidence"]),
        "stand_ins": int(numbers[1]),
        "runs": int(runs[1]),
        "lag": int(runs[2]),
        "method": estimate["method"].partition(";")[0],
    }
