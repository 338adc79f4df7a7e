"""The numerical results of [integer-subspace-dp], made again, with exact laws and exact draws beside them."""
