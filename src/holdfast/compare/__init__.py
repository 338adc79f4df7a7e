"""Mechanisms side by side: calibrated to one target, and the errors of each."""

from holdfast.compare.comparison import Comparison, Row, compare_mechanisms

__all__ = ["Comparison", "Row", "compare_mechanisms"]
