"""Holdfast: publish some statistics exactly, and protect everyone behind the rest.

prepared = holdfast.prepare("holdfast.toml")   # read, evaluate the invariants, settle the guarantee
release = prepared.release()                   # draw, from the operating system's randomness
release.write("release")                       # table.csv, certificate.json, certificate.html
holdfast.verify("release").kept                # every invariant, with exact equality
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError
from holdfast.version import VERSION

if TYPE_CHECKING:
    from holdfast.certificate.verify import Verification, verify
    from holdfast.release import Prepared, Release, prepare
    from holdfast.sampling.entropy import SeededEntropy, SystemEntropy
    from holdfast.spec.model import Constraints, Data, Invariant, Mechanism, Privacy, Spec

__version__ = VERSION

_HOME = {
    "Verification": "certificate.verify",
    "verify": "certificate.verify",
    "Prepared": "release",
    "Release": "release",
    "prepare": "release",
    "SeededEntropy": "sampling.entropy",
    "SystemEntropy": "sampling.entropy",
    "Constraints": "spec.model",
    "Data": "spec.model",
    "Invariant": "spec.model",
    "Mechanism": "spec.model",
    "Privacy": "spec.model",
    "Spec": "spec.model",
}

__all__ = [
    "Constraints",
    "Data",
    "HoldfastError",
    "Invariant",
    "Mechanism",
    "Prepared",
    "Privacy",
    "Release",
    "SeededEntropy",
    "Spec",
    "SystemEntropy",
    "Verification",
    "__version__",
    "prepare",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: the command line must start at once."""
    if name not in _HOME:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    return getattr(import_module(f"holdfast.{_HOME[name]}"), name)
