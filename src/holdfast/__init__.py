"""Holdfast: publish some statistics exactly, and protect everyone behind the rest.

prepared = holdfast.prepare("holdfast.toml")   # read, evaluate the invariants, settle the guarantee
release = prepared.release()                   # draw, from the operating system's randomness
release.write("release")                       # table.csv, certificate.json, certificate.html
holdfast.verify("release").kept                # every invariant, with exact equality

These names, `holdfast.calculus` (guarantees as values), `holdfast.workshop` (what mechanisms and tests are
made of) and `holdfast.lab` (what research needs, and no release) are the public vocabulary: files behind them
may move.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast.system.errors import (
    BudgetError,
    DamagedLedgerError,
    DataError,
    FormatError,
    GuaranteeError,
    HoldfastError,
    InvariantError,
    LedgerError,
    MechanismError,
    MissingMechanismError,
    ReleaseError,
    SamplingError,
    SpecError,
)
from holdfast.version import VERSION

if TYPE_CHECKING:
    from holdfast import audit
    from holdfast.certificate.model import Certificate
    from holdfast.certificate.sign import generate_keys
    from holdfast.comparison.compare import compare
    from holdfast.comparison.tables import Comparison
    from holdfast.data.nmf.opening import open_measurements
    from holdfast.data.table import PublicTable
    from holdfast.exports import export
    from holdfast.inference.odds_ratio import odds_ratio
    from holdfast.inference.opened.counts import estimate
    from holdfast.inference.opened.written import write_measurements
    from holdfast.inference.posterior.infer import forecast_infer, infer
    from holdfast.inference.reading import read
    from holdfast.inference.released_intervals import intervals
    from holdfast.ledger.account import Ledger
    from holdfast.ledger.verify import verify_ledger
    from holdfast.mechanisms.anchored_laplace import AnchoredLaplaceOptions as AnchoredLaplace
    from holdfast.mechanisms.catalogue import MECHANISMS
    from holdfast.mechanisms.conditioned import ConditionedOptions as Conditioned
    from holdfast.mechanisms.k_norm import KNormOptions as KNorm
    from holdfast.mechanisms.lattice_gaussian import LatticeGaussianOptions as LatticeGaussian
    from holdfast.mechanisms.lattice_laplace import LatticeLaplaceOptions as LatticeLaplace
    from holdfast.mechanisms.naive import NaiveGaussianOptions as NaiveGaussian
    from holdfast.mechanisms.naive import NaiveLaplaceOptions as NaiveLaplace
    from holdfast.mechanisms.noisy_count import NoisyCountOptions as NoisyCount
    from holdfast.mechanisms.projected_gaussian import ProjectedGaussianOptions as ProjectedGaussian
    from holdfast.mechanisms.swapping.options import PermutationSwappingOptions as PermutationSwapping
    from holdfast.mechanisms.topdown.options import TopDownOptions as TopDown
    from holdfast.mechanisms.wasserstein.estimand import KNormGradientOptions as KNormGradient
    from holdfast.mechanisms.wasserstein.exponential import (
        WassersteinExponentialOptions as WassersteinExponential,
    )
    from holdfast.processing.processed import postprocess
    from holdfast.publication.coarsening.coarsen import coarsen
    from holdfast.releases.first_spec import ProposedSpec, Wishes, first_spec, propose
    from holdfast.releases.prepare import plan, prepare, release
    from holdfast.releases.prepared import Prepared
    from holdfast.releases.release import Release
    from holdfast.sampling.entropy import SeededEntropy, SystemEntropy
    from holdfast.spec.constraints import Constraints, Inequality, Invariant, Weights
    from holdfast.spec.data import Data
    from holdfast.spec.example import write_example
    from holdfast.spec.load import read_spec
    from holdfast.spec.mechanism import MechanismChoice
    from holdfast.spec.model import Spec
    from holdfast.spec.privacy import Privacy
    from holdfast.spec.tables import TablesSpec
    from holdfast.system.checks import Verification, ViolatedError
    from holdfast.verification.verify import verify

__version__ = VERSION

_HOME = {
    "Certificate": "certificate.model",
    "Comparison": "comparison.tables",
    "Constraints": "spec.constraints",
    "Data": "spec.data",
    "Inequality": "spec.constraints",
    "Invariant": "spec.constraints",
    "Ledger": "ledger.account",
    "MECHANISMS": "mechanisms.catalogue",
    "MechanismChoice": "spec.mechanism",
    "AnchoredLaplace": "mechanisms.anchored_laplace:AnchoredLaplaceOptions",
    "Conditioned": "mechanisms.conditioned:ConditionedOptions",
    "KNorm": "mechanisms.k_norm:KNormOptions",
    "KNormGradient": "mechanisms.wasserstein.estimand:KNormGradientOptions",
    "LatticeGaussian": "mechanisms.lattice_gaussian:LatticeGaussianOptions",
    "LatticeLaplace": "mechanisms.lattice_laplace:LatticeLaplaceOptions",
    "NaiveGaussian": "mechanisms.naive:NaiveGaussianOptions",
    "NaiveLaplace": "mechanisms.naive:NaiveLaplaceOptions",
    "NoisyCount": "mechanisms.noisy_count:NoisyCountOptions",
    "PermutationSwapping": "mechanisms.swapping.options:PermutationSwappingOptions",
    "ProjectedGaussian": "mechanisms.projected_gaussian:ProjectedGaussianOptions",
    "TopDown": "mechanisms.topdown.options:TopDownOptions",
    "WassersteinExponential": "mechanisms.wasserstein.exponential:WassersteinExponentialOptions",
    "Prepared": "releases.prepared",
    "Privacy": "spec.privacy",
    "ProposedSpec": "releases.first_spec",
    "PublicTable": "data.table",
    "Release": "releases.release",
    "SeededEntropy": "sampling.entropy",
    "Spec": "spec.model",
    "SystemEntropy": "sampling.entropy",
    "TablesSpec": "spec.tables",
    "Verification": "system.checks",
    "ViolatedError": "system.checks",
    "Weights": "spec.constraints",
    "Wishes": "releases.first_spec",
    "audit": "audit",
    "coarsen": "publication.coarsening.coarsen",
    "compare": "comparison.compare",
    "estimate": "inference.opened.counts",
    "export": "exports",
    "first_spec": "releases.first_spec",
    "forecast_infer": "inference.posterior.infer",
    "generate_keys": "certificate.sign",
    "infer": "inference.posterior.infer",
    "intervals": "inference.released_intervals",
    "odds_ratio": "inference.odds_ratio",
    "open_measurements": "data.nmf.opening",
    "plan": "releases.prepare",
    "postprocess": "processing.processed",
    "prepare": "releases.prepare",
    "propose": "releases.first_spec",
    "read": "inference.reading",
    "read_spec": "spec.load",
    "release": "releases.prepare",
    "verify": "verification.verify",
    "verify_ledger": "ledger.verify",
    "write_example": "spec.example",
    "write_measurements": "inference.opened.written",
}

__all__ = [
    "MECHANISMS",
    "AnchoredLaplace",
    "BudgetError",
    "Certificate",
    "Comparison",
    "Conditioned",
    "Constraints",
    "DamagedLedgerError",
    "Data",
    "DataError",
    "FormatError",
    "GuaranteeError",
    "HoldfastError",
    "Inequality",
    "Invariant",
    "InvariantError",
    "KNorm",
    "KNormGradient",
    "LatticeGaussian",
    "LatticeLaplace",
    "Ledger",
    "LedgerError",
    "MechanismChoice",
    "MechanismError",
    "MissingMechanismError",
    "NaiveGaussian",
    "NaiveLaplace",
    "NoisyCount",
    "PermutationSwapping",
    "Prepared",
    "Privacy",
    "ProjectedGaussian",
    "ProposedSpec",
    "PublicTable",
    "Release",
    "ReleaseError",
    "SamplingError",
    "SeededEntropy",
    "Spec",
    "SpecError",
    "SystemEntropy",
    "TablesSpec",
    "TopDown",
    "Verification",
    "ViolatedError",
    "WassersteinExponential",
    "Weights",
    "Wishes",
    "__version__",
    "audit",
    "coarsen",
    "compare",
    "estimate",
    "export",
    "first_spec",
    "forecast_infer",
    "generate_keys",
    "infer",
    "intervals",
    "odds_ratio",
    "open_measurements",
    "plan",
    "postprocess",
    "prepare",
    "propose",
    "read",
    "read_spec",
    "release",
    "verify",
    "verify_ledger",
    "write_example",
    "write_measurements",
]


def __dir__() -> list[str]:
    """List the vocabulary."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: the command line must start at once."""
    if name not in _HOME:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    module, _, other = _HOME[name].partition(":")
    found = import_module(f"holdfast.{module}")
    return found if module == name else getattr(found, other or name)  # `audit` is a room of functions
