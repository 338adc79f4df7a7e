"""What the invariants of a spec leave to protect. For the curator: it reads the confidential table."""

from pathlib import Path
from typing import Any

from holdfast.lattice.unimodular import is_totally_unimodular
from holdfast.setting import publish
from holdfast.spec.load import read_spec
from holdfast.spec.model import Spec
from holdfast.tables.read import read_table
from holdfast.universe.semi_adjacency import semi_adjacency
from holdfast.universe.sensitivity import sensitivity


def audit_universe(spec: Spec | str | Path) -> dict[str, Any]:
    """Return the size of the universe, its semi-adjacency and its sensitivities."""
    spec = spec if isinstance(spec, Spec) else read_spec(spec)
    reading = read_table(spec)
    universe = publish(spec, reading.table, reading.inferred).universe
    adjacency = semi_adjacency(universe)
    space = sensitivity(universe, adjacency.worst_case)
    return {
        "cells": universe.cells,
        "invariants": universe.rank,
        "dimension": universe.dimension,
        "blocks": len(universe.components),
        "totally_unimodular": is_totally_unimodular(universe.matrix),
        "semi_adjacency": {
            "worst_case": adjacency.worst_case,
            "literal": adjacency.literal,
            "exact": adjacency.exact,
            "reference": adjacency.reference,
        },
        "sensitivity": {
            "l1": space.l1,
            "l2_squared": space.l2_squared,
            "linf": space.linf,
            "exact": space.exact,
        },
    }
