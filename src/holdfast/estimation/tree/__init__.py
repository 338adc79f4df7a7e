"""Best linear unbiased estimates of every node of a geography, with exact variances.

At each node g of a level the measurements are y_g = W x_g + noise, with independent noise of known variances;
x_parent is the sum of its children; invariants A x_g = a_g hold exactly. `measured` says what is known of a
level, `spaces` what of it is fixed, measured or open, `passes` estimates all nodes in two passes,
`covariance` and `combination` give variances, `coefficients` what each noise has in an estimate.
"""
