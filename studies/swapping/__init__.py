"""The numerical demonstration of [swapping-slides], made again, real households and persons beside it."""
