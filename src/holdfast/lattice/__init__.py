"""Integer matrices: their equal columns, blocks, ranks, kernels and normal forms.

Nothing here knows what the integers count.
"""
