"""Mechanisms side by side: calibrated to one target, and the errors of each."""

from holdfast.compare.comparison import Comparison, Row, compare_mechanisms
from holdfast.compare.swapped import SwapComparison, SwapRow, compare_swapping

__all__ = ["Comparison", "Row", "SwapComparison", "SwapRow", "compare_mechanisms", "compare_swapping"]
