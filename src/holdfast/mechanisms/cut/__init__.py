"""Noise that moves no count by more than a bound: the law, cut off, and what that costs."""
