"""Posteriors from a release: what its noise, its invariants and a model of the counts say together.

The confidential table x is a latent variable. A model says how counts come about, p(x | theta) with a prior
on theta; the release is y, and its law given x is the mechanism's own, read from the certificate; and what is
public holds of x with certainty: A x = t, x >= 0, and further inequalities. The target is

    p(theta, x | y)  proportional to  p(theta) p(x | theta) 1(x keeps what is public) p(y | x)

[partially-private-data, Section 3.2]. It uses the release and public values alone, so it costs no budget
[semi-dp, Proposition 23], and floats and seeded generators are as good here as anywhere in statistics.

    model_spec.py   MODEL.toml as values
    quantities.py   the numbers of each cell that it names, from files
    model.py        p(x | theta) and its prior, with theta integrated out
    moves.py        steps between such tables that reach all of them
    table_constraints.py   a verified release: what holds of x for certain, p(y | x), a table to start from
    problem.py      these together
    gibbs.py, whole_tables.py              samplers of one posterior
    sliding.py, walking.py, unswapping.py  how Gibbs sampling moves a table, or unswaps records
    forecast.py     what draws will take, in time and memory
    draws.py        what was drawn, R-hat, effective sample sizes, the tail of weights
    infer.py, results.py                   what is told and written
"""
