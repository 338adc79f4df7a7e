"""What invariants leave to protect, and what a guarantee is worth under them: a function for each command.

`holdfast.audit.universe("holdfast.toml")` is `holdfast audit universe holdfast.toml`, and so on.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.audit.cell_keys import cell_key
    from holdfast.audit.census import census_2020
    from holdfast.audit.guarantees import compose, guarantee
    from holdfast.audit.projections import projection
    from holdfast.audit.publications import publication
    from holdfast.audit.secrets import delta_z
    from holdfast.audit.swap_rates import swapping
    from holdfast.audit.targeting import targeted_swapping
    from holdfast.audit.universes import exposure, universe

_HOME = {
    "cell_key": "cell_keys",
    "census_2020": "census",
    "compose": "guarantees",
    "delta_z": "secrets",
    "exposure": "universes",
    "guarantee": "guarantees",
    "projection": "projections",
    "publication": "publications",
    "swapping": "swap_rates",
    "targeted_swapping": "targeting",
    "universe": "universes",
}

__all__ = [
    "cell_key",
    "census_2020",
    "compose",
    "delta_z",
    "exposure",
    "guarantee",
    "projection",
    "publication",
    "swapping",
    "targeted_swapping",
    "universe",
]


def __dir__() -> list[str]:
    """List the audits."""
    return __all__


def __getattr__(name: str) -> Any:
    """Import an audit when it is asked for, as `holdfast` does."""
    if name not in _HOME:
        raise AttributeError(f"module 'holdfast.audit' has no attribute {name!r}")
    return getattr(import_module(f"holdfast.audit.{_HOME[name]}"), name)
