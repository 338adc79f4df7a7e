"""Holdfast: publish some statistics exactly, and protect everyone behind the rest.

prepared = holdfast.prepare("holdfast.toml")   # read, evaluate the invariants, settle the guarantee
release = prepared.release()                   # draw, from the operating system's randomness
release.write("release")                       # table.csv, certificate.json, certificate.html
holdfast.verify("release").kept                # every invariant, with exact equality

These names, `holdfast.calculus` (guarantees as values) and `holdfast.workshop` (what mechanisms, tests and
studies are made of) are the public vocabulary: files behind them may move.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError
from holdfast.version import VERSION

if TYPE_CHECKING:
    from holdfast.account.verify import verify_ledger
    from holdfast.audit.census import census_2020
    from holdfast.audit.compose import audit_compose
    from holdfast.audit.delta_z import audit_delta_z
    from holdfast.audit.exposure import audit_exposure
    from holdfast.audit.guarantee import audit_guarantee
    from holdfast.audit.projection import audit_projection, audit_table_projection
    from holdfast.audit.swapping import audit_swapping
    from holdfast.audit.universe import audit_universe
    from holdfast.certificate.model import Certificate
    from holdfast.certificate.records.model import RecordsCertificate
    from holdfast.certificate.sign import generate_keys
    from holdfast.certificate.verify import Verification, ViolatedError
    from holdfast.compare.comparison import Comparison, compare_mechanisms
    from holdfast.compare.swapped import compare_swapping
    from holdfast.data.public_table import PublicTable
    from holdfast.inference.posterior.infer import infer
    from holdfast.inference.private_test import odds_ratio
    from holdfast.inference.table_intervals import table_intervals as intervals
    from holdfast.joint.release import make_release
    from holdfast.joint.verify import verify
    from holdfast.mechanisms.catalogue import MECHANISMS
    from holdfast.plan import plan_release
    from holdfast.postprocess.processed import postprocess_release
    from holdfast.postprocess.verify import verify_processed
    from holdfast.privacy.ledger.account import Ledger
    from holdfast.release import Prepared, Release, prepare
    from holdfast.sampling.entropy import SeededEntropy, SystemEntropy
    from holdfast.spec.example import write_example
    from holdfast.spec.load import read_spec
    from holdfast.spec.model import (
        Constraints,
        Data,
        Inequality,
        Invariant,
        MechanismChoice,
        Privacy,
        Spec,
        Weights,
    )
    from holdfast.spec.tables import TablesSpec

__version__ = VERSION

_HOME = {
    "Certificate": "certificate.model",
    "Comparison": "compare.comparison",
    "Constraints": "spec.model",
    "Data": "spec.model",
    "Inequality": "spec.model",
    "Invariant": "spec.model",
    "Ledger": "privacy.ledger.account",
    "MECHANISMS": "mechanisms.catalogue",
    "MechanismChoice": "spec.model",
    "Prepared": "release",
    "Privacy": "spec.model",
    "PublicTable": "data.public_table",
    "RecordsCertificate": "certificate.records.model",
    "Release": "release",
    "SeededEntropy": "sampling.entropy",
    "Spec": "spec.model",
    "SystemEntropy": "sampling.entropy",
    "TablesSpec": "spec.tables",
    "Verification": "certificate.verify",
    "ViolatedError": "certificate.verify",
    "Weights": "spec.model",
    "audit_compose": "audit.compose",
    "audit_delta_z": "audit.delta_z",
    "audit_exposure": "audit.exposure",
    "audit_guarantee": "audit.guarantee",
    "audit_projection": "audit.projection",
    "audit_swapping": "audit.swapping",
    "audit_table_projection": "audit.projection",
    "audit_universe": "audit.universe",
    "census_2020": "audit.census",
    "compare_mechanisms": "compare.comparison",
    "compare_swapping": "compare.swapped",
    "generate_keys": "certificate.sign",
    "infer": "inference.posterior.infer",
    "intervals": "inference.table_intervals:table_intervals",
    "odds_ratio": "inference.private_test",
    "plan_release": "plan",
    "postprocess_release": "postprocess.processed",
    "prepare": "release",
    "read_spec": "spec.load",
    "make_release": "joint.release",
    "verify": "joint.verify",
    "verify_ledger": "account.verify",
    "verify_processed": "postprocess.verify",
    "write_example": "spec.example",
}

__all__ = [
    "MECHANISMS",
    "Certificate",
    "Comparison",
    "Constraints",
    "Data",
    "HoldfastError",
    "Inequality",
    "Invariant",
    "Ledger",
    "MechanismChoice",
    "Prepared",
    "Privacy",
    "PublicTable",
    "RecordsCertificate",
    "Release",
    "SeededEntropy",
    "Spec",
    "SystemEntropy",
    "TablesSpec",
    "Verification",
    "ViolatedError",
    "Weights",
    "__version__",
    "audit_compose",
    "audit_delta_z",
    "audit_exposure",
    "audit_guarantee",
    "audit_projection",
    "audit_swapping",
    "audit_table_projection",
    "audit_universe",
    "census_2020",
    "compare_mechanisms",
    "compare_swapping",
    "generate_keys",
    "infer",
    "intervals",
    "make_release",
    "odds_ratio",
    "plan_release",
    "postprocess_release",
    "prepare",
    "read_spec",
    "verify",
    "verify_ledger",
    "verify_processed",
    "write_example",
]


def __dir__() -> list[str]:
    """List the vocabulary."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: the command line must start at once."""
    if name not in _HOME:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    module, _, other = _HOME[name].partition(":")
    return getattr(import_module(f"holdfast.{module}"), other or name)
