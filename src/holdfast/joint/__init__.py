"""Several tables of one file, released together: one budget, one guarantee, one certificate.

divide.py     the budget, divided among the tables
scope.py      the files that all tables together compare, and how far apart those are
guarantee.py  what holds of all tables together
shared.py     the counts that several tables show
certify.py    the one certificate
prepare.py    from a spec to the tables, each as if it were released alone
release.py    a release of one table or of several
verify.py     every chapter, and what joins them, derived again
"""
