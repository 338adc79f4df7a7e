"""Top-down releases of real blocks: what non-negative counts are off by, beside what has no bias."""
